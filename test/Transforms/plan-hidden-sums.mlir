// RUN: remat-opt %s --remat-plan --remat-assign-buffers --remat-place | FileCheck %s

// A region hides a sum that is written over an argument on the way to a result.
// Nothing needs it again, so it is added up where the argument is, once.
// CHECK: remat.graph @once
// CHECK: remat.task 0 @add({{.*}}) {{.*}}at [operand 2]
// CHECK: remat.task 1 @square({{.*}}) {{.*}}at [operand 0]
// CHECK-NOT: copy

// Where a backward task needs it, it is made again, as the region says, and the
// argument stays what it is until then.
// CHECK: remat.graph @again
// CHECK: remat.task 0 @add({{.*}}) {{.*}}at [arena 0]
// CHECK: remat.task 0 copy 1 @add
// CHECK: remat.task 1 @square({{.*}}) {{.*}}at [result 0]

#r = affine_map<(i, j, k) -> (k, i)>
#s = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
func.func private @add(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {remat.kernel} {
  %0 = linalg.contract indexing_maps = [#r, #s, #t] ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @square(%a: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
remat.graph @once(%w: tensor<8x8xf32> {remat.donated = 0 : i64}, %a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = remat.task 0 @add(%a, %a, %w) cost 10 {policies = [#remat.policy<must_recompute>]} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.task 1 @square(%0) cost 10 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = remat.task 2 @square(%1) backward cost 10 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  remat.return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}
remat.graph @again(%w: tensor<8x8xf32> {remat.donated = 0 : i64}, %a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = remat.task 0 @add(%a, %a, %w) cost 10 {policies = [#remat.policy<must_recompute>]} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.task 1 @square(%0) cost 10 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = remat.task 2 @square(%0) backward cost 10 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  remat.return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}
