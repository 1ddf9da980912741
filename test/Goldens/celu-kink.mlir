// RUN: %python %S/Inputs/check.py remat-run %s

// The second derivative of a celu is 0 where its pieces meet.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 6 = -2 -1 -0 0 1 2
// cotangent0: f32 6 = 0.734375 1.21875 1.140625 -0.40625 -0.875 -0.953125
// tangent0: f32 6 = 0.90625 1.21875 -0.828125 -0.984375 -0.8125 -0.640625
// result0: f32 6 = -1.02087548 -0.69761982 -0 0 1 2
// vjp0: f32 6 = 0.157678514 0.564731424 1.14062504 -0.406250015 -0.875 -0.953125
// jvp0: f32 6 = 0.194581996 0.564731424 -0.82812503 -0.984375036 -0.8125 -0.640625
// hvp0: f32 6 = 0.109920122 0.529435729 -0 0 0 0

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant 1.300000e+00 : f64
    %cst_0 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = arith.truncf %cst : f64 to f32
      %8 = arith.divf %in, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = math.expm1 %in : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%2 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = arith.truncf %cst : f64 to f32
      %8 = arith.mulf %in, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %4 = tensor.empty() : tensor<6xi1>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%4 : tensor<6xi1>) {
    ^bb0(%in: f32, %out: i1):
      %7 = arith.cmpf ogt, %in, %cst_0 : f32
      linalg.yield %7 : i1
    } -> tensor<6xi1>
    %6 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]} ins(%5, %arg0, %3 : tensor<6xi1>, tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32):
      %7 = arith.select %in, %in_1, %in_2 : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    return %6 : tensor<6xf32>
  }
}
