// RUN: %python %S/Inputs/check.py remat-run %s

// The second derivative of a norm by elements that are 0.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 3x3 = 1 2 2 3 3 3 0 -1 0
// cotangent0: f32 = 0.661352158
// tangent0: f32 3x3 = 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023 -1.5227685 0.381683916 -1.02760863 -0.563052773
// result0: f32 = 6.08276253
// vjp0: f32 3x3 = 0.108725625 0.21745125 0.21745125 0.326176875 0.326176875 0.326176875 0 -0.108725625 0
// jvp0: f32 = -0.618451262
// hvp0: f32 3x3 = 0.0400759255 0.0288147675 0.0896619837 -0.0159704551 0.0151006904 -0.132400653 0.0414988223 -0.122781825 -0.0612182647

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
#map2 = affine_map<() -> ()>
module {
  func.func @main(%arg0: tensor<3x3xf32>) -> tensor<f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 2.000000e+00 : f32
    %cst_1 = arith.constant 5.000000e-01 : f32
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<f32>) -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%arg0 : tensor<3x3xf32>) outs(%1 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = math.absf %in : f32
      %5 = math.powf %4, %cst_0 : f32
      %6 = arith.addf %5, %out : f32
      linalg.yield %6 : f32
    } -> tensor<f32>
    %3 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%2 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = math.powf %in, %cst_1 : f32
      linalg.yield %4 : f32
    } -> tensor<f32>
    return %3 : tensor<f32>
  }
}
