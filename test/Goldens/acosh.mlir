// RUN: %python %S/Inputs/check.py remat-run %s

// Where acosh is not defined its slope may be.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 6 = -1 -0.5 0 0.5 1 2
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// result0: f32 6 = nan nan nan nan 0 1.3169579
// vjp0: f32 6 = inf nan nan nan -inf -0.0959153329
// jvp0: f32 6 = -inf nan nan nan -inf -0.0336307557
// hvp0: f32 6 = -inf nan nan nan -inf -0.00372472345

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32> {
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %2 = math.acosh %in : f32
      linalg.yield %2 : f32
    } -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
