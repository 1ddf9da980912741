// A gather from a row that is not there names the op, the index and the bound,
// and where they stand in the model; nothing is written.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/npy.py %t/arg0.npy f4 4x3 0.5
// RUN: %python %S/Inputs/npy.py %t/arg1.npy i8 2 1 3
// RUN: remat-reference ones %t/cotangent0.npy
// RUN: remat-run %s --inputs=%t --outputs=%t/good --emit=forward,vjp
// RUN: %python %S/Inputs/npy.py %t/arg1.npy i8 2 1 4
// RUN: not remat-run %s --inputs=%t --outputs=%t/bad --emit=forward,vjp 2>&1 | FileCheck %s
// RUN: not ls %t/bad
// RUN: %python %S/Inputs/npy.py %t/arg1.npy i8 2 -1 0
// RUN: not remat-run %s --inputs=%t --outputs=%t/bad --emit=forward 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// CHECK:      remat-run: error: index out of bounds: entry {{[0-9]+}} 'gather' at {{.*}}bad-index.mlir:[[#@LINE + 11]]:{{[0-9]+}}:
// CHECK-SAME: index 4 is out of bounds, expected 0 to 3: 'remat.check_index' at {{.*}}bad-index.mlir:[[#@LINE + 16]]:
// NEGATIVE:   index -1 is out of bounds, expected 0 to 3

#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0, d1) -> ()>

func.func @main(%table: tensor<4x3xf32>, %rows: tensor<2xi64>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x3xf32>
  %gathered = linalg.generic
    {indexing_maps = [#map1, #map0], iterator_types = ["parallel", "parallel"]}
    ins(%rows : tensor<2xi64>) outs(%empty : tensor<2x3xf32>) {
  ^bb0(%row: i64, %out: f32):
    %i = arith.index_cast %row : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%i, %j] : tensor<4x3xf32>
    linalg.yield %x : f32
  } -> tensor<2x3xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic
    {indexing_maps = [#map0, #map2], iterator_types = ["reduction", "reduction"]}
    ins(%gathered : tensor<2x3xf32>) outs(%start : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %x, %acc : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
