// RUN: %python %S/Inputs/check.py remat-run %s

// The exponent of a power of 0 has no second derivative.
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 6 = 1 0 -1 2 0 -0
// arg1: f32 6 = 1 0 -1 -2 2 0
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// tangent1: f32 6 = -0.195509583 -0.965635955 0.422415316 0.267316997 -0.421195149 -0.510699987
// result0: f32 6 = 1 1 -1 0.25 0 1
// vjp0: f32 6 = 0.661352158 0 -0.0616772585 -0.155329332 -0 0
// vjp1: f32 6 = 0 0 nan 0.107666088 -0 -0
// jvp0: f32 6 = -1.5227685 0 nan 0.187085699 -0 0
// hvp0: f32 6 = -0.129300684 nan nan -0.139207807 nan nan
// hvp1: f32 6 = -1.00708623 nan nan 0.0368418361 nan nan

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>, %arg1: tensor<6xf32>) -> tensor<6xf32> {
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %2 = math.powf %in, %in_0 : f32
      linalg.yield %2 : f32
    } -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
