// RUN: %python %S/Inputs/check.py remat-run %s

// The slope of a logit at 0 and 1, and outside.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 6 = -1 -0.5 0 0.5 1 2
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// result0: f32 6 = nan nan -inf 0 inf nan
// vjp0: f32 6 = nan nan inf 2.48526931 -inf nan
// jvp0: f32 6 = nan nan -inf -2.25221109 -inf nan
// hvp0: f32 6 = -0 -0 nan 0 nan -0

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant dense<-1.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<2.000000e+00> : tensor<f32>
    %cst_1 = arith.constant 2.000000e+00 : f64
    %cst_2 = arith.constant -1.000000e+00 : f64
    %cst_3 = arith.constant dense<1> : tensor<i64>
    %0 = tensor.empty() : tensor<6xi1>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xi1>) {
    ^bb0(%in: f32, %out: i1):
      %9 = arith.extf %in : f32 to f64
      %10 = arith.cmpf olt, %9, %cst_2 : f64
      linalg.yield %10 : i1
    } -> tensor<6xi1>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xi1>) {
    ^bb0(%in: f32, %out: i1):
      %9 = arith.extf %in : f32 to f64
      %10 = arith.cmpf ogt, %9, %cst_1 : f64
      linalg.yield %10 : i1
    } -> tensor<6xi1>
    %3 = tensor.empty() : tensor<6xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map, #map], iterator_types = ["parallel"]} ins(%2, %cst_0, %arg0 : tensor<6xi1>, tensor<f32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) {
    ^bb0(%in: i1, %in_4: f32, %in_5: f32, %out: f32):
      %9 = arith.select %in, %in_4, %in_5 : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map, #map], iterator_types = ["parallel"]} ins(%1, %cst, %4 : tensor<6xi1>, tensor<f32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) {
    ^bb0(%in: i1, %in_4: f32, %in_5: f32, %out: f32):
      %9 = arith.select %in, %in_4, %in_5 : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map, #map], iterator_types = ["parallel"]} ins(%cst_3, %5 : tensor<i64>, tensor<6xf32>) outs(%3 : tensor<6xf32>) {
    ^bb0(%in: i64, %in_4: f32, %out: f32):
      %9 = arith.sitofp %in : i64 to f32
      %10 = arith.subf %9, %in_4 : f32
      linalg.yield %10 : f32
    } -> tensor<6xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%5, %6 : tensor<6xf32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %9 = arith.divf %in, %in_4 : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%7 : tensor<6xf32>) outs(%3 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = math.log %in : f32
      linalg.yield %9 : f32
    } -> tensor<6xf32>
    return %8 : tensor<6xf32>
  }
}
