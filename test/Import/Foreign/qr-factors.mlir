// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Householder's reflectors and their product; the derivative is that of the loop.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-06
// arg 0 f8 2x4x2: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 3.3229995166448827 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 -1.0551505512051214 -0.39080097723465473
// cotangent 0 f8 2x4x2: -0.4315976725024171 0.2970944141596501 0.39243199334031087 -0.41455850197502575 -0.9970198329823277 0.9469205495328255 -0.4031975539662487 -0.3720279959313264 0.7834221408903144 0.17032587978181613 -0.057380669636337256 0.5465540192976328 -0.9393079846750576 0.413930191311247 -0.2515123330430584 -0.8182945729914843
// cotangent 1 f8 2x2x2: 0.3210001348557896 0.862927709482709 -0.5856176638379975 0.26018039957068595 -0.4036738186851505 0.48351336013866075 0.44432961628423495 -0.5625691508623909
// result 0 f8 2x4x2: -0.6949224664378322 -0.6839999356316915 -0.14236050744837753 -0.16173929793657946 0.1541247564436747 -0.23076101976544927 0.6877948902181364 -0.6728549912987449 -0.6130193794222165 -0.7675224313457446 0.15997396863063723 0.028615987161831433 -0.19929730981044863 0.3338207014194503 -0.7475935741535519 0.5464926183981783
// result 1 f8 2x2x2: -2.936901913456504 1.664066251720934 0 2.045713653554735 1.4113959612344111 -1.6681747101844007 0 -2.9971450958200836
// gradient 0 f8 2x4x2: 0.3513384108468875 -0.7547246672298973 -0.21235422116608202 -0.3937367565116228 0.7706418252965912 0.5434587957077772 0.6050455702436524 0.28880639576012357 2.2672595862372704 0.08237953988902832 -0.3390871183050836 -0.09781328762513321 -1.5463973423097517 -0.5035689074686893 -0.979479429708315 -0.600996693037041

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x4x2xf64>) -> (tensor<2x4x2xf64>, tensor<2x2x2xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<2x4x2xf64>):
    %13:2 = "func.call"(%arg1) <{callee = @qr}> : (tensor<2x4x2xf64>) -> (tensor<2x4x2xf64>, tensor<2x2x2xf64>)
    "func.return"(%13#0, %13#1) : (tensor<2x4x2xf64>, tensor<2x2x2xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x4x2xf64>) -> (tensor<2x4x2xf64>, tensor<2x2x2xf64>), res_attrs = [{}, {}], sym_name = "qr", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x4x2xf64>):
    %0:2 = "stablehlo.custom_call"(%arg0) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dgeqrf_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<2x4x2xf64>) -> (tensor<2x4x2xf64>, tensor<2x2xf64>)
    %1 = "stablehlo.custom_call"(%0#0, %0#1) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dorgqr_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]}> {mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<2x4x2xf64>, tensor<2x2xf64>) -> tensor<2x4x2xf64>
    %2 = "stablehlo.slice"(%0#0) <{limit_indices = array<i64: 2, 2, 2>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<2x4x2xf64>) -> tensor<2x2x2xf64>
    %3 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2x2xi64>
    %4 = "stablehlo.constant"() <{value = dense<-1> : tensor<i64>}> : () -> tensor<i64>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<2x2xi64>
    %6 = "stablehlo.add"(%3, %5) : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
    %7 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x2xi64>
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi1>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<2x2xi1>) -> tensor<2x2x2xi1>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %12 = "stablehlo.select"(%9, %11, %2) : (tensor<2x2x2xi1>, tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    "func.return"(%1, %12) : (tensor<2x4x2xf64>, tensor<2x2x2xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
