// RUN: remat-opt %s --remat-annotate-costs --remat-plan --remat-assign-buffers --remat-place --remat-lower-cpu="name=step" | FileCheck %s

// Keys of 8 elements are packed key by key. LLVM would unroll that and do many
// keys at a time, with a gather and a scatter for each element.
// CHECK-DAG: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[SCALAR:.*]] = #llvm.loop_vectorize<disable = true>
// CHECK-DAG: #[[KEYS:.*]] = #llvm.loop_annotation<vectorize = #[[SCALAR]], unroll = #[[UNROLL]]>
// CHECK-LABEL: llvm.func {{.*}}@step_kernel_0_loops
// CHECK: llvm.br {{.*}} {loop_annotation = #[[KEYS]]}

#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#all = affine_map<(h, i, j) -> (h, i, j)>
func.func private @scores(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>) -> tensor<2x64x64xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>}
      ins(%q, %k : tensor<2x64x8xf32>, tensor<2x64x8xf32>)
      outs(%z : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>)
      attrs = {remat.block = 8 : i64, remat.rows = array<i64: 0, 1>} {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<2x64x64xf32>
  return %r : tensor<2x64x64xf32>
}
remat.graph @main(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>) -> tensor<2x64x64xf32> {
  %0 = remat.task 0 @scores(%q, %k) : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  remat.return %0 : tensor<2x64x64xf32>
}
