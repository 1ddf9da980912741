// RUN: %python %S/Inputs/check.py remat-run %s

// Where results of one loop are written over operands, all are read before (reverse over reverse).
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 5 = -8.47837353 -1.76582587 -4.32280445 -2.40045595 -7.9505868
// arg1: f32 = 3.61160517
// cotangent0: f32 5 = -0.546875 0.390625 0.96875 0.8125 0.9375
// tangent0: f32 5 = -1.203125 0.40625 -0.671875 1.1875 -0.96875
// tangent1: f32 = -0.453125
// result0: f32 5 = -0.425978539 -2.04527821 -0.835477341 -1.50454965 -0.454256429
// vjp0: f32 5 = 0.027476616 -0.452443706 -0.187232313 -0.509255998 -0.0535640215
// vjp1: f32 = -0.837206814
// jvp0: f32 5 = 0.113893358 -0.21393348 0.234676666 -0.555531007 0.112342138
// hvp0: f32 5 = -0.0112454627 -0.151415282 0.0816922751 -0.439962433 0.0197734965
// hvp1: f32 = -0.178291278

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<5xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %3 = arith.cmpf one, %in, %cst : f32
      cf.assert %3, "unimplemented: tensor with zero element"
      %4 = arith.divf %cst_0, %in : f32
      linalg.yield %4 : f32
    } -> tensor<5xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel"]} ins(%1, %arg1 : tensor<5xf32>, tensor<f32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %3 = arith.mulf %in, %in_1 : f32
      linalg.yield %3 : f32
    } -> tensor<5xf32>
    return %2 : tensor<5xf32>
  }
}
