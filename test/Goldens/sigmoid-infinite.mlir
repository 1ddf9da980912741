// RUN: %python %S/Inputs/check.py remat-run %s

// The slope of a sigmoid is 0 at both infinities.
// wrt: 0
// tolerance: 1e-06
// arg0: f32 4 = inf -inf nan 0.25
// cotangent0: f32 4 = 0.661352158 0.266924113 0.0616772585 0.621317327
// tangent0: f32 4 = -0.451905966 -0.16613023 -1.5227685 0.381683916
// result0: f32 4 = 1 0 nan 0.562176501
// vjp0: f32 4 = 0 0 nan 0.15292737
// jvp0: f32 4 = -0 -0 nan 0.0939454205
// hvp0: f32 4 = 0 -0 nan -0.00725847446

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %cst = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %2 = arith.negf %in : f32
      %3 = math.exp %2 : f32
      %4 = arith.addf %3, %cst : f32
      %5 = arith.divf %cst, %4 : f32
      linalg.yield %5 : f32
    } -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
