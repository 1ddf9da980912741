// Contractions in a kernel of rows with a factor of bf16 are calls of the runtime on a CPU with AMX: the one that is the
// same for all blocks is packed before them. Few columns stay in vectors.

// RUN: remat-opt %s --split-input-file --remat-form-tasks --remat-annotate-costs --remat-plan --remat-assign-buffers \
// RUN:   --remat-place --remat-lower-cpu="mcpu=sapphirerapids" | FileCheck %s
// RUN: remat-opt %s --split-input-file --remat-form-tasks --remat-annotate-costs --remat-plan --remat-assign-buffers \
// RUN:   --remat-place --remat-lower-cpu="mcpu=cooperlake" | FileCheck %s --check-prefix=OTHER

// 64 x 512 numbers of bf16, and 128 bytes in front of them.
// CHECK-LABEL: llvm.func internal @{{.*}}_loops(
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(16416 : index)
// CHECK: llvm.alloca %[[SIZE]] x f32
// CHECK: llvm.call %{{[0-9]+}}({{.*}}) : !llvm.ptr, (i64, i64, i64, i64, i64, i64, i64) -> ()
// CHECK: llvm.call %{{[0-9]+}}({{.*}}) : !llvm.ptr, (i64, {{.*}}) -> ()
// CHECK: llvm.return
// OTHER-NOT: llvm.call %
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#all = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>
func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x512x64xbf16>) -> tensor<2x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x256x512xf32>
  %f = tensor.empty() : tensor<2x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x256x512xf32>) -> tensor<2x256x512xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x256xf32>) -> tensor<2x256xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x256x64xbf16>, tensor<2x512x64xbf16>)
      outs(%z : tensor<2x256x512xf32>) -> tensor<2x256x512xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x256x512xf32>) outs(%y : tensor<2x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x256xf32>
  return %r : tensor<2x256xf32>
}

// -----

// CHECK-LABEL: llvm.func internal @{{.*}}_loops(
// CHECK-NOT: llvm.call %
// CHECK: llvm.return
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#all = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>
func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x12x64xbf16>) -> tensor<2x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x256x12xf32>
  %f = tensor.empty() : tensor<2x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x256x12xf32>) -> tensor<2x256x12xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x256xf32>) -> tensor<2x256xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x256x64xbf16>, tensor<2x12x64xbf16>)
      outs(%z : tensor<2x256x12xf32>) -> tensor<2x256x12xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x256x12xf32>) outs(%y : tensor<2x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x256xf32>
  return %r : tensor<2x256xf32>
}
