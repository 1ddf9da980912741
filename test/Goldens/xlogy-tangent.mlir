// RUN: %python %S/Inputs/check.py remat-run %s

// x log(x) has no tangent at 0.
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 3 = -1 -2 -0.5
// arg1: f32 3 = 0 0.5 0.5
// cotangent0: f32 = 0.40625
// tangent0: f32 3 = -1.03125 -0.703125 -0.5
// tangent1: f32 3 = -0.953125 -0.796875 -0.65625
// result0: f32 = 0.556852819
// vjp0: f32 3 = -0 -0.203125 -0.203125
// vjp1: f32 3 = nan 0.937158958 0.327783958
// jvp0: f32 = nan
// hvp0: f32 3 = 0.387207031 0.323730469 0.266601562
// hvp1: f32 3 = nan -0.361816406 -0.330078125

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant dense<0x7FC00000> : tensor<f32>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<3xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg1, %arg0 : tensor<3xf32>, tensor<3xf32>) outs(%0 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %13 = arith.mulf %in, %in_2 : f32
      linalg.yield %13 : f32
    } -> tensor<3xf32>
    %2 = tensor.empty() : tensor<3xi1>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg1 : tensor<3xf32>) outs(%2 : tensor<3xi1>) {
    ^bb0(%in: f32, %out: i1):
      %13 = arith.cmpf oeq, %in, %cst : f32
      linalg.yield %13 : i1
    } -> tensor<3xi1>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg1 : tensor<3xf32>) outs(%0 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.log %in : f32
      linalg.yield %13 : f32
    } -> tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg1, %4 : tensor<3xf32>, tensor<3xf32>) outs(%0 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %13 = arith.mulf %in, %in_2 : f32
      linalg.yield %13 : f32
    } -> tensor<3xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map1, #map, #map], iterator_types = ["parallel"]} ins(%3, %cst_1, %5 : tensor<3xi1>, tensor<f32>, tensor<3xf32>) outs(%0 : tensor<3xf32>) {
    ^bb0(%in: i1, %in_2: f32, %in_3: f32, %out: f32):
      %13 = arith.select %in, %in_2, %in_3 : f32
      linalg.yield %13 : f32
    } -> tensor<3xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg1, %arg1 : tensor<3xf32>, tensor<3xf32>) outs(%2 : tensor<3xi1>) {
    ^bb0(%in: f32, %in_2: f32, %out: i1):
      %13 = arith.cmpf une, %in, %in_2 : f32
      linalg.yield %13 : i1
    } -> tensor<3xi1>
    %8 = linalg.generic {indexing_maps = [#map, #map1, #map, #map], iterator_types = ["parallel"]} ins(%7, %cst_0, %6 : tensor<3xi1>, tensor<f32>, tensor<3xf32>) outs(%0 : tensor<3xf32>) {
    ^bb0(%in: i1, %in_2: f32, %in_3: f32, %out: f32):
      %13 = arith.select %in, %in_2, %in_3 : f32
      linalg.yield %13 : f32
    } -> tensor<3xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%8, %1 : tensor<3xf32>, tensor<3xf32>) outs(%0 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %13 = arith.subf %in, %in_2 : f32
      linalg.yield %13 : f32
    } -> tensor<3xf32>
    %10 = tensor.empty() : tensor<f32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<f32>) -> tensor<f32>
    %12 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction"]} ins(%9 : tensor<3xf32>) outs(%11 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.addf %in, %out : f32
      linalg.yield %13 : f32
    } -> tensor<f32>
    return %12 : tensor<f32>
  }
}
