// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// More columns than the matrix has are a basis of the rest.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-07
// arg 0 f8 1x2x2x5: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 3.3229995166448827 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 -1.0551505512051214 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.19980212906658
// result 0 f8 1x2x2x2: -0.994466649731337 0.10505276089722894 0.10505276089722894 0.9944666497313369 -0.5002618056543016 0.8658741974464289 0.8658741974464289 0.5002618056543019
// result 1 f8 1x2x2x5: -2.0522750782407364 2.3293185216855212 -0.44015049597290196 0.47373491559825576 0.7992348987120388 0 -2.277288505824896 -0.18672657638354992 -0.9200713139441562 3.25706013852231 -0.4513369013503065 0.5937117943929578 -0.06584006092743394 1.1634966196378402 0.35484801182939285 0 -0.06423503576425699 -0.36289877541331694 -0.09931399567033261 -1.0135810105703127

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<1x2x2x5xf64>):
    %13:2 = "func.call"(%arg1) <{callee = @qr}> : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>)
    "func.return"(%13#0, %13#1) : (tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>), res_attrs = [{}, {}], sym_name = "qr", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x2x5xf64>):
    %0:2 = "stablehlo.custom_call"(%arg0) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dgeqrf_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>]}> {mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x5xf64>, tensor<1x2x2xf64>)
    %1 = "stablehlo.slice"(%0#0) <{limit_indices = array<i64: 1, 2, 2, 2>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x2x2x5xf64>) -> tensor<1x2x2x2xf64>
    %2 = "stablehlo.custom_call"(%1, %0#1) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dorgqr_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>]}> {mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2x2xf64>
    %3 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2x5xi64>
    %4 = "stablehlo.constant"() <{value = dense<-1> : tensor<i64>}> : () -> tensor<i64>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<2x5xi64>
    %6 = "stablehlo.add"(%3, %5) : (tensor<2x5xi64>, tensor<2x5xi64>) -> tensor<2x5xi64>
    %7 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x5xi64>
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x5xi64>, tensor<2x5xi64>) -> tensor<2x5xi1>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<2x5xi1>) -> tensor<1x2x2x5xi1>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2x5xf64>
    %12 = "stablehlo.select"(%9, %11, %0#0) : (tensor<1x2x2x5xi1>, tensor<1x2x2x5xf64>, tensor<1x2x2x5xf64>) -> tensor<1x2x2x5xf64>
    "func.return"(%2, %12) : (tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
