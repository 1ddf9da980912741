// What a kernel reads while it writes is no place for what it writes, whoever has placed it there.
// RUN: not remat-compile %s -o %t.o 2>&1 | FileCheck %s

// CHECK: in-place-errors.mlir:[[#@LINE+6]]:{{.*}}: error: 'remat.task' op writes result 0 over operand 1, which kernel 'matvec' may still read; expected a place of its own
#vector = affine_map<(i) -> (i)>
#matrix = affine_map<(i, k) -> (i, k)>
#sums = affine_map<(i, k) -> (i)>
remat.graph @main(%a: tensor<64x64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {arena_bytes = 256 : i64, host_arena_bytes = 0 : i64, planned_peak = 256 : i64, save_all_peak = 256 : i64} {
  %0 = remat.task 0 @exp(%x) cost 20 at [arena 0] : (tensor<64xf32>) -> tensor<64xf32>
  %1 = remat.task 1 @matvec(%a, %0) cost 20 at [operand 1] : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = remat.task 2 @exp(%1) cost 20 at [result 0] : (tensor<64xf32>) -> tensor<64xf32>
  remat.return %2 : tensor<64xf32>
}
func.func private @exp(%x: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @matvec(%a: tensor<64x64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %zeros = arith.constant dense<0.0> : tensor<64xf32>
  %0 = linalg.contract indexing_maps = [#matrix, affine_map<(i, k) -> (k)>, #sums] ins(%a, %x : tensor<64x64xf32>, tensor<64xf32>) outs(%zeros : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
