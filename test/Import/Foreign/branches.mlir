// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 3x4: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436
// arg 1 i4 : 2
// cotangent 0 f8 3x4: 0.7148085531751387 -0.9328288493890713 0.45931089285988813 -0.648688758794882 0.7263578446997732 0.08292244049818343 -0.40057621892523043 -0.1546255576046831 -0.9433606577090741 -0.7514334470008721 0.34124882938726064 0.2943790231485002
// cotangent 1 f8 3x4: 0.2307702229625077 -0.23264489147623313 0.994419871578422 0.9616706775524602 0.3710839689613894 0.3009185525356326 0.37689346114188016 -0.22215715204179243 -0.7298069899551776 0.4429766803881634 0.050708644951451776 -0.3795162488820887
// cotangent 2 f8 3x4: -0.028329282336421846 0.7789756686980005 0.8680870319124994 -0.28440960658185954 0.14305966145952187 -0.3562612178481157 0.1886000603993936 -0.3241775489857335 -0.21676199894367754 0.7805487040095846 -0.5456848129332406 0.24637428937208483
// cotangent 3 f8 3x4: -0.8319693128352303 0.6652882953067956 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113 -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808
// result 0 f8 3x4: 0.12539922374655885 -0.1317209561410422 0.5975343941403991 0.10470783555779078 -0.510416765897683 0.3537665913374827 0.9646204813213871 0.8117140873521485 -0.6470700524661566 -0.953734318931522 -0.5836970553339894 0.04131421734853721
// result 1 f8 3x4: 0.2514604421867866 -0.2642097265826038 1.2808453008865641 0.20980023430607941 -1.071338746322222 0.7231901098189695 2.6080000902602745 1.8941619262584843 -1.4074704716139852 -2.530842942092105 -1.2465489250747044 0.0826519586944872
// result 2 f8 3x4: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436
// result 3 f8 3x4: 1.1257302210933933 0.8678951367086981 1.640422650443282 1.1049001171530397 0.46433062683888904 1.3615950549094848 2.3040000451301372 1.9470809631292423 0.2962647641930074 -0.2654214710460525 0.3767255374626478 1.0413259793472436
// gradient 0 f8 3x4: 0.3104079643893607 0.054273223124087555 3.7994187435295856 0.4725477008086246 2.262810901476471 -0.5597278870459155 0.5090122189652024 -1.5582427489781807 -2.494944232905513 2.0332316066658676 -0.7058987747035811 -1.114487922971543

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x4xf64>, tensor<i32>) -> (tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<3x4xf64>, %arg1: tensor<i32>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 1, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x4xf64>) -> tensor<1x1xf64>
    %1 = "stablehlo.reshape"(%0) : (tensor<1x1xf64>) -> tensor<f64>
    %2 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %3 = "stablehlo.compare"(%1, %2) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %4 = "stablehlo.convert"(%3) : (tensor<i1>) -> tensor<i32>
    %5 = "stablehlo.case"(%4) ({
      %26 = "stablehlo.cosine"(%arg0) : (tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%26) : (tensor<3x4xf64>) -> ()
    }, {
      %25 = "stablehlo.sine"(%arg0) : (tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%25) : (tensor<3x4xf64>) -> ()
    }) : (tensor<i32>) -> tensor<3x4xf64>
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %8 = "stablehlo.clamp"(%6, %arg1, %7) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %9 = "stablehlo.case"(%8) ({
      %24 = "stablehlo.sine"(%arg0) : (tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%24) : (tensor<3x4xf64>) -> ()
    }, {
      %23 = "stablehlo.cosine"(%arg0) : (tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%23) : (tensor<3x4xf64>) -> ()
    }, {
      %20 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3x4xf64>
      %22 = "stablehlo.multiply"(%arg0, %21) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%22) : (tensor<3x4xf64>) -> ()
    }) : (tensor<i32>) -> tensor<3x4xf64>
    %10 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %11 = "stablehlo.compare"(%arg1, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %12 = "stablehlo.convert"(%11) : (tensor<i1>) -> tensor<i32>
    %13:2 = "stablehlo.case"(%12) ({
      %17 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3x4xf64>
      %19 = "stablehlo.multiply"(%arg0, %18) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%19, %arg0) : (tensor<3x4xf64>, tensor<3x4xf64>) -> ()
    }, {
      %14 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3x4xf64>
      %16 = "stablehlo.add"(%arg0, %15) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      "stablehlo.return"(%arg0, %16) : (tensor<3x4xf64>, tensor<3x4xf64>) -> ()
    }) : (tensor<i32>) -> (tensor<3x4xf64>, tensor<3x4xf64>)
    "func.return"(%5, %9, %13#0, %13#1) : (tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
