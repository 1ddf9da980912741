// RUN: %python %S/Inputs/check.py remat-run %s

// Where the square of x underflows, the derivative of sin(x) / x is 0.
// wrt: 0
// arg0: f32 4 = 1e-25 0 1 1e-30
// cotangent0: f32 4 = 1 1 1 1
// tangent0: f32 4 = 1 1 1 1
// result0: f32 4 = 1 1 0.841470985 1
// vjp0: f32 4 = 0 0 -0.301168679 0
// jvp0: f32 4 = 0 0 -0.301168679 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%x: f32, %out: f32):
    %none = arith.cmpf oeq, %x, %zero : f32
    %sin = math.sin %x : f32
    %quotient = arith.divf %sin, %x : f32
    %y = arith.select %none, %one, %quotient : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
