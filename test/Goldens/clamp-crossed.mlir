// RUN: %python %S/Inputs/check.py remat-run %s

// A clamp whose lower bound is above the upper one is the upper one.
// wrt: 0,1,2
// arg0: f32 9 = 1 2 5 4 3 3.5 5 2 4
// arg1: f32 9 = 4 4 4 4 3 3 3 3 3
// arg2: f32 9 = 3 3 3 4 3 4 3 3 3
// cotangent0: f32 9 = 1 1 1 1 1 1 1 1 1
// result0: f32 9 = 3 3 3 4 3 3.5 3 3 3
// vjp0: f32 9 = 0 0 0 1 1 1 0 0 0
// vjp1: f32 9 = 0 0 0 0 0 0 0 1 0
// vjp2: f32 9 = 1 1 1 0 0 0 1 0 1

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<9xf32>, %arg1: tensor<9xf32>, %arg2: tensor<9xf32>) -> tensor<9xf32> {
  %empty = tensor.empty() : tensor<9xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]}
      ins(%arg0, %arg1, %arg2 : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) outs(%empty : tensor<9xf32>) {
  ^bb0(%x: f32, %low: f32, %high: f32, %out: f32):
    %y = math.clampf %x to [%low, %high] : f32
    linalg.yield %y : f32
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
