// RUN: remat-opt %s -remat-separate-backward | FileCheck %s
// RUN: remat-opt %s -remat-separate-backward -remat-plan=reuse-result-buffers=false -remat-place | FileCheck %s --check-prefix=PLACED
// RUN: remat-opt %s -remat-separate-backward -remat-plan="reuse-result-buffers=false reorder=true" | FileCheck %s --check-prefix=REORDER

// The backward task that only the second backward call needs, task 3, runs
// there; the one that both need, task 2, in the first.
// CHECK:      remat.task 0 @add(%arg0, %arg0) :
// CHECK-NEXT: remat.task 1 @add(%{{.*}}, %{{.*}}) :
// CHECK-NEXT: %[[BOTH:.*]] = remat.task 2 @add(%{{.*}}, %arg0) backward phase 1 :
// CHECK-NEXT: remat.task 4 @add(%[[BOTH]], %arg1) backward phase 1 :
// CHECK-NEXT: %[[LATE:.*]] = remat.task 3 @add(%[[BOTH]], %arg0) backward phase 2 :
// CHECK-NEXT: remat.task 5 @add(%[[LATE]], %arg2) backward phase 2 :

// Task 0 is kept for the first backward call, task 2 for the second; the place
// of task 0 is then free for task 3.
// PLACED: remat.graph @main
// PLACED-SAME: arena_bytes = 128 : i64
// PLACED-SAME: state_bytes = 128 : i64
// PLACED: remat.task 0 @{{.*}} at [arena 0] :
// PLACED: remat.task 2 @{{.*}} at [arena 64] :
// PLACED: remat.task 3 @{{.*}} at [arena 0] :

// Calls keep their tasks, in a graph that may be reordered, too.
// REORDER: planned_peak = 128 : i64
// REORDER-COUNT-2: remat.task {{[01]}} @add
// REORDER-COUNT-2: phase 1
// REORDER-COUNT-2: phase 2
// REORDER-NOT: remat.task

func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  %0 = arith.addf %a, %b : tensor<16xf32>
  return %0 : tensor<16xf32>
}

remat.graph @main(%x: tensor<16xf32>, %g: tensor<16xf32> {remat.phase = 1}, %h: tensor<16xf32> {remat.phase = 2}) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = remat.task 0 @add(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task 1 @add(%0, %0) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %2 = remat.task 2 @add(%0, %x) backward : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %3 = remat.task 3 @add(%2, %x) backward : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %4 = remat.task 4 @add(%2, %g) backward : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %5 = remat.task 5 @add(%3, %h) backward : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  remat.return %1, %4, %5 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
