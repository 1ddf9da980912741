// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-differentiate='wrt=0,1'

// expected-error@below {{'func.func' op has 1 arguments, cannot differentiate with respect to #1}}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error@below {{'func.func' op argument #1 has type 'tensor<i64>', expected floating-point or complex elements to differentiate with respect to}}
func.func @main(%x: tensor<f32>, %y: tensor<i64>) -> tensor<f32> {
  return %x : tensor<f32>
}
