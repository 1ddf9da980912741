// RUN: %python %S/Inputs/check.py remat-run %s

// The derivative of sin(x) / x at 0 is 0.
// wrt: 0
// tolerance: 2.19e-06
// arg0: f32 6 = -1 -0.5 0 0.5 1 2
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// result0: f32 6 = 3.89817183e-17 0.636619772 1 0.636619772 3.89817183e-17 -3.89817183e-17
// vjp0: f32 6 = 0.661352158 0.339858336 0 -0.791085791 0.451905966 -0.0830651149
// jvp0: f32 6 = -1.5227685 0.485975055 0 0.716901057 0.892290533 -0.0291250888
// hvp0: f32 6 = -2.01417246 -0.121261102 nan 0.416382446 0.80646283 -0.0048385577

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = arith.constant 3.1415926535897931 : f64
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = arith.truncf %cst_0 : f64 to f32
      %8 = arith.mulf %in, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<6xf32>
    %2 = tensor.empty() : tensor<6xi1>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%2 : tensor<6xi1>) {
    ^bb0(%in: f32, %out: i1):
      %7 = arith.cmpf oeq, %in, %cst_1 : f32
      linalg.yield %7 : i1
    } -> tensor<6xi1>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = math.sin %in : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%4, %1 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %7 = arith.divf %in, %in_2 : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map1, #map, #map], iterator_types = ["parallel"]} ins(%3, %cst, %5 : tensor<6xi1>, tensor<f32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: i1, %in_2: f32, %in_3: f32, %out: f32):
      %7 = arith.select %in, %in_2, %in_3 : f32
      linalg.yield %7 : f32
    } -> tensor<6xf32>
    return %6 : tensor<6xf32>
  }
}
