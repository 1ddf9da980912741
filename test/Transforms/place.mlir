// RUN: remat-opt %s --remat-plan=reuse-result-buffers=false --remat-place -split-input-file | FileCheck %s
// RUN: not remat-opt %s --remat-place -split-input-file 2>&1 | FileCheck %s --check-prefix=UNPLANNED

// UNPLANNED: error: 'remat.graph' op must be planned before it is placed

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @two(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// %1 may take the place of nothing: %0 is still needed. %2 takes %1's place.
// The workspace of the last task lies beside its operands, and the returned
// value is in no arena.
// CHECK-LABEL: remat.graph @reuse
// CHECK-SAME:    arena_bytes = 384 : i64
// CHECK-SAME:    planned_peak = 384 : i64
// CHECK: remat.task 0 @f(%{{.*}}) at [arena 0] :
// CHECK: remat.task 1 @f(%{{.*}}) at [arena 128] :
// CHECK: remat.task 2 @f(%{{.*}}) at [arena 256] :
// CHECK: remat.task 3 @two(%{{.*}}) workspace 100 at [result 0, workspace 128] :
remat.graph @reuse(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @f(%1) : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @two(%0, %2) workspace 100 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %3 : tensor<32xf32>
}

// -----

// Nothing to place.
// CHECK-LABEL: remat.graph @empty
// CHECK-SAME:    arena_bytes = 0 : i64
remat.graph @empty() {
  remat.return
}
