// RUN: remat-opt %s -remat-separate-backward | FileCheck %s
// RUN: remat-opt %s -remat-separate-backward -remat-plan=lend=false -remat-place | FileCheck %s --check-prefix=PLACED
// RUN: remat-opt %s -remat-separate-backward -remat-plan="lend=false reorder=true" | FileCheck %s --check-prefix=REORDER

// The backward task that only the second backward call needs, task 3, runs
// there; the one that both need, task 2, in the first.
// CHECK:      remat.task @add(%arg0, %arg0) {id = 0 : i64}
// CHECK-NEXT: remat.task @add(%{{.*}}, %{{.*}}) {id = 1 : i64}
// CHECK-NEXT: %[[BOTH:.*]] = remat.task @add(%{{.*}}, %arg0) {backward, id = 2 : i64, phase = 1 : i64}
// CHECK-NEXT: remat.task @add(%[[BOTH]], %arg1) {backward, id = 4 : i64, phase = 1 : i64}
// CHECK-NEXT: %[[LATE:.*]] = remat.task @add(%[[BOTH]], %arg0) {backward, id = 3 : i64, phase = 2 : i64}
// CHECK-NEXT: remat.task @add(%[[LATE]], %arg2) {backward, id = 5 : i64, phase = 2 : i64}

// Task 0 is kept for the first backward call, task 2 for the second; the place
// of task 0 is then free for task 3.
// PLACED: remat.graph @main
// PLACED-SAME: arena_bytes = 128 : i64
// PLACED-SAME: state_bytes = 128 : i64
// PLACED: id = 0 {{.*}} placement = [#remat.slot<arena, offset = 0, bytes = 64>]
// PLACED: id = 2 {{.*}} placement = [#remat.slot<arena, offset = 64, bytes = 64>]
// PLACED: id = 3 {{.*}} placement = [#remat.slot<arena, offset = 0, bytes = 64>]

// Calls keep their tasks, in a graph that may be reordered, too.
// REORDER: planned_peak = 128 : i64
// REORDER-COUNT-2: id = {{[01]}} : i64
// REORDER-COUNT-2: phase = 1
// REORDER-COUNT-2: phase = 2
// REORDER-NOT: remat.task

func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  %0 = arith.addf %a, %b : tensor<16xf32>
  return %0 : tensor<16xf32>
}

remat.graph @main(%x: tensor<16xf32>, %g: tensor<16xf32> {remat.phase = 1}, %h: tensor<16xf32> {remat.phase = 2}) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = remat.task @add(%x, %x) {id = 0} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task @add(%0, %0) {id = 1} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %2 = remat.task @add(%0, %x) {id = 2, backward} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %3 = remat.task @add(%2, %x) {id = 3, backward} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %4 = remat.task @add(%2, %g) {id = 4, backward} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %5 = remat.task @add(%3, %h) {id = 5, backward} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  remat.return %1, %4, %5 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
