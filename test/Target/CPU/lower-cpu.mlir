// One function for each distinct kernel and each place of its results, none for
// contractions, and the table.
// RUN: remat-opt %s --remat-annotate-costs --remat-plan --remat-assign-buffers --remat-place \
// RUN:   --remat-lower-cpu="name=step" | FileCheck %s

// CHECK-NOT: remat.graph
// CHECK: llvm.func internal @step_kernel_0_loops(%{{.*}}: !llvm.ptr {llvm.noalias}
// The sum may be reordered, the contraction may not.
// CHECK: llvm.fmul %{{.*}}, %{{.*}} : f32
// CHECK: llvm.func hidden @step_kernel_0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// The second square is written over the first one.
// CHECK: llvm.func hidden @step_kernel_1(
// CHECK-NOT: @step_kernel_2
// CHECK: llvm.mlir.global internal constant @step_blob
// CHECK: llvm.mlir.global internal constant @step_kernels() {{.*}} : !llvm.array<2 x ptr>
// CHECK: llvm.mlir.global external constant @step()

func.func private @square(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func private @contraction(%x: tensor<8x16xf32>) -> tensor<8x8xf32>
    attributes {remat.kernel, remat.implementation = #remat.implementation<library>} {
  %e = tensor.empty() : tensor<8x8xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %x : tensor<8x16xf32>, tensor<8x16xf32>)
      outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

remat.graph @main(%x: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %0 = remat.task 0 @square(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = remat.task 1 @square(%0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = remat.task 2 @contraction(%1) : (tensor<8x16xf32>) -> tensor<8x8xf32>
  remat.return %2 : tensor<8x8xf32>
}
