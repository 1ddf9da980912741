// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// What windows have beyond the tensor has no part in a reduction, as in XLA: of
// two numbers that it begins with, the first body would make NaN, and the second
// one would count 1 more often than once.

// tolerance 1e-12
// arg 0 f8 4: 0.5 -1.0 2.0 0.25
// result 0 f8 4: 0.7014132779827524 2.241311296657157 2.201765469284433 2.1602241504380872
// result 1 f8 4: 0.5 2.5 2.25 3.25

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf64>):
    %0 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %2 = "stablehlo.maximum"(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %3 = "stablehlo.subtract"(%a, %2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %4 = "stablehlo.exponential"(%3) : (tensor<f64>) -> tensor<f64>
      %5 = "stablehlo.subtract"(%b, %2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %6 = "stablehlo.exponential"(%5) : (tensor<f64>) -> tensor<f64>
      %7 = "stablehlo.add"(%4, %6) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %8 = "stablehlo.log"(%7) : (tensor<f64>) -> tensor<f64>
      %9 = "stablehlo.add"(%2, %8) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%9) : (tensor<f64>) -> ()
    }) : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
    %10 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.reduce_window"(%arg0, %10) <{base_dilations = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %12 = "stablehlo.add"(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%12) : (tensor<f64>) -> ()
    }) : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
    "func.return"(%1, %11) : (tensor<4xf64>, tensor<4xf64>) -> ()
  }) : () -> ()
}) : () -> ()
