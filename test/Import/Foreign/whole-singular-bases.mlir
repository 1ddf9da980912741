// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Bases of all of the space, also where a singular value is 0.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 1x2x2x5: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 2.0409191213851825 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 -0.2155971630897659 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 0.22578661322792176 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.39080097723465473
// result 0 f8 1x2x2: 4.141864436691865 1.7832408592967914 1.4582414486502664 0.37037791182035773
// result 1 f8 1x2x2x5: 2.0409191213851807 -2.555665031314181 0.4180988467257787 -0.5677696061279295 2.040919121385181 -0.2155971630897655 -2.0199861291472496 -0.23193237764418925 -0.8652130762749413 -0.21559716308976562 0.2257866132279216 -0.3526307943415952 -0.2812874181513504 -0.6680463461089498 0.22578661322792168 -0.39080097723465473 0.48194538850678564 -0.23855360657336666 0.9577587029597637 -0.3908009772346546
// result 2 f8 1x2x2x2: 0.999999999999999 -1.2360712067640326e-16 -1.2360712067640326e-16 0.9999999999999991 0.9999999999999994 1.2981499210460528e-16 1.2981499210460528e-16 0.9999999999999993
// result 3 f8 1x2x5x5: 0.9999999999999998 -2.7755575615628914e-17 0 6.938893903907228e-18 1.1102230246251565e-16 -2.7755575615628914e-17 0.9999999999999996 2.0816681711721685e-17 -8.326672684688674e-17 5.551115123125783e-17 0 2.0816681711721685e-17 0.9999999999999999 1.734723475976807e-18 0 6.938893903907228e-18 -8.326672684688674e-17 1.734723475976807e-18 0.9999999999999998 1.3877787807814457e-17 1.1102230246251565e-16 0 0 2.7755575615628914e-17 1.0000000000000002 0.9999999999999999 1.8041124150158794e-16 1.2836953722228372e-16 -7.632783294297951e-17 0 1.8041124150158794e-16 1.0000000000000004 3.7990444123892075e-16 -5.0306980803327406e-17 6.938893903907228e-17 1.2836953722228372e-16 3.7990444123892075e-16 1.0000000000000004 4.5102810375396984e-17 7.28583859910259e-17 -7.632783294297951e-17 -5.0306980803327406e-17 4.5102810375396984e-17 1.0000000000000002 -2.7755575615628914e-17 0 6.938893903907228e-17 7.28583859910259e-17 -2.7755575615628914e-17 0.9999999999999999

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2xf64>, tensor<1x2x2x5xf64>, tensor<1x2x2x2xf64>, tensor<1x2x5x5xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<1x2x2x5xf64>):
    %19:3 = "func.call"(%arg1) <{callee = @svd}> : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x5x5xf64>)
    %20 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2x5xf64>
    %22 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xi64>
    %23 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xi64>
    %24 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<2xi64>
    %26 = "stablehlo.compare"(%22, %25) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %27 = "stablehlo.constant"() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<2xi64>
    %29 = "stablehlo.add"(%22, %28) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %30 = "stablehlo.select"(%26, %29, %22) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %31 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<2xi64>
    %33 = "stablehlo.compare"(%23, %32) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %34 = "stablehlo.constant"() <{value = dense<5> : tensor<i64>}> : () -> tensor<i64>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<2xi64>
    %36 = "stablehlo.add"(%23, %35) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %37 = "stablehlo.select"(%33, %36, %23) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %38 = "stablehlo.convert"(%30) : (tensor<2xi64>) -> tensor<2xi32>
    %39 = "stablehlo.convert"(%37) : (tensor<2xi64>) -> tensor<2xi32>
    %40 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xi32>) -> tensor<2x1xi32>
    %41 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xi32>) -> tensor<2x1xi32>
    %42 = "stablehlo.concatenate"(%40, %41) <{dimension = 1 : i64}> : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %43 = "stablehlo.scatter"(%21, %42, %19#1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], inserted_window_dims = [2, 3], scatter_dims_to_operand_dims = [2, 3], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      "stablehlo.return"(%arg3) : (tensor<f64>) -> ()
    }) : (tensor<1x2x2x5xf64>, tensor<2x2xi32>, tensor<1x2x2xf64>) -> tensor<1x2x2x5xf64>
    %44 = "stablehlo.reshape"(%19#0) : (tensor<1x2x2x2xf64>) -> tensor<2x2x2xf64>
    %45 = "stablehlo.reshape"(%43) : (tensor<1x2x2x5xf64>) -> tensor<2x2x5xf64>
    %46 = "stablehlo.dot_general"(%44, %45) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x2x2xf64>, tensor<2x2x5xf64>) -> tensor<2x2x5xf64>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x2x5xf64>) -> tensor<1x2x2x5xf64>
    %48 = "stablehlo.reshape"(%47) : (tensor<1x2x2x5xf64>) -> tensor<2x2x5xf64>
    %49 = "stablehlo.reshape"(%19#2) : (tensor<1x2x5x5xf64>) -> tensor<2x5x5xf64>
    %50 = "stablehlo.dot_general"(%48, %49) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x2x5xf64>, tensor<2x5x5xf64>) -> tensor<2x2x5xf64>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x2x5xf64>) -> tensor<1x2x2x5xf64>
    %52 = "stablehlo.transpose"(%19#0) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
    %53 = "stablehlo.reshape"(%19#0) : (tensor<1x2x2x2xf64>) -> tensor<2x2x2xf64>
    %54 = "stablehlo.reshape"(%52) : (tensor<1x2x2x2xf64>) -> tensor<2x2x2xf64>
    %55 = "stablehlo.dot_general"(%53, %54) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x2x2xf64>) -> tensor<1x2x2x2xf64>
    %57 = "stablehlo.transpose"(%19#2) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x5x5xf64>) -> tensor<1x2x5x5xf64>
    %58 = "stablehlo.reshape"(%19#2) : (tensor<1x2x5x5xf64>) -> tensor<2x5x5xf64>
    %59 = "stablehlo.reshape"(%57) : (tensor<1x2x5x5xf64>) -> tensor<2x5x5xf64>
    %60 = "stablehlo.dot_general"(%58, %59) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x5x5xf64>, tensor<2x5x5xf64>) -> tensor<2x5x5xf64>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x5x5xf64>) -> tensor<1x2x5x5xf64>
    "func.return"(%19#1, %51, %56, %61) : (tensor<1x2x2xf64>, tensor<1x2x2x5xf64>, tensor<1x2x2x2xf64>, tensor<1x2x5x5xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x5x5xf64>), res_attrs = [{}, {}, {}], sym_name = "svd", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x2x5xf64>):
    %0:5 = "stablehlo.custom_call"(%arg0) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dgesdd_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {mode = 65 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x5xf64>, tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x2x5x5xf64>, tensor<1x2xi32>)
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %3 = "stablehlo.compare"(%0#4, %2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1xi1>
    %5 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2xf64>
    %7 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x2x1xi1>) -> tensor<1x2x2xi1>
    %8 = "stablehlo.select"(%7, %0#1, %6) : (tensor<1x2x2xi1>, tensor<1x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
    %9 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %10 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2x2xf64>
    %12 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x2x2xi1>
    %13 = "stablehlo.select"(%12, %0#2, %11) : (tensor<1x2x2x2xi1>, tensor<1x2x2x2xf64>, tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
    %14 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %15 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x5x5xf64>
    %17 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x5x5xi1>
    %18 = "stablehlo.select"(%17, %0#3, %16) : (tensor<1x2x5x5xi1>, tensor<1x2x5x5xf64>, tensor<1x2x5x5xf64>) -> tensor<1x2x5x5xf64>
    "func.return"(%13, %8, %18) : (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x5x5xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
