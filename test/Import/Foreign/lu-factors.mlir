// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// The factors of matrices that are not square have a rule for their derivative.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-06
// arg 0 f8 1x2x2x5: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 3.3229995166448827 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 -1.0551505512051214 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.19980212906658
// cotangent 0 f8 1x2x2x5: -0.9970198329823277 0.9469205495328255 -0.4031975539662487 -0.3720279959313264 0.7834221408903144 0.17032587978181613 -0.057380669636337256 0.5465540192976328 -0.9393079846750576 0.413930191311247 -0.2515123330430584 -0.8182945729914843 0.3210001348557896 0.862927709482709 -0.5856176638379975 0.26018039957068595 -0.4036738186851505 0.48351336013866075 0.44432961628423495 -0.5625691508623909
// result 0 f8 1x2x2x5: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.10563728901880197 -2.2899596546954326 -0.1877655489341906 -0.9251907182535692 3.2751828725500554 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.19980212906658 -0.5777534509396818 -0.07418518296733423 -0.4191125875832201 -0.11469795030643282 -1.1705869207784336
// result 1 i4 1x2x2: 0 1 1 1
// result 2 i4 1x2x2: 0 1 1 0
// gradient 0 f8 1x2x2x5: -1.0255279595445443 0.9408590111503593 -0.34546106906531676 -0.4712539449861139 0.8271486041434686 -0.26986802507912466 -0.057380669636337304 0.5465540192976328 -0.9393079846750576 0.413930191311247 -0.08216437940645353 -0.4036738186851505 0.48351336013866075 0.44432961628423495 -0.5625691508623909 -0.2989830867894551 -1.0515185147908301 0.600351647251342 1.1196406786456303 -0.9106439321409503

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x5xf64>, tensor<1x2x2xi32>, tensor<1x2x2xi32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg7: tensor<1x2x2x5xf64>):
    %47:3 = "stablehlo.custom_call"(%arg7) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dgetrf_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x5xf64>, tensor<1x2x2xi32>, tensor<1x2xi32>)
    %48 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2x2xi32>
    %50 = "stablehlo.subtract"(%47#1, %49) : (tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> tensor<1x2x2xi32>
    %51 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %52 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %53 = "stablehlo.compare"(%47#2, %52) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %54 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %55 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2x5xf64>
    %57 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x2x5xi1>
    %58 = "stablehlo.select"(%57, %47#0, %56) : (tensor<1x2x2x5xi1>, tensor<1x2x2x5xf64>, tensor<1x2x2x5xf64>) -> tensor<1x2x2x5xf64>
    %59 = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<1x2x2xi32>
    %60 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %61 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %62:4 = "stablehlo.while"(%50, %61, %60, %59) ({
    ^bb0(%arg12: tensor<1x2x2xi32>, %arg13: tensor<i64>, %arg14: tensor<i64>, %arg15: tensor<1x2x2xi32>):
      %66 = "stablehlo.constant"() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
      %67 = "stablehlo.compare"(%arg13, %66) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%67) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg8: tensor<1x2x2xi32>, %arg9: tensor<i64>, %arg10: tensor<i64>, %arg11: tensor<1x2x2xi32>):
      %63:2 = "func.call"(%arg8, %arg10, %arg11) <{callee = @closed_call}> : (tensor<1x2x2xi32>, tensor<i64>, tensor<1x2x2xi32>) -> (tensor<i64>, tensor<1x2x2xi32>)
      %64 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %65 = "stablehlo.add"(%arg9, %64) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%arg8, %65, %63#0, %63#1) : (tensor<1x2x2xi32>, tensor<i64>, tensor<i64>, tensor<1x2x2xi32>) -> ()
    }) : (tensor<1x2x2xi32>, tensor<i64>, tensor<i64>, tensor<1x2x2xi32>) -> (tensor<1x2x2xi32>, tensor<i64>, tensor<i64>, tensor<1x2x2xi32>)
    "func.return"(%58, %50, %62#3) : (tensor<1x2x2x5xf64>, tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x2x2xi32>, tensor<i64>, tensor<1x2x2xi32>) -> (tensor<i64>, tensor<1x2x2xi32>), res_attrs = [{}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x2xi32>, %arg1: tensor<i64>, %arg2: tensor<1x2x2xi32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %1 = "stablehlo.add"(%arg1, %0) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %3 = "stablehlo.compare"(%arg1, %2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %4 = "stablehlo.convert"(%arg1) : (tensor<i64>) -> tensor<i64>
    %5 = "stablehlo.constant"() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
    %6 = "stablehlo.add"(%4, %5) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %7 = "stablehlo.select"(%3, %6, %arg1) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<1xi64>
    %9 = "stablehlo.gather"(%arg0, %8) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], start_index_map = [2]>, indices_are_sorted = true, slice_sizes = array<i64: 1, 2, 1>}> : (tensor<1x2x2xi32>, tensor<1xi64>) -> tensor<1x2x1xi32>
    %10 = "stablehlo.reshape"(%9) : (tensor<1x2x1xi32>) -> tensor<1x2xi32>
    %11 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %12 = "stablehlo.compare"(%arg1, %11) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %13 = "stablehlo.convert"(%arg1) : (tensor<i64>) -> tensor<i64>
    %14 = "stablehlo.constant"() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
    %15 = "stablehlo.add"(%13, %14) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %16 = "stablehlo.select"(%12, %15, %arg1) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<1xi64>
    %18 = "stablehlo.gather"(%arg2, %17) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], start_index_map = [2]>, indices_are_sorted = true, slice_sizes = array<i64: 1, 2, 1>}> : (tensor<1x2x2xi32>, tensor<1xi64>) -> tensor<1x2x1xi32>
    %19 = "stablehlo.reshape"(%18) : (tensor<1x2x1xi32>) -> tensor<1x2xi32>
    %20 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %22 = "stablehlo.compare"(%10, %21) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %23 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %25 = "stablehlo.add"(%10, %24) : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
    %26 = "stablehlo.select"(%22, %25, %10) : (tensor<1x2xi1>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi32>) -> tensor<1x2x1xi32>
    %28 = "stablehlo.gather"(%arg2, %27) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<1x2x2xi32>, tensor<1x2x1xi32>) -> tensor<1x2x1xi32>
    %29 = "stablehlo.reshape"(%28) : (tensor<1x2x1xi32>) -> tensor<1x2xi32>
    %30 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %31 = "stablehlo.compare"(%arg1, %30) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %32 = "stablehlo.constant"() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
    %33 = "stablehlo.add"(%arg1, %32) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %34 = "stablehlo.select"(%31, %33, %arg1) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %35 = "stablehlo.convert"(%34) : (tensor<i64>) -> tensor<i32>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %37 = "stablehlo.scatter"(%arg2, %36, %29) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [2]>, unique_indices = true}> ({
    ^bb0(%arg5: tensor<i32>, %arg6: tensor<i32>):
      "stablehlo.return"(%arg6) : (tensor<i32>) -> ()
    }) : (tensor<1x2x2xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<1x2x2xi32>
    %38 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %40 = "stablehlo.compare"(%10, %39) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %41 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %43 = "stablehlo.add"(%10, %42) : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
    %44 = "stablehlo.select"(%40, %43, %10) : (tensor<1x2xi1>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi32>) -> tensor<1x2x1xi32>
    %46 = "stablehlo.scatter"(%37, %45, %19) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      "stablehlo.return"(%arg4) : (tensor<i32>) -> ()
    }) : (tensor<1x2x2xi32>, tensor<1x2x1xi32>, tensor<1x2xi32>) -> tensor<1x2x2xi32>
    "func.return"(%1, %46) : (tensor<i64>, tensor<1x2x2xi32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
