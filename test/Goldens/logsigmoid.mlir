// RUN: %python %S/Inputs/check.py remat-run %s

// A logsigmoid is smooth at 0, though its parts are not.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 6 = -2 -1 -0 0 1 2
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// result0: f32 6 = -2.12692801 -1.31326169 -0.693147181 -0.693147181 -0.313261688 -0.126928011
// vjp0: f32 6 = 0.582517048 0.195137163 0.0308386292 0.310658664 -0.121536233 -0.0198032088
// jvp0: f32 6 = -1.34125004 0.279033301 -0.513804317 -0.281526387 -0.239973884 -0.00694359138
// hvp0: f32 6 = 0.105737594 -0.0200309497 0.0158450208 0.087458611 -0.079280108 -0.00101603504

#map = affine_map<(d0) -> ()>
#map1 = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel"]} ins(%cst, %arg0 : tensor<f32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %7 = arith.cmpf olt, %in, %in_0 : f32
      %8 = arith.select %7, %in, %in_0 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = math.absf %in : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%2 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = arith.negf %in : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%3 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = math.exp %in : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%4 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = math.log1p %in : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%1, %5 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %7 = arith.subf %in, %in_0 : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    return %6 : tensor<6xf32>
  }
}
