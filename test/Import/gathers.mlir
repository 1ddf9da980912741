// RUN: remat-opt %s --remat-import-gathers | FileCheck %s

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// The row comes from data and is checked, the column is a loop within bounds.
// CHECK-LABEL: @embedding
// CHECK: %[[ROW:.*]] = arith.index_cast
// CHECK: %[[COL:.*]] = linalg.index 1
// CHECK-NOT: cf.assert
// CHECK: %[[N:.*]] = arith.constant 16 : index
// CHECK: %[[CHECKED:.*]] = remat.check_index %[[ROW]], %[[N]]
// CHECK: tensor.extract %{{.*}}[%[[CHECKED]], %[[COL]]]
func.func @embedding(%table: tensor<16x8xf32>, %ids: tensor<4xi64>) -> tensor<4x8xf32> {
  %c16 = arith.constant 16 : index
  %c0 = arith.constant 0 : i64
  %init = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<4xi64>) outs(%init : tensor<4x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %j = linalg.index 1 : index
    %below = arith.cmpi slt, %i, %c16 : index
    cf.assert %below, "index must be smaller than dim size"
    %above = arith.cmpi sge, %in, %c0 : i64
    cf.assert %above, "index must be larger or equal to 0"
    %e = tensor.extract %table[%i, %j] : tensor<16x8xf32>
    linalg.yield %e : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A clamp proves the bounds. An assertion of something else stays.
// CHECK-LABEL: @clamped
// CHECK: cf.assert
// CHECK-NOT: remat.check_index
// CHECK: return
func.func @clamped(%table: tensor<16xf32>, %ids: tensor<4x8xi64>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : i64
  %c7 = arith.constant 7 : i64
  %c15 = arith.constant 15 : i64
  %init = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<4x8xi64>) outs(%init : tensor<4x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %below = arith.cmpi slt, %in, %c7 : i64
    cf.assert %below, "not a bound of the table"
    %low = arith.maxsi %in, %c0 : i64
    %high = arith.minsi %low, %c15 : i64
    %i = arith.index_cast %high : i64 to index
    %e = tensor.extract %table[%i] : tensor<16xf32>
    linalg.yield %e : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A narrow sum wraps around: nothing is proved.
// CHECK-LABEL: @narrow
// CHECK: remat.check_index
func.func @narrow(%table: tensor<200xf32>) -> tensor<4x100xf32> {
  %c100 = arith.constant 100 : i8
  %init = tensor.empty() : tensor<4x100xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%init : tensor<4x100xf32>) {
  ^bb0(%out: f32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i8
    %s = arith.addi %n, %c100 : i8
    %i = arith.index_cast %s : i8 to index
    %e = tensor.extract %table[%i] : tensor<200xf32>
    linalg.yield %e : f32
  } -> tensor<4x100xf32>
  return %0 : tensor<4x100xf32>
}

// The places of a scatter, and what its body reads. Coordinates are in bounds.
// CHECK-LABEL: @scatter
// CHECK: ^bb0(%[[P:.*]]: index, %[[Q:.*]]: index, %[[V:.*]]: f32):
// CHECK: %[[READ:.*]] = remat.check_index %{{.*}}
// CHECK: %[[ID:.*]] = tensor.extract %{{.*}}[%[[READ]]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[ID]]
// CHECK: %[[PLACE:.*]] = remat.check_index %[[ROW]]
// CHECK: remat.yield %[[PLACE]], %[[Q]], %[[V]]
func.func @scatter(%x: tensor<5x8xf32>, %u: tensor<4x8xf32>, %ids: tensor<3xi64>) -> tensor<5x8xf32> {
  %0 = remat.scatter {indexing_maps = [#id], sizes = array<i64: 4, 8>} ins(%u : tensor<4x8xf32>) outs(%x : tensor<5x8xf32>) {
  ^bb0(%p: index, %q: index, %v: f32):
    %k = tensor.extract %ids[%p] : tensor<3xi64>
    %row = arith.index_cast %k : i64 to index
    remat.yield %row, %q, %v : index, index, f32
  } -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// The body of a padding means nothing where the source is.
// CHECK-LABEL: @pad
// CHECK: ^bb0(%[[I:.*]]: index):
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: %[[MASKED:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[I]] : index
// CHECK: %[[CHECKED:.*]] = remat.check_index %[[MASKED]]
// CHECK: tensor.extract %{{.*}}[%[[CHECKED]]]
func.func @pad(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<5xf32> {
  %0 = tensor.pad %x low[2] high[0] {
  ^bb0(%i: index):
    %v = tensor.extract %y[%i] : tensor<2xf32>
    tensor.yield %v : f32
  } : tensor<3xf32> to tensor<5xf32>
  return %0 : tensor<5xf32>
}
