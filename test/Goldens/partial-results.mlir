// RUN: %python %S/Inputs/check.py remat-run %s

// What the map of a result does not select is that of the init: beside a
// diagonal, which is overwritten or added to, beside a column of sums, and
// between every second element.
// wrt: 0,1,2
// arg0: f32 2 = 5 6
// arg1: f32 2x2 = 10 20 30 40
// arg2: f32 3 = 1 2 3
// cotangent0: f32 2x2 = 1 2 3 4
// cotangent1: f32 2x2 = 1 1 1 1
// cotangent2: f32 2x2 = 1 2 3 4
// cotangent3: f32 3 = 1 1 1
// result0: f32 2x2 = 5 20 30 6
// result1: f32 2x2 = 15 20 30 46
// result2: f32 2x2 = 10 55 30 116
// result3: f32 3 = 5 2 6
// vjp0: f32 2 = 5 10
// vjp1: f32 2x2 = 4 7 11 9
// vjp2: f32 3 = 0 1 0

#vector = affine_map<(d0) -> (d0)>
#diagonal = affine_map<(d0) -> (d0, d0)>
#matrix = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d0, 1)>
func.func @main(%x: tensor<2xf32>, %m: tensor<2x2xf32>, %v: tensor<3xf32>)
    -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>) {
  %0 = linalg.generic {indexing_maps = [#vector, #diagonal], iterator_types = ["parallel"]}
      ins(%x : tensor<2xf32>) outs(%m : tensor<2x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x2xf32>
  %1 = linalg.generic {indexing_maps = [#vector, #diagonal], iterator_types = ["parallel"]}
      ins(%x : tensor<2xf32>) outs(%m : tensor<2x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<2x2xf32>
  %2 = linalg.generic {indexing_maps = [#matrix, #column], iterator_types = ["parallel", "reduction"]}
      ins(%1 : tensor<2x2xf32>) outs(%m : tensor<2x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<2x2xf32>
  %3 = linalg.generic {indexing_maps = [#vector, affine_map<(d0) -> (d0 * 2)>], iterator_types = ["parallel"]}
      ins(%x : tensor<2xf32>) outs(%v : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>
}
