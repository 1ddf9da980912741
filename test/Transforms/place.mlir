// RUN: remat-opt %s --remat-plan=lend=false --remat-place -split-input-file | FileCheck %s
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
// CHECK: id = 0 : i64, placement = [#remat.slot<arena, offset = 0, bytes = 128>]
// CHECK: id = 1 : i64, placement = [#remat.slot<arena, offset = 128, bytes = 128>]
// CHECK: id = 2 : i64, placement = [#remat.slot<arena, offset = 256, bytes = 128>]
// CHECK: id = 3 : i64, placement = [#remat.slot<result, offset = 0, bytes = 128>], workspace = 100 : i64, workspace_offset = 128 : i64
remat.graph @reuse(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task @f(%x) {id = 0} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task @f(%0) {id = 1} : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task @f(%1) {id = 2} : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task @two(%0, %2) {id = 3, workspace = 100} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %3 : tensor<32xf32>
}

// -----

// Nothing to place.
// CHECK-LABEL: remat.graph @empty
// CHECK-SAME:    arena_bytes = 0 : i64
remat.graph @empty() {
  remat.return
}
