// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 4x1x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436
// arg 1 f8 4x1x3: -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197
// arg 2 b1 4x1x3: 0 1 0 0 0 0 0 1 1 0 0 1
// cotangent 0 f8 4x1x3: -0.028329282336421846 0.7789756686980005 0.8680870319124994 -0.28440960658185954 0.14305966145952187 -0.3562612178481157 0.1886000603993936 -0.3241775489857335 -0.21676199894367754 0.7805487040095846 -0.5456848129332406 0.24637428937208483
// cotangent 1 f8 4x1x3: -0.8319693128352303 0.6652882953067956 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113 -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808
// cotangent 2 f8 4x1x3: -0.1908963203569436 -0.6029739109814893 -0.8184939087617562 0.16066477197370133 -0.4026077343621548 0.34398975591271874 -0.6009691120635734 0.8842262210129956 -0.2697796635103429 -0.789009440859541 0.25821630307941845 0.8543091061357349
// cotangent 3 f8 4x1x3: -0.11924569056843204 0.9091809873814745 -0.00020837262470596585 -0.14954275030184894 0.24042690403075562 0.9901930104706482 0.8978873498755306 -0.07990972138180785 0.5154576906165829 -0.005154609024762058 0.05862432039354082 0.571571401427615
// cotangent 4 f8 4x1x3: -0.17068830128865842 0.4689671435774587 0.4222857559794997 0.8641193732267565 -0.7701347334381896 0.4580302341526188 0.8548478572491198 0.9358523798492928 -0.9705873900692614 0.7272801804911515 0.9623900801326886 0.9144203592219271
// cotangent 5 f8 4x1x3: -0.7024719755350042 0.9452576276459099 0.7798711114410413 0.6447476550861408 -0.040024152384335654 -0.5352541607213923 0.6037611574366157 0.8470603195669391 -0.46773945541541484 0.07786881524437383 -0.114494342050937 0.86203463196231
// result 0 f8 4x1x3: -2.3250307746388343 -0.1321048632913019 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 0.9470809631292422 -0.7037352358069926 1.3664634705496859 -0.6651946734866135 0.0413259793472436
// result 1 f8 4x1x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6232744625373522 0.3515100700930197
// result 2 f8 4x1x3: 0.1257302210933933 -0.1321048632913019 0.5 0.10490011715303971 -0.5 0.36159505490948474 0.5 0.5 -0.5 -0.5 -0.5 0.0413259793472436
// result 3 f8 4x1x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 1.0425133694426776 -0.12853466294403426 -0.2654214710460525 -0.6232744625373522 0.3515100700930197
// result 4 f8 4x1x3: 0.1257302210933933 -0.1321048632913019 0.4 0.10490011715303971 -0.3 0.36159505490948474 0.4 0.4 -0.3 -0.3 -0.3 0.0413259793472436
// result 5 f8 4x1x3: -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197
// gradient 0 f8 4x1x3: -1.3127996250492644 2.21943818398224 0.5739882423526608 0.35398028088451317 0.9933953656521632 0.9093490701463744 0.5701214709668514 -0.3241775489857335 -0.21676199894367754 -0.005154609024762058 -0.4800912616189643 2.015103754729747
// gradient 1 f8 4x1x3: -0.730801257871426 0.9452576276459099 1.6479581433535406 0.3603380485042813 0.10303550907518622 -0.891515378569508 0.7923612178360093 0.06770953197480933 -0.05160303150025802 1.451066059828547 -0.6601791549841776 0.5376486355187442

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xi1>) -> (tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg6: tensor<4x1x3xf64>, %arg7: tensor<4x1x3xf64>, %arg8: tensor<4x1x3xi1>):
    %7 = "func.call"(%arg8, %arg6, %arg7) <{callee = @_where}> : (tensor<4x1x3xi1>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    %8 = "stablehlo.compare"(%arg6, %arg7) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xi1>
    %9 = "stablehlo.select"(%8, %arg6, %arg7) : (tensor<4x1x3xi1>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    %10 = "stablehlo.constant"() <{value = dense<-5.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %12 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x1x3xf64>
    %13 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x1x3xf64>
    %14 = "stablehlo.clamp"(%12, %arg6, %13) : (tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    %15 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x1x3xf64>
    %17 = "stablehlo.add"(%arg6, %16) : (tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    %18 = "stablehlo.clamp"(%arg6, %arg7, %17) : (tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    %19 = "stablehlo.constant"() <{value = dense<-3.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %20 = "stablehlo.constant"() <{value = dense<4.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %21 = "func.call"(%arg6, %19, %20) <{callee = @clip}> : (tensor<4x1x3xf64>, tensor<f64>, tensor<f64>) -> tensor<4x1x3xf64>
    %22 = "stablehlo.reshape"(%arg8) : (tensor<4x1x3xi1>) -> tensor<12xi1>
    %23 = "stablehlo.slice"(%22) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<12xi1>) -> tensor<1xi1>
    %24 = "stablehlo.reshape"(%23) : (tensor<1xi1>) -> tensor<i1>
    %25 = "stablehlo.select"(%24, %arg6, %arg7) : (tensor<i1>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    "func.return"(%7, %9, %14, %18, %21, %25) : (tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x1x3xi1>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<4x1x3xi1>, %arg4: tensor<4x1x3xf64>, %arg5: tensor<4x1x3xf64>):
    %6 = "stablehlo.select"(%arg3, %arg4, %arg5) : (tensor<4x1x3xi1>, tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    "func.return"(%6) : (tensor<4x1x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x1x3xf64>, tensor<f64>, tensor<f64>) -> tensor<4x1x3xf64>, res_attrs = [{}], sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x1x3xf64>, %arg1: tensor<f64>, %arg2: tensor<f64>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x1x3xf64>
    %2 = "stablehlo.maximum"(%1, %arg0) : (tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    %3 = "stablehlo.convert"(%arg2) : (tensor<f64>) -> tensor<f64>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x1x3xf64>
    %5 = "stablehlo.minimum"(%4, %2) : (tensor<4x1x3xf64>, tensor<4x1x3xf64>) -> tensor<4x1x3xf64>
    "func.return"(%5) : (tensor<4x1x3xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
