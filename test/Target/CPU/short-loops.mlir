// RUN: remat-opt %s --remat-annotate-costs --remat-plan --remat-assign-buffers --remat-place --remat-lower-cpu="name=step" | FileCheck %s

// Rows of 34 elements are vectorized along the row: LLVM must not unroll them
// before that, or it vectorizes across rows. Rows of 5 are unrolled.
// CHECK-DAG: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[KEEP:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
// CHECK-LABEL: llvm.func {{.*}}@step_kernel_0_loops
// CHECK: llvm.br {{.*}} {loop_annotation = #[[KEEP]]}
// CHECK-LABEL: llvm.func {{.*}}@step_kernel_1_loops
// CHECK-NOT: loop_annotation
// CHECK: llvm.return

func.func private @wide(%x: tensor<8x20x34xf32>, %y: tensor<20x34xf32>) -> tensor<20x8x34xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<20x8x34xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (b, a, c)>, affine_map<(a, b, c) -> (a, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<8x20x34xf32>, tensor<20x34xf32>) outs(%e : tensor<20x8x34xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<20x8x34xf32>
  return %r : tensor<20x8x34xf32>
}
func.func private @narrow(%x: tensor<8x20x5xf32>, %y: tensor<20x5xf32>) -> tensor<20x8x5xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<20x8x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (b, a, c)>, affine_map<(a, b, c) -> (a, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<8x20x5xf32>, tensor<20x5xf32>) outs(%e : tensor<20x8x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<20x8x5xf32>
  return %r : tensor<20x8x5xf32>
}
remat.graph @main(%x: tensor<8x20x34xf32>, %y: tensor<20x34xf32>, %u: tensor<8x20x5xf32>, %v: tensor<20x5xf32>) -> (tensor<20x8x34xf32>, tensor<20x8x5xf32>) {
  %0 = remat.task 0 @wide(%x, %y) : (tensor<8x20x34xf32>, tensor<20x34xf32>) -> tensor<20x8x34xf32>
  %1 = remat.task 1 @narrow(%u, %v) : (tensor<8x20x5xf32>, tensor<20x5xf32>) -> tensor<20x8x5xf32>
  remat.return %0, %1 : tensor<20x8x34xf32>, tensor<20x8x5xf32>
}
