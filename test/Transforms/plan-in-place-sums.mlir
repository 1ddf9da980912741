// RUN: remat-opt %s --remat-plan=budget=min --remat-assign-buffers --remat-place | FileCheck %s

// A gradient is added up over the backward computation, each time where it lies,
// and the update is written where the weight is. A planner that counted two
// buffers for each addition would see 32 KiB there, and keep more elsewhere than
// fits beside one: its smallest arena would be 28,672 bytes.
// CHECK: remat.graph @step
// CHECK-SAME: arena_bytes = 24576
#r = affine_map<(i, j, k) -> (k, i)>
#s = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
func.func private @f(%a: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<16x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.tanh %x : f32
    linalg.yield %y : f32
  } -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}
func.func private @g(%a: tensor<16x64xf32>, %b: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<16x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}
func.func private @first(%a: tensor<16x64xf32>, %b: tensor<16x64xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.contract indexing_maps = [#r, #s, #t] ins(%a, %b : tensor<16x64xf32>, tensor<16x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func private @add(%a: tensor<16x64xf32>, %b: tensor<16x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %0 = linalg.contract indexing_maps = [#r, #s, #t] ins(%a, %b : tensor<16x64xf32>, tensor<16x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func private @update(%w: tensor<64x64xf32>, %g: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %g : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.subf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
remat.graph @step(%x: tensor<16x64xf32>, %w: tensor<64x64xf32> {remat.donated = 0 : i64}) -> (tensor<64x64xf32>) {
  %h0 = remat.task 0 @f(%x) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h1 = remat.task 1 @f(%h0) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h2 = remat.task 2 @f(%h1) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h3 = remat.task 3 @f(%h2) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h4 = remat.task 4 @f(%h3) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h5 = remat.task 5 @f(%h4) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h6 = remat.task 6 @f(%h5) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %h7 = remat.task 7 @f(%h6) cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %d7 = remat.task 8 @f(%h7) backward cost 1000 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %s7 = remat.task 9 @first(%d7, %h7) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  %d6 = remat.task 10 @g(%d7, %h7) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s6 = remat.task 11 @add(%d6, %h6, %s7) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d5 = remat.task 12 @g(%d6, %h6) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s5 = remat.task 13 @add(%d5, %h5, %s6) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d4 = remat.task 14 @g(%d5, %h5) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s4 = remat.task 15 @add(%d4, %h4, %s5) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d3 = remat.task 16 @g(%d4, %h4) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s3 = remat.task 17 @add(%d3, %h3, %s4) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d2 = remat.task 18 @g(%d3, %h3) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s2 = remat.task 19 @add(%d2, %h2, %s3) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d1 = remat.task 20 @g(%d2, %h2) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s1 = remat.task 21 @add(%d1, %h1, %s2) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d0 = remat.task 22 @g(%d1, %h1) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %s0 = remat.task 23 @add(%d0, %h0, %s1) backward cost 1000 : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %u = remat.task 24 @update(%w, %s0) backward cost 1000 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  remat.return %u : tensor<64x64xf32>
}
