// A scatter to a row that is not there names it, and nothing is written.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/npy.py %t/arg0.npy f4 4 0.5
// RUN: %python %S/Inputs/npy.py %t/arg1.npy f4 2 0.5
// RUN: %python %S/Inputs/npy.py %t/arg2.npy i8 2 0 3
// RUN: remat-run %s --inputs=%t --outputs=%t/good --emit=forward
// RUN: %python %S/Inputs/npy.py %t/arg2.npy i8 2 0 -3
// RUN: not remat-run %s --inputs=%t --outputs=%t/bad --emit=forward 2>&1 | FileCheck %s
// RUN: not ls %t/bad

// CHECK:      remat-run: error: index out of bounds: entry 0 'scatter' at {{.*}}bad-scatter.mlir:[[#@LINE + 4]]:8:
// CHECK-SAME: index -3 is out of bounds, expected 0 to 3: 'remat.check_index' at {{.*}}bad-scatter.mlir:[[#@LINE + 7]]:

func.func @main(%x: tensor<4xf32>, %u: tensor<2xf32>, %ids: tensor<2xi64>) -> tensor<4xf32> {
  %r = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], sizes = array<i64: 2>}
      ins(%ids, %u : tensor<2xi64>, tensor<2xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%p: index, %i: i64, %v: f32):
    %k = arith.index_cast %i : i64 to index
    remat.yield %k, %v : index, f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
