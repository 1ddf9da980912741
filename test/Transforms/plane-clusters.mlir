// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

// Two reductions of the planes of each channel, the second about what the first
// gives, read them together; a sum alone does not wait for anything, and what is
// made of the planes is another task.

#x = affine_map<(n, c, h, w) -> (n, c, h, w)>
#c = affine_map<(n, c, h, w) -> (c)>
#of = affine_map<(c) -> (c)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[S:.*]]:2 = remat.task {{[0-9]+}} @sum_div_sub_mul_sum_rows(%arg0) : {{.*}} -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: remat.task {{[0-9]+}} @sub_div(%arg0, %[[S]]#{{[01]}}, %[[S]]#{{[01]}}) : {{.*}} -> tensor<4x8x16x16xf32>
// CHECK: remat.task {{[0-9]+}} @sum(%arg1) : {{.*}} -> tensor<8xf32>
func.func @main(%x: tensor<4x8x16x16xf32>, %y: tensor<4x8x16x16xf32>) -> (tensor<4x8x16x16xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %number = arith.constant 1024.0 : f32
  %ec = tensor.empty() : tensor<8xf32>
  %ex = tensor.empty() : tensor<4x8x16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%ec : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%x : tensor<4x8x16x16xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [#of, #of], iterator_types = ["parallel"]} ins(%s : tensor<8xf32>) outs(%ec : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.divf %i, %number : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %v = linalg.generic {indexing_maps = [#x, #c, #c], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%x, %m : tensor<4x8x16x16xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: f32, %a: f32, %o: f32):
    %d = arith.subf %i, %a : f32
    %q = arith.mulf %d, %d : f32
    %r = arith.addf %q, %o : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#x, #c, #c, #x], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %m, %v : tensor<4x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>) outs(%ex : tensor<4x8x16x16xf32>) {
  ^bb0(%i: f32, %a: f32, %b: f32, %o: f32):
    %d = arith.subf %i, %a : f32
    %r = arith.divf %d, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8x16x16xf32>
  %t = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%y : tensor<4x8x16x16xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %n, %t : tensor<4x8x16x16xf32>, tensor<8xf32>
}
