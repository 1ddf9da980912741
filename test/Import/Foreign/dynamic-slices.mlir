// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 5x6: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494
// arg 1 f8 2x3: -1.009618183538736 -0.20917557487171307 -0.15922500991447772 0.5408455846858077 0.2146591225063409 0.3553727090399214
// arg 2 i4 : 3
// arg 3 i4 : 3
// cotangent 0 f8 2x3: -0.028329282336421846 0.7789756686980005 0.8680870319124994 -0.28440960658185954 0.14305966145952187 -0.3562612178481157
// cotangent 1 f8 5x6: 0.1886000603993936 -0.3241775489857335 -0.21676199894367754 0.7805487040095846 -0.5456848129332406 0.24637428937208483 -0.8319693128352303 0.6652882953067956 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113 -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808 -0.1908963203569436 -0.6029739109814893 -0.8184939087617562 0.16066477197370133 -0.4026077343621548 0.34398975591271874 -0.6009691120635734 0.8842262210129956 -0.2697796635103429 -0.789009440859541 0.25821630307941845 0.8543091061357349
// cotangent 2 f8 1x6: -0.11924569056843204 0.9091809873814745 -0.00020837262470596585 -0.14954275030184894 0.24042690403075562 0.9901930104706482
// cotangent 3 f8 : 0.8978873498755306
// cotangent 4 f8 5x6: -0.07990972138180785 0.5154576906165829 -0.005154609024762058 0.05862432039354082 0.571571401427615 -0.17068830128865842 0.4689671435774587 0.4222857559794997 0.8641193732267565 -0.7701347334381896 0.4580302341526188 0.8548478572491198 0.9358523798492928 -0.9705873900692614 0.7272801804911515 0.9623900801326886 0.9144203592219271 -0.7024719755350042 0.9452576276459099 0.7798711114410413 0.6447476550861408 -0.040024152384335654 -0.5352541607213923 0.6037611574366157 0.8470603195669391 -0.46773945541541484 0.07786881524437383 -0.114494342050937 0.86203463196231 -0.9189785776231307
// cotangent 5 f8 2x6: 0.46401239131312155 0.22874649389799329 -0.9432692697729579 0.43843954565348064 -0.968016540952856 0.5159020047128562 0.025517446524156107 0.8582084415940123 -0.8678350065518505 0.6826345592247665 -0.8666199824657972 -0.31138004239174966
// result 0 f8 2x3: 1.3664634705496859 -0.6651946734866135 0.3515100700930197 -0.9217253762584194 -0.45772582566733916 0.2201951234700494
// result 1 f8 5x6: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426 -1.009618183538736 -0.20917557487171307 -0.15922500991447772 0.9034701816518086 0.09401229776087457 -0.7434992493538084 0.5408455846858077 0.2146591225063409 0.3553727090399214
// result 2 f8 1x6: 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197
// result 3 f8 : 1.3664634705496859
// result 4 f8 5x6: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 -1.009618183538736 -1.009618183538736 -1.009618183538736 -1.009618183538736 -1.009618183538736 -1.009618183538736 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494
// result 5 f8 2x6: 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494
// gradient 0 f8 5x6: 0.10869033901758574 0.1912801416308494 -0.2219166079684396 0.8391730244031255 0.02588658849437442 0.07568598808342641 -0.3630021692577716 1.0875740512862953 1.4383159882041232 -1.2913958474522853 1.2109986957740264 -0.028016073140491482 0.6080865009406136 -1.6700284562795833 0.6279589137897255 1.555038620707277 0.37570477720942197 -1.598429373406185 0.15387038038774592 0.5349535702979784 -1.76197155115942 1.1584548628907405 0.051386031775900065 2.374182047096004 0.27160865402752177 1.2746952071915931 -1.0597458548178196 0.2837306105919699 0.13847431095603469 -1.586619837862996
// gradient 1 f8 2x3: 2.559024010477681 -0.4026077343621548 0.34398975591271874 -0.789009440859541 0.25821630307941845 0.8543091061357349

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}], function_type = (tensor<5x6xf64>, tensor<2x3xf64>, tensor<i32>, tensor<i32>) -> (tensor<2x3xf64>, tensor<5x6xf64>, tensor<1x6xf64>, tensor<f64>, tensor<5x6xf64>, tensor<2x6xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg2: tensor<5x6xf64>, %arg3: tensor<2x3xf64>, %arg4: tensor<i32>, %arg5: tensor<i32>):
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %8 = "stablehlo.compare"(%arg4, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %10 = "stablehlo.add"(%arg4, %9) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %11 = "stablehlo.select"(%8, %10, %arg4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %12 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %13 = "stablehlo.compare"(%arg5, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %14 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %15 = "stablehlo.add"(%arg5, %14) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %16 = "stablehlo.select"(%13, %15, %arg5) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %17 = "stablehlo.dynamic_slice"(%arg2, %11, %16) <{slice_sizes = array<i64: 2, 3>}> : (tensor<5x6xf64>, tensor<i32>, tensor<i32>) -> tensor<2x3xf64>
    %18 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %19 = "stablehlo.compare"(%arg4, %18) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %20 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %21 = "stablehlo.add"(%arg4, %20) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %22 = "stablehlo.select"(%19, %21, %arg4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %23 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %24 = "stablehlo.compare"(%arg5, %23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %25 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %26 = "stablehlo.add"(%arg5, %25) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %27 = "stablehlo.select"(%24, %26, %arg5) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %28 = "stablehlo.dynamic_update_slice"(%arg2, %arg3, %22, %27) : (tensor<5x6xf64>, tensor<2x3xf64>, tensor<i32>, tensor<i32>) -> tensor<5x6xf64>
    %29 = "func.call"(%arg2, %arg4) <{callee = @dynamic_index_in_dim}> : (tensor<5x6xf64>, tensor<i32>) -> tensor<1x6xf64>
    %30 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %31 = "stablehlo.compare"(%arg4, %30) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %32 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %33 = "stablehlo.add"(%arg4, %32) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %34 = "stablehlo.select"(%31, %33, %arg4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %35 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %36 = "stablehlo.compare"(%arg5, %35) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %37 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %38 = "stablehlo.add"(%arg5, %37) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %39 = "stablehlo.select"(%36, %38, %arg5) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %40 = "stablehlo.dynamic_slice"(%arg2, %34, %39) <{slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf64>, tensor<i32>, tensor<i32>) -> tensor<1x1xf64>
    %41 = "stablehlo.reshape"(%40) : (tensor<1x1xf64>) -> tensor<f64>
    %42 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 1, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x3xf64>) -> tensor<1x1xf64>
    %43 = "stablehlo.reshape"(%42) : (tensor<1x1xf64>) -> tensor<f64>
    %44 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %45 = "stablehlo.compare"(%arg4, %44) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %46 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %47 = "stablehlo.add"(%arg4, %46) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %48 = "stablehlo.select"(%45, %47, %arg4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %50 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %51 = "stablehlo.scatter"(%arg2, %49, %50) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg6: tensor<f64>, %arg7: tensor<f64>):
      "stablehlo.return"(%arg7) : (tensor<f64>) -> ()
    }) : (tensor<5x6xf64>, tensor<1xi32>, tensor<6xf64>) -> tensor<5x6xf64>
    %52 = "stablehlo.convert"(%arg4) : (tensor<i32>) -> tensor<ui8>
    %53 = "stablehlo.convert"(%arg5) : (tensor<i32>) -> tensor<ui8>
    %54 = "stablehlo.dynamic_slice"(%arg2, %52, %53) <{slice_sizes = array<i64: 2, 6>}> : (tensor<5x6xf64>, tensor<ui8>, tensor<ui8>) -> tensor<2x6xf64>
    "func.return"(%17, %28, %29, %41, %51, %54) : (tensor<2x3xf64>, tensor<5x6xf64>, tensor<1x6xf64>, tensor<f64>, tensor<5x6xf64>, tensor<2x6xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<5x6xf64>, tensor<i32>) -> tensor<1x6xf64>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x6xf64>, %arg1: tensor<i32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.compare"(%arg1, %0) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.add"(%arg1, %2) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %4 = "stablehlo.select"(%1, %3, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %6 = "stablehlo.dynamic_slice"(%arg0, %4, %5) <{slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf64>, tensor<i32>, tensor<i32>) -> tensor<1x6xf64>
    "func.return"(%6) : (tensor<1x6xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
