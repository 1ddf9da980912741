// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 8: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947
// arg 1 i1 8: 68 72 3 11 44 38 87 51
// result 0 f8 8: 2.0409191213851825 2.0409191213851825 2.0409191213851825 2.0409191213851825 2.0409191213851825 2.0409191213851825 2.0409191213851825 2.0409191213851825
// result 1 f8 8: 2.0409191213851825 0.41809884672577885 0.41809884672577885 0 0 0 0 0
// result 2 f8 8: 0.3 -2.5556650313141818 -2.5556650313141818 -2.5556650313141818 -2.5556650313141818 -2.5556650313141818 -2.5556650313141818 -2.5556650313141818
// result 3 f8 8: -2.5556650313141818 -2.5556650313141818 -2.019986129147251 -2.019986129147251 -2.019986129147251 -2.019986129147251 -2.019986129147251 -0.23193237764418947
// result 4 i1 8: 68 72 72 72 72 72 87 87
// result 5 i1 8: 87 87 87 87 87 87 87 51
// result 6 i1 8: 9 9 3 3 3 3 3 3
// result 7 i1 8: 3 3 3 9 9 9 9 9
// result 8 i1 8: 69 77 79 79 111 111 127 127
// result 9 i1 8: 127 127 127 127 127 119 119 55
// result 10 i1 8: 68 76 79 79 111 111 127 127
// result 11 i1 8: 127 127 127 127 127 119 119 51

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<8xf64>, tensor<8xui8>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}, {jax.result_info = "result[6]"}, {jax.result_info = "result[7]"}, {jax.result_info = "result[8]"}, {jax.result_info = "result[9]"}, {jax.result_info = "result[10]"}, {jax.result_info = "result[11]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8xf64>, %arg1: tensor<8xui8>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg24: tensor<f64>, %arg25: tensor<f64>):
      %35 = "stablehlo.maximum"(%arg24, %arg25) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%35) : (tensor<f64>) -> ()
    }) : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
    %2 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %3 = "stablehlo.reduce_window"(%arg0, %2) <{base_dilations = array<i64: 1>, padding = dense<[[0, 7]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg22: tensor<f64>, %arg23: tensor<f64>):
      %34 = "stablehlo.maximum"(%arg22, %arg23) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%34) : (tensor<f64>) -> ()
    }) : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
    %4 = "stablehlo.constant"() <{value = dense<3.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %5 = "stablehlo.reduce_window"(%arg0, %4) <{base_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg20: tensor<f64>, %arg21: tensor<f64>):
      %33 = "stablehlo.minimum"(%arg20, %arg21) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%33) : (tensor<f64>) -> ()
    }) : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
    %6 = "stablehlo.constant"() <{value = dense<3.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %7 = "stablehlo.reduce_window"(%arg0, %6) <{base_dilations = array<i64: 1>, padding = dense<[[0, 7]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg18: tensor<f64>, %arg19: tensor<f64>):
      %32 = "stablehlo.minimum"(%arg18, %arg19) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%32) : (tensor<f64>) -> ()
    }) : (tensor<8xf64>, tensor<f64>) -> tensor<8xf64>
    %8 = "stablehlo.constant"() <{value = dense<40> : tensor<ui8>}> : () -> tensor<ui8>
    %9 = "stablehlo.reduce_window"(%arg1, %8) <{base_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg16: tensor<ui8>, %arg17: tensor<ui8>):
      %31 = "stablehlo.maximum"(%arg16, %arg17) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%31) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %10 = "stablehlo.constant"() <{value = dense<40> : tensor<ui8>}> : () -> tensor<ui8>
    %11 = "stablehlo.reduce_window"(%arg1, %10) <{base_dilations = array<i64: 1>, padding = dense<[[0, 7]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg14: tensor<ui8>, %arg15: tensor<ui8>):
      %30 = "stablehlo.maximum"(%arg14, %arg15) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%30) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %12 = "stablehlo.constant"() <{value = dense<9> : tensor<ui8>}> : () -> tensor<ui8>
    %13 = "stablehlo.reduce_window"(%arg1, %12) <{base_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg12: tensor<ui8>, %arg13: tensor<ui8>):
      %29 = "stablehlo.minimum"(%arg12, %arg13) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%29) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %14 = "stablehlo.constant"() <{value = dense<9> : tensor<ui8>}> : () -> tensor<ui8>
    %15 = "stablehlo.reduce_window"(%arg1, %14) <{base_dilations = array<i64: 1>, padding = dense<[[0, 7]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg10: tensor<ui8>, %arg11: tensor<ui8>):
      %28 = "stablehlo.minimum"(%arg10, %arg11) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%28) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %16 = "stablehlo.constant"() <{value = dense<5> : tensor<ui8>}> : () -> tensor<ui8>
    %17 = "stablehlo.reduce_window"(%arg1, %16) <{base_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg8: tensor<ui8>, %arg9: tensor<ui8>):
      %27 = "stablehlo.or"(%arg8, %arg9) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%27) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %18 = "stablehlo.constant"() <{value = dense<5> : tensor<ui8>}> : () -> tensor<ui8>
    %19 = "stablehlo.reduce_window"(%arg1, %18) <{base_dilations = array<i64: 1>, padding = dense<[[0, 7]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg6: tensor<ui8>, %arg7: tensor<ui8>):
      %26 = "stablehlo.or"(%arg6, %arg7) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%26) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %20 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %21 = "stablehlo.reduce_window"(%arg1, %20) <{base_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg4: tensor<ui8>, %arg5: tensor<ui8>):
      %25 = "stablehlo.or"(%arg4, %arg5) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%25) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    %22 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %23 = "stablehlo.reduce_window"(%arg1, %22) <{base_dilations = array<i64: 1>, padding = dense<[[0, 7]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<ui8>, %arg3: tensor<ui8>):
      %24 = "stablehlo.or"(%arg2, %arg3) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%24) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>, tensor<ui8>) -> tensor<8xui8>
    "func.return"(%1, %3, %5, %7, %9, %11, %13, %15, %17, %19, %21, %23) : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>, tensor<8xui8>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
