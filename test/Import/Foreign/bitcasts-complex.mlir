// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// A bitcast to the type that a value has is the value, also if it is complex.

// tolerance 1e-06
// arg 0 c8 3: 1 -2 0.5 0.25 0 4
// result 0 f4 3: 1 0.5 0

"builtin.module"() <{sym_name = "same"}> ({
  "func.func"() <{function_type = (tensor<3xcomplex<f32>>) -> tensor<3xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3xcomplex<f32>>):
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    %1 = "stablehlo.real"(%0) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    "func.return"(%1) : (tensor<3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
