// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Singular values; results do not depend on the signs of vectors.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-06
// arg 0 f8 1x2x2x5: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 3.3229995166448827 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 -1.0551505512051214 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.19980212906658
// cotangent 0 f8 1x2x2: -0.9970198329823277 0.9469205495328255 -0.4031975539662487 -0.3720279959313264
// cotangent 1 f8 1x2x2x2: 0.7834221408903144 0.17032587978181613 -0.057380669636337256 0.5465540192976328 -0.9393079846750576 0.413930191311247 -0.2515123330430584 -0.8182945729914843
// cotangent 2 f8 1x2x2x5: 0.3210001348557896 0.862927709482709 -0.5856176638379975 0.26018039957068595 -0.4036738186851505 0.48351336013866075 0.44432961628423495 -0.5625691508623909 0.6597737485486246 0.31530442174648643 0.3655978157207005 0.64015150034107 -0.1428541914030761 0.517410922309838 0.7569603693325078 -0.7953601561558512 0.6995366749323075 -0.2121453347353297 -0.040632152975450087 -0.707330860483603
// cotangent 3 f8 1x2x2x5: 0.3968526898941871 -0.41604276802429796 0.7422782995871782 -0.4492512461038458 0.12361943746177984 -0.20068755773909452 0.2258189838048783 -0.6067215204557526 -0.6394249183138097 0.49372077129967584 0.5044468367385548 0.1339557489058245 0.8421593545658599 -0.5884499035419624 0.7018022491833029 -0.6620253773458276 0.9287154417885592 0.24738545621230346 0.2137675760200295 0.9411175262652476
// cotangent 4 f8 1x2x2: 0.5740654275775421 0.5798349521771087 -0.8918124842580695 -0.26142738781116015
// cotangent 5 f8 1x2: -0.8302104556690639 -0.6129448370689712
// result 0 f8 1x2x2: 4.237973647889001 3.067564588806397 1.503490116826463 0.9760757996686008
// result 1 f8 1x2x2x2: 0.232605095726115 0.7673949042738849 0.7673949042738849 0.23260509572611512 0.658650110389905 0.3413498896100943 0.3413498896100943 0.6586501103899052
// result 2 f8 1x2x2x5: 0.03522994887611762 0.5018053689184394 1.3029287329625976e-07 0.05927155188375939 0.4036930000288103 0.38035136663530056 0.16994051859860643 0.02429310170911305 0.0006816175921748446 0.4247333954648052 0.07493465442447181 0.1426043516509165 0.0034970237404776407 0.53697886170881 0.24198510847532387 0.03601937433859105 0.03596549474019121 0.13448331124298304 0.15718751942659334 0.6363443002516419
// result 3 f8 1x2x2x5: -0.04056907182976403 0.277206251555602 0.010253216246241098 0.1027583611194127 -0.31481510446251665 -0.1682640323174023 0.5667216027918168 -0.005278408276131785 0.1906489702379467 -0.47187276737004147 0.12981285947434248 -0.21400330498054743 -0.22535398379093785 -0.4014979161321138 -0.7843682714861167 -0.28715298072617634 0.347616800037939 -0.21204800579082933 0.6936815256651935 -0.24949150056189426
// result 4 f8 1x2x2: 17.960420640201608 9.409952506498959 2.2604825313948513 0.9527239666986985
// result 5 f8 1x2: 7.305538236695398 2.479565916495064
// gradient 0 f8 1x2x2x5: 2.169674980148583 -2.709761909179554 0.3942938604112042 -0.4894041222011827 -0.6961009317532603 -0.21774621579255327 -1.3159064328821155 -0.08711270975396962 -0.36427586120604316 1.7647194997698856 -0.511717702873189 1.6360708102850652 1.1423587642010182 2.176865605588731 3.324811162542217 0.34974621824986213 0.2455970454266082 0.22567869151107725 -1.3685444886832991 0.7881877196414289

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>, tensor<1x2x2x5xf64>, tensor<1x2x2xf64>, tensor<1x2xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg5: tensor<1x2x2x5xf64>):
    %32:3 = "func.call"(%arg5) <{callee = @svd}> : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x2x5xf64>)
    %33 = "stablehlo.multiply"(%32#0, %32#0) : (tensor<1x2x2x2xf64>, tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
    %34 = "stablehlo.multiply"(%32#2, %32#2) : (tensor<1x2x2x5xf64>, tensor<1x2x2x5xf64>) -> tensor<1x2x2x5xf64>
    %35 = "stablehlo.sine"(%32#1) : (tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
    %36 = "stablehlo.dot_general"(%35, %32#2) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1, 2], rhs_batching_dimensions = [0, 1, 2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x2xf64>, tensor<1x2x2x5xf64>) -> tensor<1x2x2x5xf64>
    %37 = "stablehlo.dot_general"(%32#0, %36) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>) -> tensor<1x2x2x5xf64>
    %38 = "func.call"(%arg5) <{callee = @svd_0}> : (tensor<1x2x2x5xf64>) -> tensor<1x2x2xf64>
    %39 = "stablehlo.multiply"(%38, %38) : (tensor<1x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
    %40 = "func.call"(%arg5) <{callee = @norm}> : (tensor<1x2x2x5xf64>) -> tensor<1x2xf64>
    "func.return"(%32#1, %33, %34, %37, %39, %40) : (tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>, tensor<1x2x2x5xf64>, tensor<1x2x2xf64>, tensor<1x2xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x2x5xf64>), res_attrs = [{}, {}, {}], sym_name = "svd", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<1x2x2x5xf64>):
    %13:5 = "stablehlo.custom_call"(%arg4) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dgesdd_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x5xf64>, tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x2x2x5xf64>, tensor<1x2xi32>)
    %14 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %16 = "stablehlo.compare"(%13#4, %15) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1xi1>
    %18 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2xf64>
    %20 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x2x1xi1>) -> tensor<1x2x2xi1>
    %21 = "stablehlo.select"(%20, %13#1, %19) : (tensor<1x2x2xi1>, tensor<1x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
    %22 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %23 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2x2xf64>
    %25 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x2x2xi1>
    %26 = "stablehlo.select"(%25, %13#2, %24) : (tensor<1x2x2x2xi1>, tensor<1x2x2x2xf64>, tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
    %27 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %28 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2x5xf64>
    %30 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x2x5xi1>
    %31 = "stablehlo.select"(%30, %13#3, %29) : (tensor<1x2x2x5xi1>, tensor<1x2x2x5xf64>, tensor<1x2x2x5xf64>) -> tensor<1x2x2x5xf64>
    "func.return"(%26, %21, %31) : (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x2x5xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> tensor<1x2x2xf64>, res_attrs = [{}], sym_name = "svd_0", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<1x2x2x5xf64>):
    %4:5 = "stablehlo.custom_call"(%arg3) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dgesdd_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {mode = 78 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x2x5xf64>) -> (tensor<1x2x2x5xf64>, tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x2x5x5xf64>, tensor<1x2xi32>)
    %5 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %7 = "stablehlo.compare"(%4#4, %6) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1xi1>
    %9 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x2xf64>
    %11 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x2x1xi1>) -> tensor<1x2x2xi1>
    %12 = "stablehlo.select"(%11, %4#1, %10) : (tensor<1x2x2xi1>, tensor<1x2x2xf64>, tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
    "func.return"(%12) : (tensor<1x2x2xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x2x5xf64>) -> tensor<1x2xf64>, res_attrs = [{}], sym_name = "norm", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x2x5xf64>):
    %0 = "func.call"(%arg0) <{callee = @svd_0}> : (tensor<1x2x2x5xf64>) -> tensor<1x2x2xf64>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %3 = "stablehlo.add"(%arg1, %arg2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%3) : (tensor<f64>) -> ()
    }) : (tensor<1x2x2xf64>, tensor<f64>) -> tensor<1x2xf64>
    "func.return"(%2) : (tensor<1x2xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
