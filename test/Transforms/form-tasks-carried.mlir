// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

// What a loop's iteration adds to is updated where it lies: by a scatter, by an
// operation that begins with it, and by a sum that a scatter then adds to. What
// is read once more is not.
// CHECK-LABEL: remat.graph private @body
// CHECK-SAME:    %arg0: tensor<64x8xf32> {remat.donated = 0 : i64}
// CHECK-SAME:    %arg1: tensor<64x8xf32> {remat.donated = 1 : i64}
// CHECK-SAME:    %arg2: tensor<64x8xf32> {remat.donated = 2 : i64}
// CHECK-SAME:    %arg3: tensor<64x8xf32>,
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%rows: tensor<4x16xi64>, %updates: tensor<4x16x8xf32>, %left: tensor<4x64x16xf32>, %right: tensor<4x16x8xf32>)
    -> (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<64x8xf32>
  %0:4 = remat.loop @body count 4 carried(%zeros, %zeros, %zeros, %zeros) invariant() sliced(%rows, %updates, %left, %right) {remat.stacks_nothing}
      : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<4x16xi64>, tensor<4x16x8xf32>, tensor<4x64x16xf32>, tensor<4x16x8xf32>)
      -> (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}
func.func private @body(%a: tensor<64x8xf32>, %b: tensor<64x8xf32>, %c: tensor<64x8xf32>, %d: tensor<64x8xf32>,
                        %rows: tensor<16xi64>, %updates: tensor<16x8xf32>, %left: tensor<64x16xf32>, %right: tensor<16x8xf32>)
    -> (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) {
  %c64 = arith.constant 64 : index
  %scattered = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %updates : tensor<16xi64>, tensor<16x8xf32>) outs(%a : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %update: f32):
    %n = arith.index_cast %row : i64 to index
    %checked = remat.check_index %n, %c64 : index
    remat.yield %checked, %j, %update : index, index, f32
  } -> tensor<64x8xf32>
  %product = linalg.matmul ins(%left, %right : tensor<64x16xf32>, tensor<16x8xf32>) outs(%b : tensor<64x8xf32>) -> tensor<64x8xf32>
  %zeros = arith.constant dense<0.0> : tensor<64x8xf32>
  %other = linalg.matmul ins(%left, %right : tensor<64x16xf32>, tensor<16x8xf32>) outs(%zeros : tensor<64x8xf32>) -> tensor<64x8xf32>
  %e = tensor.empty() : tensor<64x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %other : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = math.sin %y : f32
    %z = arith.addf %x, %s : f32
    linalg.yield %z : f32
  } -> tensor<64x8xf32>
  %both = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %updates : tensor<16xi64>, tensor<16x8xf32>) outs(%sum : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %update: f32):
    %n = arith.index_cast %row : i64 to index
    %checked = remat.check_index %n, %c64 : index
    remat.yield %checked, %j, %update : index, index, f32
  } -> tensor<64x8xf32>
  %reads = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %right : tensor<16xi64>, tensor<16x8xf32>) outs(%d : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %update: f32):
    %n = arith.index_cast %row : i64 to index
    %checked = remat.check_index %n, %c64 : index
    %old = tensor.extract %d[%i, %j] : tensor<64x8xf32>
    %z = arith.addf %old, %update : f32
    remat.yield %checked, %j, %z : index, index, f32
  } -> tensor<64x8xf32>
  return %scattered, %product, %both, %reads : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}
