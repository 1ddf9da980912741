// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Eigenvalues of symmetric matrices; results do not depend on the signs of vectors.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-06
// arg 0 f8 1x2x4x4: 2.0409191213851825 -2.5556650313141818 0.41809884672577885 -0.5677696061279298 -0.45264929211044586 -0.2155971630897659 -2.019986129147251 -0.23193237764418947 -0.8652130762749417 3.3229995166448827 0.22578661322792176 -0.3526307943415954 -0.2812874181513504 -0.6680463461089501 -1.0551505512051214 -0.39080097723465473 0.48194538850678587 -0.2385536065733667 0.9577587029597641 -0.19980212906658 0.024259565076664623 1.545820851212812 0.5451055226876446 -0.505228735614018 -0.1828389745977349 0.5405251317548021 1.9350880340988528 -0.2696203273419135 -0.24355867907910456 1.0023136012756912 -0.8864599431605871 -0.291720232439864
// cotangent 0 f8 1x2x4: -0.2121453347353297 -0.040632152975450087 -0.707330860483603 0.3968526898941871 -0.41604276802429796 0.7422782995871782 -0.4492512461038458 0.12361943746177984
// cotangent 1 f8 1x2x4x4: -0.20068755773909452 0.2258189838048783 -0.6067215204557526 -0.6394249183138097 0.49372077129967584 0.5044468367385548 0.1339557489058245 0.8421593545658599 -0.5884499035419624 0.7018022491833029 -0.6620253773458276 0.9287154417885592 0.24738545621230346 0.2137675760200295 0.9411175262652476 0.5740654275775421 0.5798349521771087 -0.8918124842580695 -0.26142738781116015 -0.8302104556690639 -0.6129448370689712 -0.5722660186157056 0.7172838643318087 -0.7464900405633892 -0.4064844632211011 -0.014306042151334797 0.6989208223790737 0.9304628416747509 0.4162895413744834 -0.5726255611389037 0.0899653629160082 0.4119180859737739
// cotangent 2 f8 1x2x4x4: -0.8962349445467497 0.3597683344481428 -0.26343632972183784 0.17940057355841654 0.3390665622833302 0.3382549922918716 0.04609955105171282 0.10947486493017844 -0.6037005727729341 -0.009625216929195712 -0.7491810547094937 -0.03850599614787109 0.07248985113962303 0.5482096326206369 -0.21267041401162823 -0.9607991628967809 0.05549986642700655 -0.5895350150998242 0.48251504638873755 -0.22260553916652648 -0.23905367173439518 0.818909159538594 -0.21405911208958206 -0.30229684569688664 -0.3039605292834877 -0.03846885939483613 -0.8134157824971724 0.09349481589142927 0.8428549240675633 0.12584412975947346 0.4878204147010943 0.8942813263313545
// cotangent 3 f8 1x2x4: 0.6842307741978282 0.48801268722496216 0.6263274783891217 0.6402780832539134 -0.49248961047593354 -0.03607390562323487 -0.31456649868296993 -0.4765334127426917
// result 0 f8 1x2x4: -1.3407481880451737 -0.811971048513765 0.9269069964457516 2.88611983440187 -0.5110292114827332 0.3333698821241347 1.4369500640519997 2.411843306685186
// result 1 f8 1x2x4x4: 0.1596554626512112 0.0032372008574462507 0.08084199801152711 0.7562653384798159 0.5708827484098025 0.14947578661090197 0.06936250996135371 0.21027895501794253 0.0005866035733828988 0.44000921556977357 0.5260580355657147 0.033346145291129566 0.26887518536560395 0.4072777969618781 0.323737456461406 0.000109561211112492 0.009247278772574235 0.8724349394538656 0.09184232791580187 0.026475453857758707 0.030590317807561437 0.043354895681703316 0.7041784963832137 0.22187629012752175 0.06131522107964948 0.08383779143012983 0.1264590532526702 0.7283879342375509 0.8988471823402149 0.0003723734343016236 0.07752012244831451 0.02326032177716908
// result 2 f8 1x2x4x4: 12.181236681891741 -3.986800194036234 -0.21456681592436036 -0.35771450099694085 19.428478881926658 4.2485900873906886 -1.7896210231412153 0.49996841565362 -0.648144920749682 1.3064311993179336 -0.9439633232735138 0.8867301528087352 -0.013945935023280067 0.015804671296614066 -1.1579148218149529 0.8005640530953563 1.6811938225857568 0.02679755305590717 0.15002441726521443 -0.3699051834765115 -0.13058986362366748 5.6343979281420475 -2.9925824302470194 -0.14671512154272032 0.4531808127924034 2.1845983048093034 -3.918719935598299 1.868102943852692 -0.014421203611150329 -0.0046378615080996145 -2.4394164115334336 0.8411090631134144
// result 3 f8 1x2x4: 0.09861934672336692 1.1407260596092081 6.319111708125638 21.778720725749082 0.012799332378323033 0.2727020982189267 3.761452028500887 6.219718721804471
// gradient 0 f8 1x2x4x4: -3.322060788558305 -3.9703470472031306 -0.5152431161457078 0.9162641868720659 -1.2309838861708688 1.5679916932288562 -1.691611526578173 -0.9279862573281604 -2.3318830494728617 5.009341822932653 0.3711005743814328 -0.3711902321556345 1.1043791369285914 -1.574882263217682 -1.3696384104451729 -0.9810795173698383 0.5607458036215754 0.8500396924754713 -0.6530596253968647 -0.09777012109221479 0.8469217200985524 3.0224622615127616 1.3349392110352805 1.0554716737974985 0.1782567235501869 1.4514508705464 1.7303985895121492 0.7008079254766086 -0.05379914649036466 0.14066985448711644 1.0213847208744071 0.12918348926244766

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x4x4xf64>) -> (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>, tensor<1x2x4xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<1x2x4x4xf64>):
    %39 = "stablehlo.constant"() <{value = dense<[[0.88253896745648386, 0.5803500161908991, 0.091516703282352188, 0.67010435482847941], [-2.8281623068437627, 1.0213068175000799, -0.95964475980814167, -1.6686198426559695], [0.27644575952099965, 0.70054488534939008, -0.44476745568278409, -1.0764058401008076], [0.026124833534033623, -0.052747308242879272, 1.4055981660180925, 0.74740798747935044]]> : tensor<4x4xf64>}> : () -> tensor<4x4xf64>
    %40:2 = "func.call"(%arg3) <{callee = @eigh}> : (tensor<1x2x4x4xf64>) -> (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>)
    %41 = "stablehlo.multiply"(%40#1, %40#1) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %42 = "stablehlo.exponential"(%40#0) : (tensor<1x2x4xf64>) -> tensor<1x2x4xf64>
    %43 = "stablehlo.dot_general"(%40#1, %42) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1, 3], rhs_batching_dimensions = [0, 1, 2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x4x4xf64>, tensor<1x2x4xf64>) -> tensor<1x2x4x4xf64>
    %44 = "stablehlo.transpose"(%43) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %45 = "stablehlo.dot_general"(%40#1, %44) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %46 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x4xf64>) -> tensor<1x1x4x4xf64>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf64>) -> tensor<1x2x4x4xf64>
    %48 = "stablehlo.multiply"(%45, %47) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %49 = "stablehlo.transpose"(%arg3) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %50 = "stablehlo.reshape"(%arg3) : (tensor<1x2x4x4xf64>) -> tensor<2x4x4xf64>
    %51 = "stablehlo.reshape"(%49) : (tensor<1x2x4x4xf64>) -> tensor<2x4x4xf64>
    %52 = "stablehlo.dot_general"(%50, %51) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %54 = "func.call"(%53) <{callee = @eigvalsh}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4xf64>
    "func.return"(%40#0, %41, %48, %54) : (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>, tensor<1x2x4xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x4x4xf64>) -> (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>), res_attrs = [{}, {}], sym_name = "eigh", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<1x2x4x4xf64>):
    %20 = "stablehlo.transpose"(%arg2) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %21 = "stablehlo.add"(%arg2, %20) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %22 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %24 = "stablehlo.divide"(%21, %23) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %25:3 = "stablehlo.custom_call"(%24) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dsyevd_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x4x4xf64>) -> (tensor<1x2x4x4xf64>, tensor<1x2x4xf64>, tensor<1x2xi32>)
    %26 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %28 = "stablehlo.compare"(%25#2, %27) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %30 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %32 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x4x4xi1>
    %33 = "stablehlo.select"(%32, %25#0, %31) : (tensor<1x2x4x4xi1>, tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %34 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1xi1>
    %35 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4xf64>
    %37 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x2x1xi1>) -> tensor<1x2x4xi1>
    %38 = "stablehlo.select"(%37, %25#1, %36) : (tensor<1x2x4xi1>, tensor<1x2x4xf64>, tensor<1x2x4xf64>) -> tensor<1x2x4xf64>
    "func.return"(%38, %33) : (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x4x4xf64>) -> tensor<1x2x4xf64>, res_attrs = [{}], sym_name = "eigvalsh", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<1x2x4x4xf64>):
    %19:2 = "func.call"(%arg1) <{callee = @eigh_0}> : (tensor<1x2x4x4xf64>) -> (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>)
    "func.return"(%19#0) : (tensor<1x2x4xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<1x2x4x4xf64>) -> (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>), res_attrs = [{}, {}], sym_name = "eigh_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x4x4xf64>):
    %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %1 = "stablehlo.add"(%arg0, %0) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %2 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %4 = "stablehlo.divide"(%1, %3) : (tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %5:3 = "stablehlo.custom_call"(%4) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack_dsyevd_ffi", called_computations = [], has_side_effect = false, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "2"}} : (tensor<1x2x4x4xf64>) -> (tensor<1x2x4x4xf64>, tensor<1x2x4xf64>, tensor<1x2xi32>)
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x2xi32>
    %8 = "stablehlo.compare"(%5#2, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi1>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1x1xi1>
    %10 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4x4xf64>
    %12 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x1x1xi1>) -> tensor<1x2x4x4xi1>
    %13 = "stablehlo.select"(%12, %5#0, %11) : (tensor<1x2x4x4xi1>, tensor<1x2x4x4xf64>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf64>
    %14 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xi1>) -> tensor<1x2x1xi1>
    %15 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1x2x4xf64>
    %17 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x2x1xi1>) -> tensor<1x2x4xi1>
    %18 = "stablehlo.select"(%17, %5#1, %16) : (tensor<1x2x4xi1>, tensor<1x2x4xf64>, tensor<1x2x4xf64>) -> tensor<1x2x4xf64>
    "func.return"(%18, %13) : (tensor<1x2x4xf64>, tensor<1x2x4x4xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
