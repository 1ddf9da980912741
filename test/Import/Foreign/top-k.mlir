// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 3x7: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426
// cotangent 0 f8 3x4: -0.7514334470008721 0.34124882938726064 0.2943790231485002 0.2307702229625077 -0.23264489147623313 0.994419871578422 0.9616706775524602 0.3710839689613894 0.3009185525356326 0.37689346114188016 -0.22215715204179243 -0.7298069899551776
// cotangent 2 f8 : 0.4429766803881634
// result 0 f8 3x4: 1.3040000451301372 0.6404226504432821 0.36159505490948474 0.1257302210933933 0.9470809631292422 0.0413259793472436 -0.21879166393254573 -0.6232744625373522 1.0425133694426776 0.4116305363741328 -0.12853466294403426 -0.31630015636915454
// result 1 i4 3x4: 6 2 5 0 0 4 6 3 5 4 6 3
// result 2 f8 : 0.989105703752598
// gradient 0 f8 3x7: 0.20985129571416233 0 0.32556112136740134 0 0 0.2736703209688929 -0.6941181095530602 -0.1554951614169462 0 0 0.3477005183928176 0.96795996256733 0 0.9343643070728371 0 0 0 -0.7521042675052093 0.3601594636408448 0.3635439459328653 -0.2457512703879581

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x7xf64>) -> (tensor<3x4xf64>, tensor<3x4xi32>, tensor<f64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x7xf64>):
    %0:2 = "chlo.top_k"(%arg0) <{k = 4 : i64}> : (tensor<3x7xf64>) -> (tensor<3x4xf64>, tensor<3x4xi32>)
    %1:2 = "chlo.top_k"(%arg0) <{k = 4 : i64}> : (tensor<3x7xf64>) -> (tensor<3x4xf64>, tensor<3x4xi32>)
    %2 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %3 = "stablehlo.reduce"(%1#0, %2) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg5: tensor<f64>, %arg6: tensor<f64>):
      %21 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%21) : (tensor<f64>) -> ()
    }) : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
    %4 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3xf64>
    %6 = "stablehlo.maximum"(%5, %3) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf64>) -> tensor<3x1xf64>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x1xf64>) -> tensor<3x4xf64>
    %9 = "stablehlo.subtract"(%1#0, %8) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
    %10 = "stablehlo.exponential"(%9) : (tensor<3x4xf64>) -> tensor<3x4xf64>
    %11 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %12 = "stablehlo.reduce"(%10, %11) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      %20 = "stablehlo.add"(%arg3, %arg4) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%20) : (tensor<f64>) -> ()
    }) : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf64>) -> tensor<3x1xf64>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x1xf64>) -> tensor<3x4xf64>
    %15 = "stablehlo.divide"(%10, %14) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
    %16 = "stablehlo.multiply"(%15, %15) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
    %17 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %18 = "stablehlo.reduce"(%16, %17) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %19 = "stablehlo.add"(%arg1, %arg2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%19) : (tensor<f64>) -> ()
    }) : (tensor<3x4xf64>, tensor<f64>) -> tensor<f64>
    "func.return"(%0#0, %0#1, %18) : (tensor<3x4xf64>, tensor<3x4xi32>, tensor<f64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
