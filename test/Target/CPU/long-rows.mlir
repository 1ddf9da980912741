// Scores of many keys: a factor of up to 768 KiB is packed once for all blocks, and a larger one is read where it lies if
// its rows do. Else a part of it is packed for each block.

// RUN: remat-opt %s --split-input-file --remat-form-tasks --remat-annotate-costs --remat-plan --remat-assign-buffers \
// RUN:   --remat-place --remat-lower-cpu="mcpu=skylake-avx512" | FileCheck %s

// Keys that lie across the sums are packed, in squares of 16 x 16 elements.
// CHECK-LABEL: llvm.func internal @{{.*}}_loops(
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(131072 : index)
// CHECK: llvm.alloca %[[SIZE]] x f32
// CHECK: llvm.alloca
// CHECK-COUNT-64: llvm.shufflevector
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#all = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>
func.func @main(%q: tensor<2x256x64xf32>, %k: tensor<2x2048x64xf32>) -> tensor<2x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x256x2048xf32>
  %f = tensor.empty() : tensor<2x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x256x2048xf32>) -> tensor<2x256x2048xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x256xf32>) -> tensor<2x256xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x256x64xf32>, tensor<2x2048x64xf32>)
      outs(%z : tensor<2x256x2048xf32>) -> tensor<2x256x2048xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x256x2048xf32>) outs(%y : tensor<2x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x256xf32>
  return %r : tensor<2x256xf32>
}

// -----

// Keys of 2 MiB whose rows lie in memory are read there.
// CHECK-LABEL: llvm.func internal @{{.*}}_loops(
// CHECK: llvm.alloca
// CHECK-NOT: llvm.alloca
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, d, j)>
#all = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>
func.func @main(%q: tensor<2x256x64xf32>, %k: tensor<2x64x8192xf32>) -> tensor<2x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x256x8192xf32>
  %f = tensor.empty() : tensor<2x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x256x8192xf32>) -> tensor<2x256x8192xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x256xf32>) -> tensor<2x256xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x256x64xf32>, tensor<2x64x8192xf32>)
      outs(%z : tensor<2x256x8192xf32>) -> tensor<2x256x8192xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x256x8192xf32>) outs(%y : tensor<2x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x256xf32>
  return %r : tensor<2x256xf32>
}

// -----

// Values of 2 MiB that lie across the sums: 2048 x 32 of them at a time, for blocks of 24 rows. The first part of a sum is
// stored, the others are added to it.
// CHECK-LABEL: llvm.func internal @{{.*}}_loops(
// CHECK: %[[PANEL:.*]] = llvm.mlir.constant(65536 : index)
// CHECK: llvm.alloca %[[PANEL]] x f32
// CHECK: %[[BLOCK:.*]] = llvm.mlir.constant(196608 : index)
// CHECK: llvm.alloca %[[BLOCK]] x f32
// CHECK: llvm.alloca %[[BLOCK]] x f32
// CHECK-NOT: llvm.alloca
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, d, j)>
#p = affine_map<(h, i, d, j) -> (h, i, j)>
#v = affine_map<(h, i, d, j) -> (h, d, j)>
#o = affine_map<(h, i, d, j) -> (h, i, d)>
#all = affine_map<(h, i, j) -> (h, i, j)>
func.func @main(%q: tensor<2x256x64xf32>, %k: tensor<2x64x8192xf32>, %v: tensor<2x64x8192xf32>) -> tensor<2x256x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x256x8192xf32>
  %f = tensor.empty() : tensor<2x256x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x256x8192xf32>) -> tensor<2x256x8192xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x256x64xf32>, tensor<2x64x8192xf32>)
      outs(%z : tensor<2x256x8192xf32>) -> tensor<2x256x8192xf32>
  %p = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x256x8192xf32>) outs(%e : tensor<2x256x8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = math.exp %a : f32
    linalg.yield %x : f32
  } -> tensor<2x256x8192xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x256x8192xf32>, tensor<2x64x8192xf32>)
      outs(%y : tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  return %o : tensor<2x256x64xf32>
}
