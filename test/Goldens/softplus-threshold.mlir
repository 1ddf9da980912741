// RUN: %python %S/Inputs/check.py remat-run %s

// The second derivative of a softplus is 0 at its threshold.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 6 = -20 0 4.98999977 5 5.01000023 20
// cotangent0: f32 6 = -0.765625 -0.8125 -0.328125 -0.59375 -0.671875 -0.921875
// tangent0: f32 6 = -0.5625 0.328125 0.40625 -0.875 1.25 0.609375
// result0: f32 6 = 2.12417713e-18 0.34657359 4.99002293 5.0000227 5.01000023 20
// vjp0: f32 6 = -3.25264623e-18 -0.40625 -0.328109803 -0.593723045 -0.671875 -0.921875
// jvp0: f32 6 = -2.38969927e-18 0.1640625 0.406231185 -0.874960277 1.25 0.609375
// hvp0: f32 6 = 3.65922701e-18 -0.133300781 -1.23470649e-05 0 -0 -0

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant 1.000000e+01 : f64
    %cst_0 = arith.constant 2.000000e+00 : f32
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = arith.mulf %in, %cst_0 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = math.exp %in : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%2 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = math.log1p %in : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%3 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = arith.divf %in, %cst_0 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %5 = tensor.empty() : tensor<6xi1>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%5 : tensor<6xi1>) {
    ^bb0(%in: f32, %out: i1):
      %8 = arith.extf %in : f32 to f64
      %9 = arith.cmpf ogt, %8, %cst : f64
      linalg.yield %9 : i1
    } -> tensor<6xi1>
    %7 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]} ins(%6, %arg0, %4 : tensor<6xi1>, tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32):
      %8 = arith.select %in, %in_1, %in_2 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    return %7 : tensor<6xf32>
  }
}
