// RUN: %python %S/Inputs/check.py remat-run %s

// The second derivative at 0 of the square of a magnitude, as an integer power, is 2.
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 3x4 = -1.01413274 -0.37203294 -0.751598895 -0.862284124 -0.327035606 0.52120012 1.26221061 -1.46800995 -0.103740998 0.5177176 -1.08446312 -2.09005809
// arg1: f32 3x4 = -1.01413274 -0.37203294 -0.751598895 -0.862284124 -0.327035606 0.52120012 1.26221061 -1.46800995 -0.103740998 0.5177176 -1.08446312 -2.09005809
// cotangent0: f32 = 0.661352158
// tangent0: f32 3x4 = 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023 -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777 -0.195509583
// tangent1: f32 3x4 = -0.965635955 0.422415316 0.267316997 -0.421195149 -0.510699987 -1.57266521 -0.123247758 3.5869894 -1.83129013 1.59870028 -1.27700698 0.325501531
// result0: f32 = 0
// vjp0: f32 3x4 = 0 0 0 0 0 0 0 0 0 0 0 0
// vjp1: f32 3x4 = 0 0 0 0 0 0 0 0 0 0 0 0
// jvp0: f32 = 0
// hvp0: f32 3x4 = 0.0679296884 -0.0198812411 0.0195099068 -0.00169255539 0.0189901627 0.00274994179 0.0278281376 -0.254322864 0.0698959591 -0.137285179 0.0671689536 -0.0287143187
// hvp1: f32 3x4 = -0.0679296884 0.0198812411 -0.0195099068 0.00169255539 -0.0189901627 -0.00274994179 -0.0278281376 0.254322864 -0.0698959591 0.137285179 -0.0671689536 0.0287143187

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
#map2 = affine_map<() -> ()>
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) -> tensor<f32> {
    %c2_i64 = arith.constant 2 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f64
    %cst_1 = arith.constant 5.000000e-01 : f32
    %cst_2 = arith.constant 1.200000e+01 : f32
    %0 = tensor.empty() : tensor<3x4xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x4xf32>, tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %13 = arith.subf %in, %in_3 : f32
      linalg.yield %13 : f32
    } -> tensor<3x4xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.absf %in : f32
      linalg.yield %13 : f32
    } -> tensor<3x4xf32>
    %3 = tensor.empty() : tensor<3x4xi1>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<3x4xf32>) outs(%3 : tensor<3x4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %13 = arith.extf %in : f32 to f64
      %14 = arith.cmpf olt, %13, %cst_0 : f64
      linalg.yield %14 : i1
    } -> tensor<3x4xi1>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %13 : f32
    } -> tensor<3x4xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.mulf %in, %cst_1 : f32
      linalg.yield %13 : f32
    } -> tensor<3x4xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.subf %in, %cst_1 : f32
      linalg.yield %13 : f32
    } -> tensor<3x4xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %6, %7 : tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
    ^bb0(%in: i1, %in_3: f32, %in_4: f32, %out: f32):
      %13 = arith.select %in, %in_3, %in_4 : f32
      linalg.yield %13 : f32
    } -> tensor<3x4xf32>
    %9 = tensor.empty() : tensor<f32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<f32>) -> tensor<f32>
    %11 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%8 : tensor<3x4xf32>) outs(%10 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.addf %in, %out : f32
      linalg.yield %13 : f32
    } -> tensor<f32>
    %12 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%11 : tensor<f32>) outs(%9 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.divf %in, %cst_2 : f32
      linalg.yield %13 : f32
    } -> tensor<f32>
    return %12 : tensor<f32>
  }
}
