// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Numbers are in their total order: a zero is before a negative one, and a nan
// with a sign is behind all others. As JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 2x5: -0.0 0.0 -0.0 1.0 -1.0 0.0 -0.0 -inf 0.0 inf
// cotangent 0 f8 2x4: 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0
// result 0 f8 2x4: 1.0 0.0 -0.0 -0.0 inf 0.0 0.0 -0.0
// result 1 i4 2x4: 3 1 0 2 4 0 3 1
// gradient 0 f8 2x5: 3.0 2.0 4.0 1.0 0.0 6.0 8.0 0.0 7.0 5.0

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x5xf64>) -> (tensor<2x4xf64>, tensor<2x4xi32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x5xf64>):
    %0:2 = "chlo.top_k"(%arg0) <{k = 4 : i64}> : (tensor<2x5xf64>) -> (tensor<2x4xf64>, tensor<2x4xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2x4xf64>, tensor<2x4xi32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
