
// Gradients, tangents and Hessian products of an MLP.
// wrt: 0,1,2,3
// tolerance: 2e-06
// arg0: f32 7x5 = -0.0033482078 0.239904866 -0.36807698 -0.329121947 -0.172246262 0.119923614 -0.00886072312 0.354590952 -0.0396875441 0.118338332 -0.1351538 -0.0879067108 -0.427244842 -0.29618156 -0.184351772 0.0165663883 0.176799268 0.268338352 -0.303184479 -0.1947449 0.162435636 0.371360779 -0.0920366347 0.334655195 -0.0720833912 0.0473215021 0.404941261 -0.414866805 -0.28153792 -0.113218941 -0.174323842 0.386392891 -0.289874762 -0.205867112 -0.312441498
// arg1: f32 7 = -0.418842793 -0.261056662 0.384423912 0.19955492 0.216752157 0.0235196613 -0.229279026
// arg2: f32 4x7 = 0.0639458001 -0.352903426 -0.27310437 -0.194852024 0.238472119 0.221608594 -0.167625368 -0.0136378603 0.241731212 0.375746995 0.150007367 0.0510603003 0.253419995 -0.222546369 0.0704314187 -0.293037921 -0.261961937 -0.195250228 0.171018735 0.152002349 -0.223888204 0.11418575 0.207491919 -0.0477056801 0.014431267 0.0875761509 0.234480307 0.362919241
// arg3: f32 4 = -0.291268319 -0.138512537 0.148543775 0.313162237
// cotangent0: f32 = 1
// tangent0: f32 7x5 = 0.141133621 0.217112824 -0.401246458 -0.647593081 -0.375090748 -0.655982852 -0.109416842 -1.21753263 -0.214414999 0.116459146 0.39844358 -0.0924208164 -0.185073629 -0.605140746 -0.311349243 -0.231861085 -0.30183506 -0.639382601 0.0464751162 0.684690475 1.3285116 0.492559701 -0.129820779 0.059168525 0.121979624 0.582300305 0.144288078 0.617881835 0.271414906 0.262765169 0.0960995257 -0.386078447 -0.950172663 0.0653387234 -0.352146983
// tangent1: f32 7 = 0.323997319 0.333519757 -0.355331212 0.138546884 0.613112986 0.563363612 0.189838693
// tangent2: f32 4x7 = -0.0938890353 0.957948804 0.345097661 -1.16085076 -0.59820509 0.09851408 -0.588665783 -0.0330720246 0.552362859 -0.697586 0.237559363 -0.406862915 0.438022375 -0.143543705 0.510820031 -0.255536884 -0.856863916 -0.25503239 -0.237446561 -0.316701889 -0.603151202 0.303719848 -0.273578405 -0.550239801 -0.360063761 0.00596525334 0.169886455 -0.131726161
// tangent3: f32 4 = 0.511202693 0.30939737 0.687855721 -0.477166057
// result0: f32 = 1.48300146
// vjp0: f32 7x5 = 0.0771914848 0.0216694017 0.025499615 -0.0209656117 -0.00511092609 -0.242401397 -0.117771792 0.0217077992 -0.13064571 0.145253542 -0.460314527 -0.149564412 -0.0917171912 0.0109883405 0.124873713 -0.122679156 -0.0329064367 -0.0142497034 -0.0135452827 0.0694649835 0.0656684454 0.0301703651 0.000970362457 0.0226002796 -0.027513601 -0.069192209 -0.00535780594 -0.0236325228 0.0239652978 0.0302555577 0.0814573847 0.0310240563 0.0613926705 -0.0819778585 0.0870798877
// vjp1: f32 7 = 0.0173028688 0.120314311 0.0167544725 0.0433688896 -0.0179458885 0.00771643139 0.122289708
// vjp2: f32 4x7 = 0.0540325723 -0.0858202681 -0.112221585 -0.189484444 0.221512954 0.0578515728 0.105471164 -0.0170287685 -0.130880458 0.149062773 -0.138651958 -0.191884114 -0.108202469 0.0420546873 0.0738338164 0.170607975 -0.0732849018 0.210425778 -0.0341481231 0.0385069729 -0.0178659098 -0.11083762 0.0460927508 0.0364437131 0.117710624 0.00451928274 0.0118439235 -0.129659942
// vjp3: f32 4 = -0.164063597 -0.0522240584 -0.0649128092 0.281200464
// jvp0: f32 = -0.507344972
// hvp0: f32 7x5 = 0.395428852 0.00857739473 0.195798692 -0.252164547 -0.0809407318 -1.61801119 -0.0977267001 -0.772700325 0.963768224 0.272429868 -0.611447081 0.180128495 -0.458875045 0.722734556 0.155111418 -0.411787392 -0.225361865 -0.00602654184 -0.15153811 0.102206112 -0.120068708 -0.0823544388 -0.00465117777 -0.0434478699 -0.00904272665 -0.473784458 -0.0541234187 -0.149306499 0.136901323 0.201002378 -0.686218135 -0.127678004 -0.261874082 0.267133658 0.093808162
// hvp1: f32 7 = 0.0738173916 -0.340615411 -0.171879628 0.0477861867 -0.0234296786 0.0539949882 -0.128492836
// hvp2: f32 4x7 = -0.235584429 0.215324751 -0.219815878 0.181913972 0.00465470266 -0.12035784 0.0596171096 -0.25337676 0.646289293 -0.329648831 0.352714868 -0.989756137 -0.555348293 0.0541502176 0.217715613 -0.570953267 0.501617936 -0.343353535 0.665017115 0.360471436 -0.152229899 0.271245576 -0.290660778 0.047846773 -0.191275305 0.320084319 0.315234696 0.0384625719
// hvp3: f32 4 = 0.10508228 0.115479573 0.119559611 -0.340121464

