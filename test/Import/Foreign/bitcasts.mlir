// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 2e-05
// arg 0 f4 3x4: 0.12573022 -0.13210486 0.64042264 0.104900114 -0.5356694 0.36159506 1.304 0.94708097 -0.70373523 -1.2654215 -0.62327445 0.04132598
// arg 1 i4 3x2: 1692857840 -612443969 -1914202849 144248947 0 2
// result 0 i4 3x4: 1040236396 -1106819457 1059320509 1037489631 -1089920607 1052320509 1067903353 1064465382 -1087100930 -1079903915 -1088450838 1026114926
// result 1 f4 3x2: 3.40837824118952e+22 -7.173295893485978e+16 -1.427237374638456e-30 9.212219739344684e-34 0 2.802596928649634e-45
// result 2 i8 3: -2630426815794579984 619544512228201759 8589934592
// result 3 i1 3x2x4: -16 -11 -26 100 -65 -40 126 -37 31 -107 -25 -115 115 16 -103 8 0 0 0 0 2 0 0 0
// result 4 i2 3x4x2: -16532 15872 18047 -16889 -3395 16163 -10785 15830 8609 -16631 8957 16057 -5767 16294 29670 16242 10238 -16588 -1707 -16479 -28950 -16609 17774 15657

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x4xf32>, tensor<3x2xui32>) -> (tensor<3x4xui32>, tensor<3x2xf32>, tensor<3xui64>, tensor<3x2x4xui8>, tensor<3x4x2xui16>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xui32>):
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<3x4xf32>) -> tensor<3x4xui32>
    %1 = "stablehlo.bitcast_convert"(%arg1) : (tensor<3x2xui32>) -> tensor<3x2xf32>
    %2 = "stablehlo.bitcast_convert"(%arg1) : (tensor<3x2xui32>) -> tensor<3xui64>
    %3 = "stablehlo.bitcast_convert"(%arg1) : (tensor<3x2xui32>) -> tensor<3x2x4xui8>
    %4 = "stablehlo.bitcast_convert"(%arg0) : (tensor<3x4xf32>) -> tensor<3x4x2xui16>
    "func.return"(%0, %1, %2, %3, %4) : (tensor<3x4xui32>, tensor<3x2xf32>, tensor<3xui64>, tensor<3x2x4xui8>, tensor<3x4x2xui16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
