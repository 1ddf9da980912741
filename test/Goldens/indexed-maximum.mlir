// RUN: %python %S/Inputs/check.py remat-run %s

// The program uses the index of a maximum: the derivative belongs to that element.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 3x3 = 1 2 2 3 3 3 0 -1 0
// cotangent0: f32 3 = 0.661352158 0.266924113 0.0616772585
// tangent0: f32 3x3 = 0.621317327 -0.451905966 -0.16613023 -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// result0: f32 3 = 2 0 0
// vjp0: f32 3x3 = 0 0.661352158 0 0 0 0 0 0 0
// jvp0: f32 3 = -0.451905966 -0 -0

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<3x3xf32>) -> tensor<3xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<3xi64>
    %1 = linalg.fill ins(%c0_i64 : i64) outs(%0 : tensor<3xi64>) -> tensor<3xi64>
    %2 = tensor.empty() : tensor<3xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
    %4:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<3x3xf32>) outs(%3, %1 : tensor<3xf32>, tensor<3xi64>) {
    ^bb0(%in: f32, %out: f32, %out_0: i64):
      %6 = linalg.index 1 : index
      %7 = arith.index_cast %6 : index to i64
      %8 = arith.maximumf %in, %out : f32
      %9 = arith.cmpf ogt, %in, %out : f32
      %10 = arith.select %9, %7, %out_0 : i64
      linalg.yield %8, %10 : f32, i64
    } -> (tensor<3xf32>, tensor<3xi64>)
    %5 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel"]} ins(%4#0, %4#1 : tensor<3xf32>, tensor<3xi64>) outs(%2 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_0: i64, %out: f32):
      %6 = arith.sitofp %in_0 : i64 to f32
      %7 = arith.mulf %in, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<3xf32>
    return %5 : tensor<3xf32>
  }
}
