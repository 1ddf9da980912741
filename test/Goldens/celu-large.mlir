// RUN: %python %S/Inputs/check.py remat-run %s

// The second derivative of a celu is 0 where the exponential, which is not
// taken there, is infinite.
// wrt: 0
// arg0: f32 5 = 100 1 -1 300 0
// cotangent0: f32 5 = 1 1 1 1 1
// tangent0: f32 5 = 1 1 1 1 1
// result0: f32 5 = 100 1 -0.632120559 300 0
// vjp0: f32 5 = 1 1 0.367879441 1 1
// hvp0: f32 5 = 0 0 0.367879441 0 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<5xf32>) -> tensor<5xf32> {
  %empty = tensor.empty() : tensor<5xf32>
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<5xf32>) outs(%empty : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    %positive = arith.cmpf ogt, %x, %zero : f32
    %piece = math.expm1 %x : f32
    %y = arith.select %positive, %x, %piece : f32
    linalg.yield %y : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
