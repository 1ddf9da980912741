// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 6x4: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197
// arg 1 f8 4x4: 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -1.009618183538736 -0.20917557487171307 -0.15922500991447772 0.5408455846858077 0.2146591225063409 0.3553727090399214 -0.6538286094183394 -0.12961363369276946 0.7839754700613295 1.4934311452207607
// arg 2 i4 10: 4 3 1 1 4 3 3 2 4 2
// arg 3 i4 10: 1 5 1 1 4 3 0 0 2 4
// cotangent 0 f8 6x4: 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113 -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808 -0.1908963203569436 -0.6029739109814893 -0.8184939087617562 0.16066477197370133 -0.4026077343621548 0.34398975591271874 -0.6009691120635734 0.8842262210129956 -0.2697796635103429 -0.789009440859541 0.25821630307941845 0.8543091061357349 -0.11924569056843204 0.9091809873814745
// cotangent 1 f8 6: -0.00020837262470596585 -0.14954275030184894 0.24042690403075562 0.9901930104706482 0.8978873498755306 -0.07990972138180785
// result 0 f8 6x4: -0.42598422261301905 -0.6425126316034186 0.8693509120971248 0.60529576986693 -0.8666432742085846 0.35248195366083357 0.8313207115543647 0.9795968137320918 -0.7983733116668247 -0.0332978629050784 0.9260136730432724 0.9789213715049231 -0.8676002330055909 -0.6888121363770615 0.8033645288439691 0.5733183997329988 -0.39137076194363596 -0.31475549486742715 0.9306754841967764 0.8080972557528922 -0.8676002330055909 -0.6888121363770615 0.8033645288439691 0.5733183997329988
// result 1 f8 6: 0.9920290963009185 1.4085023721199121 1.0732638699762924 -0.17972944080568443 1.0732638699762924 -0.17972944080568443
// gradient 0 f8 6x4: 0 0 0 0 -0.050560337865984115 0.01840978756955886 -0.2373360895394639 0.05084692686739117 0.43394836630488554 0.10532014505501744 -0.10462915603997307 -0.7241713948837297 -1.0426128871743803 -0.3951358398781918 0.9170979889015112 1.7226685605302539 0.008992273441369358 -0.04732945437078889 0.2617214124385868 0.004709073029824262 0 0 0 0
// gradient 1 f8 4x4: -0.3569979627610265 -2.1298125455887633 -0.6678144368454889 -2.351196897161785 -0.064143842133904 -0.6382977505923411 -0.1627682880248098 0.3745122128899658 -0.2499839331008658 -1.5414014157386788 -0.41948056239713855 -1.1122455213241524 -0.10989200345499042 -0.5755601284254938 -0.16033469183230364 -0.8430707555484308

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}], function_type = (tensor<6x4xf64>, tensor<4x4xf64>, tensor<10xi32>, tensor<10xi32>) -> (tensor<6x4xf64>, tensor<6xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<6x4xf64>, %arg4: tensor<4x4xf64>, %arg5: tensor<10xi32>, %arg6: tensor<10xi32>):
    %3 = "stablehlo.dot_general"(%arg3, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<6x4xf64>, tensor<4x4xf64>) -> tensor<6x4xf64>
    %4 = "stablehlo.tanh"(%3) : (tensor<6x4xf64>) -> tensor<6x4xf64>
    %5 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<10xi32>
    %7 = "stablehlo.compare"(%arg5, %6) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
    %8 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<10xi32>
    %10 = "stablehlo.add"(%arg5, %9) : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi32>
    %11 = "stablehlo.select"(%7, %10, %arg5) : (tensor<10xi1>, tensor<10xi32>, tensor<10xi32>) -> tensor<10xi32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0>}> : (tensor<10xi32>) -> tensor<10x1xi32>
    %13 = "stablehlo.gather"(%4, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf64>, tensor<10x1xi32>) -> tensor<10x4xf64>
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6x4xf64>
    %16 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<10xi32>) -> tensor<10x1xi32>
    %17 = "stablehlo.scatter"(%15, %16, %13) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg13: tensor<f64>, %arg14: tensor<f64>):
      %42 = "stablehlo.add"(%arg13, %arg14) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%42) : (tensor<f64>) -> ()
    }) : (tensor<6x4xf64>, tensor<10x1xi32>, tensor<10x4xf64>) -> tensor<6x4xf64>
    %18 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<10xf64>
    %20 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %22 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<10xi32>) -> tensor<10x1xi32>
    %23 = "stablehlo.scatter"(%21, %22, %19) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg11: tensor<f64>, %arg12: tensor<f64>):
      %41 = "stablehlo.add"(%arg11, %arg12) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%41) : (tensor<f64>) -> ()
    }) : (tensor<6xf64>, tensor<10x1xi32>, tensor<10xf64>) -> tensor<6xf64>
    %24 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %25 = "stablehlo.reduce"(%13, %24) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg9: tensor<f64>, %arg10: tensor<f64>):
      %40 = "stablehlo.add"(%arg9, %arg10) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%40) : (tensor<f64>) -> ()
    }) : (tensor<10x4xf64>, tensor<f64>) -> tensor<10xf64>
    %26 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %28 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<10xi32>) -> tensor<10x1xi32>
    %29 = "stablehlo.scatter"(%27, %28, %25) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg7: tensor<f64>, %arg8: tensor<f64>):
      %39 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%39) : (tensor<f64>) -> ()
    }) : (tensor<6xf64>, tensor<10x1xi32>, tensor<10xf64>) -> tensor<6xf64>
    %30 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %32 = "stablehlo.maximum"(%23, %31) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xf64>) -> tensor<6x1xf64>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<6x1xf64>) -> tensor<6x4xf64>
    %35 = "stablehlo.divide"(%17, %34) : (tensor<6x4xf64>, tensor<6x4xf64>) -> tensor<6x4xf64>
    %36 = "stablehlo.is_finite"(%29) : (tensor<6xf64>) -> tensor<6xi1>
    %37 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %38 = "func.call"(%36, %29, %37) <{callee = @_where}> : (tensor<6xi1>, tensor<6xf64>, tensor<i64>) -> tensor<6xf64>
    "func.return"(%35, %38) : (tensor<6x4xf64>, tensor<6xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<6xi1>, tensor<6xf64>, tensor<i64>) -> tensor<6xf64>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<6xi1>, %arg1: tensor<6xf64>, %arg2: tensor<i64>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<i64>) -> tensor<f64>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<6xi1>, tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    "func.return"(%2) : (tensor<6xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
