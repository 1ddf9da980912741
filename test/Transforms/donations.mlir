// RUN: remat-opt %s --remat-plan=planner=recompute-all --remat-assign-buffers --remat-place -split-input-file -verify-diagnostics | FileCheck %s

// A result that has the buffer of an argument is written when the last task has
// read the argument: behind task 1, which stands later, and behind what the
// plan repeats. It takes nothing of the arena, and no value is reused its buffer.

#id = affine_map<(d0) -> (d0)>

func.func private @exp(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @mul(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<32xf32>, tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.mulf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
// CHECK-LABEL: remat.graph @step
remat.graph @step(%w: tensor<32xf32> {remat.donated = 0 : i64}, %x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  // CHECK: remat.task 1 @mul(%arg0, %arg1) cost 10 at [{{.*}}]
  // CHECK: remat.task 2 @exp
  // CHECK: remat.task 1 copy 1 @mul(%arg0, %arg1)
  // CHECK: remat.task 0 @exp(%arg0) cost 10 at [operand 0]
  // CHECK-NOT: @mul(%arg0
  // CHECK: remat.return
  %0 = remat.task 0 @exp(%w) cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @mul(%w, %x) cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @exp(%1) cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @exp(%2) backward cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %4 = remat.task 4 @mul(%3, %1) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %0, %4 : tensor<32xf32>, tensor<32xf32>
}

// -----

// A task that needs both the argument and what is written over it.

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<32xf32>
  return %0 : tensor<32xf32>
}
// expected-error @below {{a task reads an argument and needs the result that is written over it}}
remat.graph @circle(%w: tensor<32xf32> {remat.donated = 0 : i64}, %x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @g(%w, %0) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %0, %1 : tensor<32xf32>, tensor<32xf32>
}
