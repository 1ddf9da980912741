// RUN: %python %S/Inputs/check.py remat-run %s

// At its bounds a relu6 has slope 0.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 8 = -3 3 -0.5 0.5 6 21 -20 0
// cotangent0: f32 8 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023 -1.5227685 0.381683916
// tangent0: f32 8 = -1.02760863 -0.563052773 -0.892290533 -0.0582501777 -0.195509583 -0.965635955 0.422415316 0.267316997
// result0: f32 8 = 0 3 0 0.5 6 6 0 0
// vjp0: f32 8 = 0 0.266924113 0 0.621317327 0 0 0 0
// jvp0: f32 8 = 0 -0.563052773 0 -0.0582501777 0 0 0 0
// hvp0: f32 8 = 0 0 0 0 0 0 0 0

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %cst = arith.constant dense<6.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<8xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel"]} ins(%arg0, %cst_0 : tensor<8xf32>, tensor<f32>) outs(%0 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %3 = arith.cmpf ogt, %in, %in_1 : f32
      %4 = arith.select %3, %in, %in_1 : f32
      linalg.yield %4 : f32
    } -> tensor<8xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map, #map], iterator_types = ["parallel"]} ins(%cst, %1 : tensor<f32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %3 = arith.cmpf olt, %in, %in_1 : f32
      %4 = arith.select %3, %in, %in_1 : f32
      linalg.yield %4 : f32
    } -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
