// RUN: remat-opt %s --remat-import-pipeline --verify-diagnostics

// There is no such result, whatever the number.
// expected-error @+1 {{argument 0 gives its buffer to result 9223372036854775807, but there are 2 results}}
func.func @main(%a: tensor<2xf32> {remat.donated = 9223372036854775807 : i64}, %b: tensor<2xf32> {jax.buffer_donor = true})
    -> (tensor<2xf32>, tensor<2xf32>) {
  return %b, %a : tensor<2xf32>, tensor<2xf32>
}
