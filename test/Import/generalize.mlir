// RUN: remat-opt %s --remat-import-generalize | FileCheck %s

// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[BACK_ONE:.*]] = affine_map<(d0) -> (-d0 + 3)>
// CHECK-DAG: #[[BACK_TWO:.*]] = affine_map<(d0, d1) -> (-d0 + 3, d1)>
// CHECK-DAG: #[[SWAPPED:.*]] = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-LABEL: @named
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.contract
// CHECK-NOT: linalg.softmax
// CHECK: arith.maxnumf
// CHECK: arith.divf
func.func @named(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%0, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.softmax dimension(1) ins(%1 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// An elementwise body reads its init as an input.
// CHECK-LABEL: @reads_init
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK: %[[E:.*]] = tensor.empty
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}} outs(%[[E]] :
func.func @reads_init(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// What the map of a result does not select is inserted into the init: a
// column. On a diagonal a selection does it.
// CHECK-LABEL: @column
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4x4xf32>
// CHECK: %[[COLUMN:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x1xf32>)
// CHECK: tensor.insert_slice %[[COLUMN]] into %[[Y]][0, 1] [4, 1] [1, 1]
func.func @column(%x: tensor<4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, 1)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: @diagonal
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4x4xf32>
// CHECK: %[[DIAGONAL:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[DIAGONAL]], %[[Y]] :
// CHECK: arith.cmpi eq
// CHECK: arith.select
func.func @diagonal(%x: tensor<4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// A loop that counts a result down is turned, and so are its indices.
// CHECK-LABEL: @backwards
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>
// CHECK: linalg.generic {indexing_maps = [#[[BACK_TWO]], #[[SWAPPED]]]
// CHECK: %[[PLACE:.*]] = linalg.index 0
// CHECK: %[[LAST:.*]] = arith.constant 3 : index
// CHECK: %[[TURNED:.*]] = arith.subi %[[LAST]], %[[PLACE]]
// CHECK: arith.index_cast %[[TURNED]]
func.func @backwards(%x: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, 3 - d0)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %p = arith.mulf %in, %k : f32
    linalg.yield %p : f32
  } -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Every second element, from the last one on.
// CHECK-LABEL: @backwards_in_part
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK: %[[PART:.*]] = linalg.generic {indexing_maps = [#[[BACK_ONE]], #[[ONE]]]{{.*}}
// CHECK: tensor.insert_slice %[[PART]] into %[[Y]][1] [4] [2]
func.func @backwards_in_part(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (7 - 2 * d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