#map = affine_map<(d0, d1) -> (d1)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, 0)>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0) -> ()>
#map6 = affine_map<() -> ()>
module {
  func.func @main(%arg0: tensor<7x5xf32>, %arg1: tensor<7xf32>, %arg2: tensor<4x7xf32>, %arg3: tensor<4xf32>) -> tensor<f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %c4 = arith.constant 4 : index
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense_resource<torch_tensor_3_5_torch.float32> : tensor<3x5xf32>
    %c-100_i64 = arith.constant -100 : i64
    %cst_3 = arith.constant dense<0> : tensor<i64>
    %cst_4 = arith.constant dense_resource<torch_tensor_3_torch.int64> : tensor<3xi64>
    %0 = tensor.empty() : tensor<5x7xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<7x5xf32>) outs(%0 : tensor<5x7xf32>) permutation = [1, 0] 
    %1 = tensor.empty() : tensor<3x7xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<3x7xf32>) -> tensor<3x7xf32>
    %3 = linalg.matmul ins(%cst_2, %transposed : tensor<3x5xf32>, tensor<5x7xf32>) outs(%2 : tensor<3x7xf32>) -> tensor<3x7xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<7xf32>) outs(%1 : tensor<3x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x7xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%3, %4 : tensor<3x7xf32>, tensor<3x7xf32>) outs(%1 : tensor<3x7xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %39 = arith.addf %in, %in_7 : f32
      linalg.yield %39 : f32
    } -> tensor<3x7xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<3x7xf32>) outs(%1 : tensor<3x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = math.tanh %in : f32
      linalg.yield %39 : f32
    } -> tensor<3x7xf32>
    %7 = tensor.empty() : tensor<7x4xf32>
    %transposed_5 = linalg.transpose ins(%arg2 : tensor<4x7xf32>) outs(%7 : tensor<7x4xf32>) permutation = [1, 0] 
    %8 = tensor.empty() : tensor<3x4xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<3x4xf32>) -> tensor<3x4xf32>
    %10 = linalg.matmul ins(%6, %transposed_5 : tensor<3x7xf32>, tensor<7x4xf32>) outs(%9 : tensor<3x4xf32>) -> tensor<3x4xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<4xf32>) outs(%8 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x4xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%10, %11 : tensor<3x4xf32>, tensor<3x4xf32>) outs(%8 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %39 = arith.addf %in, %in_7 : f32
      linalg.yield %39 : f32
    } -> tensor<3x4xf32>
    %13 = tensor.empty() : tensor<3xi64>
    %14 = linalg.fill ins(%c0_i64 : i64) outs(%13 : tensor<3xi64>) -> tensor<3xi64>
    %15 = tensor.empty() : tensor<3xf32>
    %16 = linalg.fill ins(%cst_0 : f32) outs(%15 : tensor<3xf32>) -> tensor<3xf32>
    %17:2 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "reduction"]} ins(%12 : tensor<3x4xf32>) outs(%16, %14 : tensor<3xf32>, tensor<3xi64>) {
    ^bb0(%in: f32, %out: f32, %out_7: i64):
      %39 = linalg.index 1 : index
      %40 = arith.index_cast %39 : index to i64
      %41 = arith.maximumf %in, %out : f32
      %42 = arith.cmpf ogt, %in, %out : f32
      %43 = arith.select %42, %40, %out_7 : i64
      linalg.yield %41, %43 : f32, i64
    } -> (tensor<3xf32>, tensor<3xi64>)
    %expanded = tensor.expand_shape %17#0 [[0, 1]] output_shape [3, 1] : tensor<3xf32> into tensor<3x1xf32>
    %18 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%12, %expanded : tensor<3x4xf32>, tensor<3x1xf32>) outs(%8 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %39 = arith.subf %in, %in_7 : f32
      linalg.yield %39 : f32
    } -> tensor<3x4xf32>
    %19 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<3x4xf32>) outs(%8 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = math.exp %in : f32
      linalg.yield %39 : f32
    } -> tensor<3x4xf32>
    %20 = tensor.empty() : tensor<3x1xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<3x1xf32>) -> tensor<3x1xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map3], iterator_types = ["parallel", "reduction"]} ins(%19 : tensor<3x4xf32>) outs(%21 : tensor<3x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.addf %in, %out : f32
      linalg.yield %39 : f32
    } -> tensor<3x1xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<3x1xf32>) outs(%20 : tensor<3x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = math.log %in : f32
      linalg.yield %39 : f32
    } -> tensor<3x1xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%18, %23 : tensor<3x4xf32>, tensor<3x1xf32>) outs(%8 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %39 = arith.subf %in, %in_7 : f32
      linalg.yield %39 : f32
    } -> tensor<3x4xf32>
    %25 = tensor.empty() : tensor<3xi1>
    %26 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel"]} ins(%cst_4 : tensor<3xi64>) outs(%25 : tensor<3xi1>) {
    ^bb0(%in: i64, %out: i1):
      %39 = arith.cmpi ne, %in, %c-100_i64 : i64
      linalg.yield %39 : i1
    } -> tensor<3xi1>
    %27 = linalg.generic {indexing_maps = [#map4, #map4, #map5, #map4], iterator_types = ["parallel"]} ins(%26, %cst_4, %cst_3 : tensor<3xi1>, tensor<3xi64>, tensor<i64>) outs(%13 : tensor<3xi64>) {
    ^bb0(%in: i1, %in_7: i64, %in_8: i64, %out: i64):
      %39 = arith.select %in, %in_7, %in_8 : i64
      linalg.yield %39 : i64
    } -> tensor<3xi64>
    %expanded_6 = tensor.expand_shape %27 [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
    %28 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded_6 : tensor<3x1xi64>) outs(%21 : tensor<3x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %39 = linalg.index 0 : index
      %40 = arith.index_cast %in : i64 to index
      %41 = arith.cmpi slt, %40, %c4 : index
      cf.assert %41, "index must be smaller than dim size"
      %42 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %42, "index must be larger or equal to 0"
      %extracted = tensor.extract %24[%39, %40] : tensor<3x4xf32>
      linalg.yield %extracted : f32
    } -> tensor<3x1xf32>
    %collapsed = tensor.collapse_shape %28 [[0, 1]] : tensor<3x1xf32> into tensor<3xf32>
    %29 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel"]} ins(%collapsed : tensor<3xf32>) outs(%15 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.negf %in : f32
      linalg.yield %39 : f32
    } -> tensor<3xf32>
    %30 = linalg.generic {indexing_maps = [#map4, #map4, #map5, #map4], iterator_types = ["parallel"]} ins(%26, %29, %cst_1 : tensor<3xi1>, tensor<3xf32>, tensor<f32>) outs(%15 : tensor<3xf32>) {
    ^bb0(%in: i1, %in_7: f32, %in_8: f32, %out: f32):
      %39 = arith.select %in, %in_7, %in_8 : f32
      linalg.yield %39 : f32
    } -> tensor<3xf32>
    %31 = tensor.empty() : tensor<i64>
    %32 = linalg.fill ins(%c0_i64 : i64) outs(%31 : tensor<i64>) -> tensor<i64>
    %33 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["reduction"]} ins(%26 : tensor<3xi1>) outs(%32 : tensor<i64>) {
    ^bb0(%in: i1, %out: i64):
      %39 = arith.extui %in : i1 to i64
      %40 = arith.addi %39, %out : i64
      linalg.yield %40 : i64
    } -> tensor<i64>
    %34 = tensor.empty() : tensor<f32>
    %35 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = []} ins(%33 : tensor<i64>) outs(%34 : tensor<f32>) {
    ^bb0(%in: i64, %out: f32):
      %39 = arith.sitofp %in : i64 to f32
      linalg.yield %39 : f32
    } -> tensor<f32>
    %36 = linalg.fill ins(%cst : f32) outs(%34 : tensor<f32>) -> tensor<f32>
    %37 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["reduction"]} ins(%30 : tensor<3xf32>) outs(%36 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.addf %in, %out : f32
      linalg.yield %39 : f32
    } -> tensor<f32>
    %38 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = []} ins(%37, %35 : tensor<f32>, tensor<f32>) outs(%34 : tensor<f32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %39 = arith.divf %in, %in_7 : f32
      linalg.yield %39 : f32
    } -> tensor<f32>
    return %38 : tensor<f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_3_5_torch.float32: "0x04000000EA98E2BF5E6A5B3E92C809BFB986163FA18FCD3FED0FDB3EA7792DBF8566853FF6C2F9BFC054D63E10925440CC5B603F70049E3F590495BFE7DDC4BC",
      torch_tensor_3_torch.int64: "0x08000000020000000000000000000000000000000100000000000000"
    }
  }
#-}
