// RUN: %python %S/Inputs/check.py remat-run %s

// min(a, b) + log1p(exp(-|a - b|)) is no logaddexp: that takes the maximum.
// wrt: 0,1
// arg0: f32 3 = 1 2 3
// arg1: f32 3 = 2 -1 2.5
// cotangent0: f32 3 = 1 1 1
// result0: f32 3 = 1.31326175 -0.951412678 2.97407699
// vjp0: f32 3 = 1.26894140 -0.0474258736 -0.377540678
// vjp1: f32 3 = -0.268941432 1.04742587 1.37754071

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
  %empty = tensor.empty() : tensor<3xf32>
  %inf = arith.constant 0x7F800000 : f32
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%arg0, %arg1 : tensor<3xf32>, tensor<3xf32>) outs(%empty : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %smaller = arith.cmpf olt, %a, %b : f32
    %min = arith.select %smaller, %a, %b : f32
    %difference = arith.subf %a, %b : f32
    %distance = math.absf %difference : f32
    %neg = arith.negf %distance : f32
    %exp = math.exp %neg : f32
    %log = math.log1p %exp : f32
    %sum = arith.addf %min, %log : f32
    %abs = math.absf %min : f32
    %infinite = arith.cmpf oeq, %abs, %inf : f32
    %y = arith.select %infinite, %min, %sum : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
