// RUN: remat-opt %s --remat-annotate-costs --remat-plan --remat-assign-buffers --remat-place -o %t.mlir
// RUN: remat-opt %t.mlir --remat-lower-cpu="mcpu=haswell" | FileCheck %s --check-prefix=AVX2
// RUN: remat-opt %t.mlir --remat-lower-cpu="mcpu=x86-64" | FileCheck %s --check-prefix=SSE
// RUN: remat-opt %t.mlir --remat-lower-cpu="mcpu=skylake-avx512" | FileCheck %s --check-prefix=AVX512
// RUN: not remat-opt %t.mlir --remat-lower-cpu="mcpu=none" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// A contraction in a kernel of rows keeps a tile of sums in registers: two
// vectors of 6 rows where there are 16 registers, of 8 where there are 32.
// Blocks have 8 rows here: one tile of 6 and one of 2, or one of 8.
// AVX2-COUNT-12: llvm.fmul {{.*}}<contract>} : vector<8xf32>
// AVX2-NOT: llvm.fmul
// AVX2: llvm.br
// SSE-COUNT-12: llvm.fmul {{.*}}<contract>} : vector<4xf32>
// SSE-NOT: llvm.fmul
// SSE: llvm.br
// AVX512-COUNT-16: llvm.fmul {{.*}}<contract>} : vector<16xf32>
// AVX512-NOT: llvm.fmul
// AVX512: llvm.br
// UNKNOWN: error: unknown CPU 'none', expected 'native' or one of

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
