// RUN: remat-opt %s --remat-tasks-pipeline --remat-plan-pipeline | FileCheck %s

// What is returned, too, is not written over on the way to the result that has
// the argument's buffer.
// CHECK: remat.task 0 {{.*}} at [result 1]
// CHECK: remat.task 1 {{.*}} at [result 0]
// CHECK: remat.return %1, %0

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%sum: tensor<64x8xf32> {remat.donated = 0 : i64}, %b: tensor<16x8xf32>, %x: tensor<64x8xf32>, %rows: tensor<16xi64>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %e = tensor.empty() : tensor<64x8xf32>
  %both = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum, %x : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%p: f32, %y: f32, %o: f32):
    %r = arith.addf %p, %y : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  %all = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %b : tensor<16xi64>, tensor<16x8xf32>) outs(%both : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<64x8xf32>
  return %all, %both : tensor<64x8xf32>, tensor<64x8xf32>
}
