// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Calls of LAPACK for what StableHLO has operations for.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-06
// arg 0 f8 1x2x4x4: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 3.3229995166448827 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 -1.0551505512051214 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.19980212906658 0.024259565076664623 1.545820851212812 0.5451055226876446 -0.505228735614018 -0.1828389745977349 0.5405251317548021 1.9350880340988528 -0.2696203273419135 -0.24355867907910456 1.0023136012756912 -0.8864599431605871 -0.291720232439864
// arg 1 f8 1x2x4x2: 0.8825389674564839 0.5803500161908991 0.09151670328235219 0.6701043548284794 -2.8281623068437627 1.02130681750008 -0.9596447598081417 -1.6686198426559695 0.27644575952099965 0.7005448853493901 -0.4447674556827841 -1.0764058401008076 0.026124833534033623 -0.05274730824287927 1.4055981660180925 0.7474079874793504
// cotangent 0 f8 1x2x4x4: -0.2121453347353297 -0.040632152975450087 -0.707330860483603 0.3968526898941871 -0.41604276802429796 0.7422782995871782 -0.4492512461038458 0.12361943746177984 -0.20068755773909452 0.2258189838048783 -0.6067215204557526 -0.6394249183138097 0.49372077129967584 0.5044468367385548 0.1339557489058245 0.8421593545658599 -0.5884499035419624 0.7018022491833029 -0.6620253773458276 0.9287154417885592 0.24738545621230346 0.2137675760200295 0.9411175262652476 0.5740654275775421 0.5798349521771087 -0.8918124842580695 -0.26142738781116015 -0.8302104556690639 -0.6129448370689712 -0.5722660186157056 0.7172838643318087 -0.7464900405633892
// cotangent 1 f8 1x2x4x2: -0.4064844632211011 -0.014306042151334797 0.6989208223790737 0.9304628416747509 0.4162895413744834 -0.5726255611389037 0.0899653629160082 0.4119180859737739 -0.8962349445467497 0.3597683344481428 -0.26343632972183784 0.17940057355841654 0.3390665622833302 0.3382549922918716 0.04609955105171282 0.10947486493017844
// result 0 f8 1x2x4x4: 1.9489704707610294 0 0 0 -0.13926534516218972 1.4411740667486048 0 0 -1.2780708526468927 -0.24477515534746191 1.5159755607006395 0 0.11723439602946086 0.4438549684452363 -0.17201141576208298 1.098876740877047 1.1452512611417227 0 0 0 0.0580562516701431 1.3161558250511955 0 0 0.36894862249239774 0.36783019978329035 1.3282667053036081 0 -0.2504288682086105 0.2404380415508524 -0.1947268114722247 1.1512049020968493
// result 1 f8 1x2x4x2: -2.860491603711153 1.9359346743254542 -0.21520906923797234 1.590464325565926 -2.9932321606070253 0.7342851559961224 -0.9596447598081417 -1.6686198426559695 0.5696703912312502 0.9283882343957026 -0.8930141679090509 -1.2902432448653338 0.2998324826139435 0.0927930660278471 1.4055981660180925 0.7474079874793504
// gradient 0 f8 1x2x4x4: -0.18747015353848973 -0.33808358941184274 -0.2858740559078375 0.1602938716115078 -0.18221402527336417 0.34794441100201795 -0.42647281962444095 -0.30182227737996875 -0.4760169030961052 0.21199700660003987 -0.5765643187596567 0.12747812155300617 -0.20061705478093286 -0.36096150602014165 -1.0147767049686116 -0.14750043653393424 -0.13469596753144686 0.24097497370917467 0.12298541926873278 -0.045576853564785684 0.03413433250821053 0.035499986853663984 -0.16887431295920274 -0.004324495539095135 0.12254744020373086 -0.37512871647957724 0.07663405715641279 0.07434538135071314 0.09841211317242096 -0.26355620509075645 0.006821678276743293 0.06741493272822058
// gradient 1 f8 1x2x4x2: -0.4064844632211011 -0.014306042151334797 0.6423116233055196 0.9284705057766405 0.05399552425386525 -0.36364318434224896 -0.13818603526546305 -0.06106177982980811 -0.8962349445467497 0.3597683344481428 -0.211404288225655 0.15851377259074695 0.7474920920764909 0.14721280824038757 0.018042832967049588 0.19012478145929002

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<1x2x4x4xf64>, tensor<1x2x4x2xf64>) -> (tensor<1x2x4x4xf64>, tensor<1x2x4x2xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<1x2x4x4xf64>, %arg2: tensor<1x2x4x2xf64>):
    %24 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %25 = "stablehlo.reshape"(%arg1) : (tensor<1x2x4x4xf64>) -> tensor<2x4x4xf64>
    %26 = "stablehlo.reshape"(%24) : (tensor<1x2x4x4xf64>) -> tensor<2x4x4xf64>
    %27 = "stablehlo.dot_general"(%25, %26) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %29 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %31 = "stablehlo.divide"(%28, %30) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %32 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x4xi64>
    %33 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x4xi64>
    %34 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<4x4xi64>
    %36 = "stablehlo.add"(%32, %35) : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi64>
    %37 = "stablehlo.compare"(%36, %33) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %38 = "stablehlo.convert"(%37) : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x4xf64>) -> tensor<1x1x4x4xf64>
    %40 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf64>) -> tensor<1x2x4x4xf64>
    %41 = "stablehlo.add"(%31, %40) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %42 = "func.call"(%41) <{callee = @cholesky}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %43 = "stablehlo.transpose"(%42) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %44 = "stablehlo.add"(%42, %43) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %45 = "stablehlo.custom_call"(%44, %arg2) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dtrsm_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>]}> {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x4x4xf64>, tensor<1x2x4x2xf64>) -> tensor<1x2x4x2xf64>
    "func.return"(%42, %45) : (tensor<1x2x4x4xf64>, tensor<1x2x4x2xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>, res_attrs = [{}], sym_name = "cholesky", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x4x4xf64>):
    %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %1 = "stablehlo.add"(%arg0, %0) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %2 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %4 = "stablehlo.divide"(%1, %3) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %5:2 = "stablehlo.custom_call"(%4) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dpotrf_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x4x4xf64>) -> (tensor<1x2x4x4xf64>, tensor<1x2xi32>)
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %8 = "stablehlo.compare"(%5#1, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %10 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %12 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x4x4xi1>
    %13 = "stablehlo.select"(%12, %5#0, %11) : (tensor<1x2x4x4xi1>, tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %14 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x4xi64>
    %15 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<4x4xi64>
    %17 = "stablehlo.add"(%14, %16) : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi64>
    %18 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x4xi64>
    %19 = "stablehlo.compare"(%17, %18) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x4xi1>) -> tensor<1x2x4x4xi1>
    %21 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %23 = "stablehlo.select"(%20, %13, %22) : (tensor<1x2x4x4xi1>, tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    "func.return"(%23) : (tensor<1x2x4x4xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
