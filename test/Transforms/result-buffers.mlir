// RUN: remat-opt %s --remat-plan --remat-assign-buffers --remat-place | FileCheck %s
// RUN: remat-opt %s --remat-plan=reuse-result-buffers=false --remat-place | FileCheck %s --check-prefix=OFF
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
// SCHEDULE-NOT: at [
remat.graph @step(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  // CHECK: remat.task 0 @f(%{{.*}}) at [reused {{[01]}}:0] :
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 1 @f(%{{.*}}) at [reused
  %1 = remat.task 1 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 2 @g(%{{.*}}) at [arena
  %2 = remat.task 2 @g(%0, %1) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 3 @f(%{{.*}}) backward at [result 0]
  %3 = remat.task 3 @f(%2) backward : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 4 @f(%{{.*}}) backward at [result 1]
  %4 = remat.task 4 @f(%2) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %3, %4 : tensor<32xf32>, tensor<32xf32>
}
// TIGHT: error: {{.*}}budget 127 bytes is infeasible, the smallest feasible is 128
// FORGOTTEN: error: {{.*}}needs an arena of 384 bytes, budget is 128
// FORGOTTEN: note: no value shares a buffer; run 'remat-assign-buffers' before

// A backward call gets the buffer of a result when it is first used. %1 is in
// that of result 2, which %2 needs next, and not in that of result 1, which is
// larger and would be needed earlier, although result 1 is written first.
func.func private @widen(%a: tensor<32xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %0 = tensor.concat dim(0) %a, %a : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @widest(%a: tensor<32xf32>) -> tensor<128xf32> attributes {remat.kernel} {
  %0 = tensor.concat dim(0) %a, %a, %a, %a : (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}
// CHECK: remat.graph @calls
remat.graph @calls(%x: tensor<32xf32>, %g: tensor<32xf32> {remat.phase = 1 : i64}) -> (tensor<32xf32>, tensor<128xf32>, tensor<64xf32>) {
  // CHECK: remat.task 0 @f(%{{.*}}) at [result 0]
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 1 @f(%{{.*}}) backward phase 1 at [reused 2:{{0|128}}]
  %1 = remat.task 1 @f(%g) backward phase 1 : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 2 @f(%{{.*}}) backward phase 1 at [reused 2:{{0|128}}]
  %2 = remat.task 2 @f(%1) backward phase 1 : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 3 @widest(%{{.*}}) backward phase 1 at [result 1]
  %3 = remat.task 3 @widest(%2) backward phase 1 : (tensor<32xf32>) -> tensor<128xf32>
  // CHECK: remat.task 4 @widen(%{{.*}}) backward phase 1 at [result 2]
  %4 = remat.task 4 @widen(%0) backward phase 1 : (tensor<32xf32>) -> tensor<64xf32>
  remat.return %0, %3, %4 : tensor<32xf32>, tensor<128xf32>, tensor<64xf32>
}
