// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 5x4: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776
// arg 1 f8 4x6: -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -1.009618183538736 -0.20917557487171307 -0.15922500991447772 0.5408455846858077 0.2146591225063409 0.3553727090399214 -0.6538286094183394 -0.12961363369276946 0.7839754700613295 1.4934311452207607 -1.2590655321041202 1.5139237747390626 1.3458754237823045 0.7813114007004275
// arg 2 f8 6x4x4: 0.2644556303293035 -0.3139228145364278 1.4580206835369587 1.9602583164499647 1.801634869866125 1.31510376473437 0.357380410658956 -1.2083186322821715 -0.004454133120083229 0.6564749350763358 -1.2883614637495544 0.39512206018200824 0.42986369482223 0.6960427239628685 -1.184117966757189 -0.6617025720390349 -0.43643524714322124 -1.169801907772864 1.739367877130134 -0.4959107284421519 0.3289696294602021 -0.258572545473924 1.5834728788021222 1.3203609870818391 0.6333526228249152 -2.2035098806466507 0.05202897425988651 0.6836861907765345 1.0039615758421696 -0.6179070447076008 1.8220113633283233 -1.3204309700132935 -0.6615280218152191 0.9350499881140221 0.049054613825311656 2.002392583645255 0.18851919251246557 -0.6331940901922267 -0.37756350523280824 -1.0911461176191954 -1.277680166386608 0.6304114907682319 0.5811658124128057 1.294558819441117 -0.7546057912599311 1.689107452443673 -0.2873877078086663 1.5744082788445868 -0.4327858471825968 -0.735483292342275 0.24978537155866684 1.0314530848694723 0.16100957671534466 -0.5855288241233366 -1.341219714076669 -1.401520214917428 0.5026828498748657 0.989713033285805 -0.1642945926252907 -1.0743648582284346 0.8730421526217066 -1.2803939447145731 -0.7130680950592722 0.6210178535400985 -2.2501411735745918 0.38636959756630584 -0.5816408364095031 0.10927969747781388 -0.07570152622082311 0.20211439504395987 0.6941719367070082 -0.7583697508984092 1.4209820223119163 0.726093788947765 0.843732662303268 1.1648639811110282 0.7875882217058694 0.844078680578592 0.07559361074288512 -1.4267738509897323 -0.13504510003701392 -0.7695146401767057 -1.4227417685154136 0.25845279091298756 -0.5685494541476426 -1.0298044380114637 -1.0430010800715654 0.26841707970891465 0.35867194917034445 1.3224574697668332 -0.013914668524093734 1.0418397592128221 1.4022648267725224 1.1501656361496921 -2.3653039062769743 1.228683719203421
// cotangent 0 f8 : -0.7090529236269365
// result 0 f8 : 9.291610216124381
// gradient 0 f8 5x4: -0.84668493042557 -0.0696897761300761 -0.8043163175030918 -1.1356827913138936 0.33691107874471893 -0.8702643081918378 -0.31024004244719083 -0.6302260036372096 0.23906206315723494 0.7904439953911646 0.20574921421181241 0.4460946252315651 0.10078877163703567 -0.16490091547969193 0.2347276285755362 -0.22612079259661044 -0.36917902386484136 -0.1086628579208575 -0.6156140593688305 -0.898857783600152
// gradient 1 f8 4x6: 0.3538760089473833 0.011056726211584524 -0.040628507235802774 -0.002375424939512775 -0.3147971866969606 -0.007131616286692032 0.5681205442128211 0.16795135613531334 -0.00535189059829299 -0.16349532140496756 -0.5637687485788987 -0.0034559397659754704 0.3002611046264748 -0.07441254539742993 -0.019627295351794912 0.060995219248791796 -0.2740563885070206 0.006839905380978732 -0.00505833126478285 -0.12726588108196912 -0.01102132609250175 0.11357695502308132 0.021953480179757158 0.007815103236415228
// gradient 2 f8 6x4x4: -0.18219653698365615 -0.09939957130250317 -0.30847485995948015 -0.008408143533697992 -0.33161959431623417 -0.17750483715225218 -0.344083301454612 -0.01511685389371728 -0.16218699578230905 -0.08778224409685624 -0.22997475940017137 -0.007446346301458199 0.011577045295097232 0.005567286382657442 -0.028066941285437318 0.000493264657523219 0.059306317445498996 -0.1884147095646669 -0.1291916703319754 -0.19203771322148477 0.06357165338517168 -0.059000577189212665 0.06674848409251406 -0.04169909243910827 -0.2765552913169342 0.5336202452484438 0.16161825358128998 0.31198026629108044 -0.20322189815706357 0.458094877226831 0.19081759510824703 0.3830105916595494 0.02153039529357316 -0.006618463109546957 -1.1327573787473084 -1.2096068517151304e-05 0.002026068240812025 -0.0006228152212905177 -0.10659552313516847 -1.1382726571955676e-06 0.011537462423100876 -0.0035466264499041038 -0.6070090917322113 -6.481903099361342e-06 0.006780987924683931 -0.002084481859894166 -0.356761406474268 -3.8096511203134516e-06 0.10319968124045514 -0.3217505970398138 -0.2274909892606794 -0.2876930174733777 0.04308324212360472 0.010985641230994478 0.12734364082223196 -0.000511533206771761 -0.28288285360342963 0.7258231832234631 0.4341939534498563 0.4896588794529618 -0.25376340607296544 0.6625306064039433 0.37834509863047366 0.5472484206740981 -0.174144575665446 -0.09311599230723935 -0.17446607798056424 -0.007933013947603021 -0.31313805803763567 -0.16743651584849195 -0.3137161674058203 -0.014264748542671905 -0.15423395231476575 -0.0824696805075767 -0.15451869602584348 -0.007026001758777448 0.010226424330070772 0.005468121218307812 0.010245304154980253 0.00046585641002343047 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<5x4xf64>, tensor<4x6xf64>, tensor<6x4x4xf64>) -> tensor<f64>, res_attrs = [{jax.result_info = "result[0]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<5x4xf64>, %arg2: tensor<4x6xf64>, %arg3: tensor<6x4x4xf64>):
    %6 = "stablehlo.dot_general"(%arg1, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<5x4xf64>, tensor<4x6xf64>) -> tensor<5x6xf64>
    %7:2 = "chlo.top_k"(%6) <{k = 2 : i64}> : (tensor<5x6xf64>) -> (tensor<5x2xf64>, tensor<5x2xi32>)
    %8 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %9 = "stablehlo.reduce"(%7#0, %8) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg18: tensor<f64>, %arg19: tensor<f64>):
      %74 = "stablehlo.maximum"(%arg18, %arg19) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%74) : (tensor<f64>) -> ()
    }) : (tensor<5x2xf64>, tensor<f64>) -> tensor<5xf64>
    %10 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5xf64>
    %12 = "stablehlo.maximum"(%11, %9) : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf64>) -> tensor<5x1xf64>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf64>) -> tensor<5x2xf64>
    %15 = "stablehlo.subtract"(%7#0, %14) : (tensor<5x2xf64>, tensor<5x2xf64>) -> tensor<5x2xf64>
    %16 = "stablehlo.exponential"(%15) : (tensor<5x2xf64>) -> tensor<5x2xf64>
    %17 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %18 = "stablehlo.reduce"(%16, %17) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg16: tensor<f64>, %arg17: tensor<f64>):
      %73 = "stablehlo.add"(%arg16, %arg17) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%73) : (tensor<f64>) -> ()
    }) : (tensor<5x2xf64>, tensor<f64>) -> tensor<5xf64>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf64>) -> tensor<5x1xf64>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf64>) -> tensor<5x2xf64>
    %21 = "stablehlo.divide"(%16, %20) : (tensor<5x2xf64>, tensor<5x2xf64>) -> tensor<5x2xf64>
    %22 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5x2xi32>
    %24 = "stablehlo.compare"(%7#1, %23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi1>
    %25 = "stablehlo.constant"() <{value = dense<6> : tensor<i32>}> : () -> tensor<i32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5x2xi32>
    %27 = "stablehlo.add"(%7#1, %26) : (tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %28 = "stablehlo.select"(%24, %27, %7#1) : (tensor<5x2xi1>, tensor<5x2xi32>, tensor<5x2xi32>) -> tensor<5x2xi32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x2xi32>) -> tensor<5x2x1xi32>
    %30 = "stablehlo.gather"(%arg3, %29) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4, 4>}> : (tensor<6x4x4xf64>, tensor<5x2x1xi32>) -> tensor<5x2x4x4xf64>
    %31 = "stablehlo.dot_general"(%arg1, %21) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<5x4xf64>, tensor<5x2xf64>) -> tensor<5x4x2xf64>
    %32 = "stablehlo.dot_general"(%30, %31) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2, 1], rhs_contracting_dimensions = [1, 2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<5x2x4x4xf64>, tensor<5x4x2xf64>) -> tensor<5x4xf64>
    %33 = "func.call"(%7#1) <{callee = @_one_hot}> : (tensor<5x2xi32>) -> tensor<5x2x6xf64>
    %34 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %35 = "stablehlo.reduce"(%33, %34) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg14: tensor<f64>, %arg15: tensor<f64>):
      %72 = "stablehlo.add"(%arg14, %arg15) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%72) : (tensor<f64>) -> ()
    }) : (tensor<5x2x6xf64>, tensor<f64>) -> tensor<6xf64>
    %36 = "stablehlo.constant"() <{value = dense<1.000000e+01> : tensor<f64>}> : () -> tensor<f64>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %38 = "stablehlo.divide"(%35, %37) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %39 = "stablehlo.tanh"(%32) : (tensor<5x4xf64>) -> tensor<5x4xf64>
    %40 = "stablehlo.multiply"(%39, %39) : (tensor<5x4xf64>, tensor<5x4xf64>) -> tensor<5x4xf64>
    %41 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %42 = "stablehlo.reduce"(%40, %41) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg12: tensor<f64>, %arg13: tensor<f64>):
      %71 = "stablehlo.add"(%arg12, %arg13) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%71) : (tensor<f64>) -> ()
    }) : (tensor<5x4xf64>, tensor<f64>) -> tensor<f64>
    %43 = "stablehlo.dot_general"(%arg1, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<5x4xf64>, tensor<4x6xf64>) -> tensor<5x6xf64>
    %44 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %45 = "stablehlo.reduce"(%43, %44) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg10: tensor<f64>, %arg11: tensor<f64>):
      %70 = "stablehlo.maximum"(%arg10, %arg11) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%70) : (tensor<f64>) -> ()
    }) : (tensor<5x6xf64>, tensor<f64>) -> tensor<5xf64>
    %46 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5xf64>
    %48 = "stablehlo.maximum"(%47, %45) : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf64>) -> tensor<5x1xf64>
    %50 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf64>) -> tensor<5x6xf64>
    %51 = "stablehlo.subtract"(%43, %50) : (tensor<5x6xf64>, tensor<5x6xf64>) -> tensor<5x6xf64>
    %52 = "stablehlo.exponential"(%51) : (tensor<5x6xf64>) -> tensor<5x6xf64>
    %53 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %54 = "stablehlo.reduce"(%52, %53) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg8: tensor<f64>, %arg9: tensor<f64>):
      %69 = "stablehlo.add"(%arg8, %arg9) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%69) : (tensor<f64>) -> ()
    }) : (tensor<5x6xf64>, tensor<f64>) -> tensor<5xf64>
    %55 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xf64>) -> tensor<5x1xf64>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf64>) -> tensor<5x6xf64>
    %57 = "stablehlo.divide"(%52, %56) : (tensor<5x6xf64>, tensor<5x6xf64>) -> tensor<5x6xf64>
    %58 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %59 = "stablehlo.reduce"(%57, %58) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg6: tensor<f64>, %arg7: tensor<f64>):
      %68 = "stablehlo.add"(%arg6, %arg7) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%68) : (tensor<f64>) -> ()
    }) : (tensor<5x6xf64>, tensor<f64>) -> tensor<6xf64>
    %60 = "stablehlo.constant"() <{value = dense<5.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<6xf64>
    %62 = "stablehlo.divide"(%59, %61) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %63 = "stablehlo.multiply"(%38, %62) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %64 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %65 = "stablehlo.reduce"(%63, %64) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg4: tensor<f64>, %arg5: tensor<f64>):
      %67 = "stablehlo.add"(%arg4, %arg5) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%67) : (tensor<f64>) -> ()
    }) : (tensor<6xf64>, tensor<f64>) -> tensor<f64>
    %66 = "stablehlo.add"(%42, %65) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "func.return"(%66) : (tensor<f64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<5x2xi32>) -> tensor<5x2x6xf64>, res_attrs = [{}], sym_name = "_one_hot", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<5x2xi32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x2xi32>) -> tensor<5x2x1xi32>
    %1 = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<1x1x6xi32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<5x2x1xi32>) -> tensor<5x2x6xi32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x6xi32>) -> tensor<5x2x6xi32>
    %4 = "stablehlo.compare"(%2, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<5x2x6xi32>, tensor<5x2x6xi32>) -> tensor<5x2x6xi1>
    %5 = "stablehlo.convert"(%4) : (tensor<5x2x6xi1>) -> tensor<5x2x6xf64>
    "func.return"(%5) : (tensor<5x2x6xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
