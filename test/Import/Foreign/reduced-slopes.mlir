// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 2e-05
// arg 0 f4 5: 2.040919 -2.555665 0.41809884 -0.5677696 -0.4526493
// cotangent 0 f4 5: -0.13374612 -0.041897405 -0.68052214 0.4691543 -0.77265596
// cotangent 1 f4 5: -0.21754362 0.033480365 -0.13874395 0.17359714 0.47567558
// cotangent 2 f4 5: 0.91253453 -0.43159768 0.2970944 0.392432 -0.4145585
// cotangent 3 f4 5: -0.9970198 0.9469206 -0.40319756 -0.372028 0.7834221
// cotangent 4 f4 5: 0.17032588 -0.05738067 0.546554 -0.939308 0.41393018
// result 0 f4 5: 2.0410156 -2.5566406 0.4182129 -0.5678711 -0.45263672
// result 1 f4 5: 2.046875 -2.5625 0.41796875 -0.56640625 -0.453125
// result 2 f4 5: 2 -2.5 0.40625 -0.5625 -0.4375
// result 3 f4 5: 2.0410156 -2.5566406 0.4182129 -0.5678711 -0.45263672
// result 4 f4 5: 2.040919 -2.555665 0.41809884 -0.5677696 -0.4526493
// gradient 0 f4 5: -0.24080694 0.4434433 -0.36335808 -0.26206183 0.49498487

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<5xf32>):
    %0 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<5xf32>) -> tensor<5xf32>
    %1 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<5xf32>) -> tensor<5xf32>
    %2 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 4 : i32, mantissa_bits = 3 : i32}> : (tensor<5xf32>) -> tensor<5xf32>
    %3 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 8 : i32, mantissa_bits = 10 : i32}> : (tensor<5xf32>) -> tensor<5xf32>
    %4 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 8 : i32, mantissa_bits = 23 : i32}> : (tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%0, %1, %2, %3, %4) : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
