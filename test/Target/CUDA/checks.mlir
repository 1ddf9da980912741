// What a failed check leaves behind does not depend on the order of threads:
// minima of the check and the index, and of the check and the bound.
// RUN: remat-compile %s --no-gradients --target=cuda --mcpu=sm_90 -S -o - | FileCheck %s

// CHECK: .func remat_kernel_fail
// CHECK: min.u64
// CHECK: min.u64
// CHECK-NOT: cas
func.func @main(%x: tensor<64xf32>, %indices: tensor<16xi64>) -> tensor<16xf32> {
  %c64 = arith.constant 64 : index
  %empty = tensor.empty() : tensor<16xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%indices : tensor<16xi64>) outs(%empty : tensor<16xf32>) {
  ^bb0(%index: i64, %out: f32):
    %1 = arith.index_cast %index : i64 to index
    %2 = remat.check_index %1, %c64 : index
    %3 = tensor.extract %x[%2] : tensor<64xf32>
    linalg.yield %3 : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
