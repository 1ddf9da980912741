// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Elements are converted to the wider type that a body computes in: 300 is not
// a number of 8 bits, and 1.0 + 2^-9 is none of bf16.

// tolerance 1e-06
// arg 0 u2 4: 16256 15104 16384 15104
// arg 1 i1 4: 100 100 100 -1
// arg 2 i1 2x1: 0 0
// arg 3 i1 2: 100 100
// result 0 f4 : 4.00390625
// result 1 i4 4: 100 200 300 299
// result 2 i4 4: 300 100 100 -1
// result 3 i4 4: 0 0 200 0
// result 4 i4 4: 100 200 300 555

func.func @main(%x: tensor<4xbf16>, %k: tensor<4xi8>, %i: tensor<2x1xi8>, %u: tensor<2xi8>) -> (tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<bf16>}> : () -> tensor<bf16>
  %0 = "stablehlo.reduce"(%x, %one) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xbf16>, tensor<bf16>) -> tensor<f32>
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i8>}> : () -> tensor<i8>
  %1 = "stablehlo.reduce_window"(%k, %zero) <{padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4xi8>, tensor<i8>) -> tensor<4xi32>
  %2 = "stablehlo.scatter"(%k, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4xi8>, tensor<2x1xi8>, tensor<2xi8>) -> tensor<4xi32>
  %3 = "stablehlo.select_and_scatter"(%k, %u, %zero) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %d = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<i8>, tensor<i8>) -> tensor<i1>
    "stablehlo.return"(%d) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4xi8>, tensor<2xi8>, tensor<i8>) -> tensor<4xi32>
  // The same bits without a sign.
  %n = "stablehlo.bitcast_convert"(%k) : (tensor<4xi8>) -> tensor<4xui8>
  %none = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
  %4 = "stablehlo.reduce_window"(%n, %none) <{padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    "stablehlo.return"(%c) : (tensor<ui32>) -> ()
  }) : (tensor<4xui8>, tensor<ui8>) -> tensor<4xui32>
  %5 = "stablehlo.bitcast_convert"(%4) : (tensor<4xui32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %5 : tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
