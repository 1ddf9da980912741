// RUN: %python %S/Inputs/check.py remat-run %s

// At the origin atan2 has a gradient, but no second derivative.
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 2 = 0 1
// arg1: f32 2 = 0 1
// cotangent0: f32 2 = -1.0625 0.46875
// tangent0: f32 2 = 0.59375 -0.328125
// tangent1: f32 2 = 0.671875 -0.28125
// result0: f32 2 = 0 0.785398163
// vjp0: f32 2 = -0 0.234375
// vjp1: f32 2 = 0 -0.234375
// jvp0: f32 2 = nan -0.0234375
// hvp0: f32 2 = nan 0.0769042969
// hvp1: f32 2 = nan -0.0659179688

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %0 = tensor.empty() : tensor<2xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<2xf32>, tensor<2xf32>) outs(%0 : tensor<2xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %2 = math.atan2 %in, %in_0 : f32
      linalg.yield %2 : f32
    } -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
