// RUN: remat-opt %s --remat-plan --remat-assign-buffers --remat-place | FileCheck %s
// RUN: remat-opt %s --remat-plan=lend=false --remat-place | FileCheck %s --check-prefix=OFF
// RUN: not remat-opt %s --remat-plan=budget=127 2>&1 | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s --remat-plan=budget=128 --remat-assign-buffers | FileCheck %s --check-prefix=FITS
// RUN: remat-opt %s --remat-plan=budget=128 --remat-assign-buffers --remat-assign-buffers | FileCheck %s --check-prefix=FITS
// RUN: remat-opt %s --remat-plan=budget=128 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not remat-opt %s --remat-plan=budget=128 --remat-place 2>&1 | FileCheck %s --check-prefix=FORGOTTEN

// %0 and %1 lie in the buffers of results that are written after their last
// use, %2 does not: the task that reads it last writes result 1.
func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// CHECK: remat.graph @step
// CHECK-SAME: arena_bytes = 128
// CHECK-SAME: planned_peak = 128
// CHECK-SAME: save_all_peak = 128
// OFF: arena_bytes = 384
// FITS: planned_peak = 128
// FITS-NOT: copy
// A schedule says nothing of buffers; each value still has its own.
// SCHEDULE: budget = 128
// SCHEDULE-SAME: planned_peak = 384
// SCHEDULE-SAME: save_all_peak = 128
// SCHEDULE-NOT: lent
remat.graph @step(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  // CHECK: id = 0 : i64, lent = [#remat.slot<lent, offset = 0, bytes = 128, result = {{[01]}}>], placement = [#remat.slot<lent
  %0 = remat.task @f(%x) {id = 0} : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: id = 1 : i64, lent
  %1 = remat.task @f(%0) {id = 1} : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: id = 2 : i64, placement = [#remat.slot<arena
  %2 = remat.task @g(%0, %1) {id = 2} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  // CHECK: id = 3 : i64, {{.*}}placement = [#remat.slot<result, offset = 0
  %3 = remat.task @f(%2) {id = 3, backward} : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: id = 4 : i64, {{.*}}placement = [#remat.slot<result, offset = 1
  %4 = remat.task @f(%2) {id = 4, backward} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %3, %4 : tensor<32xf32>, tensor<32xf32>
}
// TIGHT: error: {{.*}}budget 127 bytes is infeasible, the smallest feasible is 128
// FORGOTTEN: error: {{.*}}needs an arena of 384 bytes, budget is 128
// FORGOTTEN: note: no value shares a buffer; run 'remat-assign-buffers' before
