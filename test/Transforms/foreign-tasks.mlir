// RUN: remat-test-opt %s --remat-form-tasks | FileCheck %s
// RUN: remat-test-opt %s --remat-form-tasks -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARN

// An operation of another dialect that stays whole is one task, and says itself
// whether the task may run again.

// CHECK: remat.graph @main
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: remat.task 0 @whole({{.*}}) :
  %0 = foreign.whole %x : tensor<16xf32>
  // CHECK-NEXT: remat.task 1 @{{.*}} {policies = [#remat.policy<must_save>]}
  %1 = foreign.whole %0 {recomputability = "saved"} : tensor<16xf32>
  // What the program asks for comes first.
  // CHECK-NEXT: remat.task 2 @{{.*}} {policies = [#remat.policy<must_recompute>]}
  %2 = foreign.whole %1 {recomputability = "saved", remat.policy = #remat.policy<must_recompute>} : tensor<16xf32>
  // CHECK-NEXT: remat.task 3 @{{.*}} pinned
  %3 = foreign.whole %2 {recomputability = "random"} : tensor<16xf32>
  // CHECK-NEXT: remat.task 4 @{{.*}} pinned
  %4 = foreign.whole %3 {recomputability = "effects"} : tensor<16xf32>
  // CHECK-NEXT: remat.task 5 @{{.*}} pinned
  // WARN: warning: 'foreign.whole' op has a result with policy 'must_recompute', but draws random numbers and runs once: the result is kept
  %5 = foreign.whole %4 {recomputability = "random", remat.policy = #remat.policy<must_recompute>} : tensor<16xf32>
  // CHECK-NEXT: remat.task 6 @{{.*}} pinned
  // WARN: warning: 'foreign.whole' op has a result with policy 'prefer_recompute', but has effects and runs once: the result is kept
  %6 = foreign.whole %5 {recomputability = "effects", remat.policy = #remat.policy<prefer_recompute>} : tensor<16xf32>
  return %6 : tensor<16xf32>
}
// The kernel has the operation in it. Those of the others are others.
// CHECK: func.func private @whole(%[[X:.*]]: tensor<16xf32>)
// CHECK-NEXT: %[[Y:.*]] = foreign.whole %[[X]] : tensor<16xf32>
// CHECK-NEXT: return %[[Y]]
