// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s --emit-bytecode | remat-opt | FileCheck %s

// Dialects without a definition are read and printed in generic form: their
// attributes and types are kept as text.

// CHECK: sdy.sharding = #sdy.sharding<@mesh, [{}]>
func.func @main(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %t: !stablehlo.token) {
  // CHECK: "stablehlo.dot_general"(%{{.*}}, %{{.*}}) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>]}>
  %0 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>]}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  // CHECK: "stablehlo.after_all"(%{{.*}}) : (!stablehlo.token) -> !stablehlo.token
  %1 = "stablehlo.after_all"(%t) : (!stablehlo.token) -> !stablehlo.token
  // CHECK: "chlo.erf"
  %2 = "chlo.erf"(%0) : (tensor<f32>) -> tensor<f32>
  return
}
