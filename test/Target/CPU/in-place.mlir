// RUN: remat-opt %s --remat-lower-cpu | FileCheck %s

// A result that is written over an operand has its buffer. Of two buffers that
// do not overlap, code could read an element of the one again when that of the
// other one is there. A kernel has code for each place of its results.

// CHECK-LABEL: llvm.func internal @remat_step_kernel_0_loops
// CHECK-SAME: (%[[OPERAND:[^:]*]]: !llvm.ptr {llvm.noalias}, %[[RESULT:[^:]*]]: !llvm.ptr
// CHECK-NOT: insertvalue %[[OPERAND]],
// CHECK: insertvalue %[[RESULT]],
// CHECK: insertvalue %[[OPERAND]],

// CHECK-LABEL: llvm.func internal @remat_step_kernel_1_loops
// CHECK-SAME: (%[[OPERAND:[^:]*]]: !llvm.ptr {llvm.noalias}, %[[RESULT:[^:]*]]: !llvm.ptr
// CHECK-NOT: insertvalue %[[RESULT]],
// CHECK: insertvalue %[[OPERAND]],
// CHECK-NOT: insertvalue %[[RESULT]],
// CHECK: llvm.return

// CHECK-NOT: @remat_step_kernel_2

#id = affine_map<(i) -> (i)>
remat.graph @main(%x: tensor<16xf32>) -> tensor<16xf32> attributes {arena_bytes = 64, host_arena_bytes = 0, planned_peak = 64, save_all_peak = 64} {
  %0 = remat.task 0 @negate(%x) cost 1 at [arena 0] : (tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task 1 @negate(%0) cost 1 at [operand 0] : (tensor<16xf32>) -> tensor<16xf32>
  %2 = remat.task 2 @negate(%1) cost 1 at [operand 0] : (tensor<16xf32>) -> tensor<16xf32>
  %3 = remat.task 3 @negate(%2) cost 1 at [result 0] : (tensor<16xf32>) -> tensor<16xf32>
  remat.return %3 : tensor<16xf32>
}
func.func private @negate(%x: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  %empty = tensor.empty() : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %b = arith.negf %a : f32
    linalg.yield %b : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}
