// RUN: %python %S/Inputs/check.py remat-run %s

// A selu as the sum of its two parts: at 0 it has the slope of the negative one.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 6 = -2 -1 -0 0 1 2
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// result0: f32 6 = -1.52016647 -1.11133074 -0 0 1.05070099 2.10140197
// vjp0: f32 6 = 0.157357418 0.172638136 0.108434747 1.09233758 -0.474818044 -0.174553197
// jvp0: f32 6 = -0.362316682 0.246861173 -1.80663806 -0.98990271 -0.937530544 -0.0612035192
// hvp0: f32 6 = -0.23961892 0.0658931997 -0 -0 0 0

#map = affine_map<(d0) -> ()>
#map1 = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant 1.6732632423543772 : f64
    %cst_0 = arith.constant 1.0507009873554805 : f64
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel"]} ins(%cst_1, %arg0 : tensor<f32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %9 = arith.cmpf ogt, %in, %in_3 : f32
      %10 = arith.select %9, %in, %in_3 : f32
      linalg.yield %10 : f32
    } -> tensor<6xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.truncf %cst_0 : f64 to f32
      %10 = arith.mulf %in, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<6xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel"]} ins(%cst_1, %arg0 : tensor<f32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %9 = arith.cmpf olt, %in, %in_3 : f32
      %10 = arith.select %9, %in, %in_3 : f32
      linalg.yield %10 : f32
    } -> tensor<6xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%3 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = math.exp %in : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%4 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.subf %in, %cst_2 : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%5 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.truncf %cst_0 : f64 to f32
      %10 = arith.mulf %in, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<6xf32>
    %7 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%6 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.truncf %cst : f64 to f32
      %10 = arith.mulf %in, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<6xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%2, %7 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %9 = arith.addf %in, %in_3 : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    return %8 : tensor<6xf32>
  }
}
