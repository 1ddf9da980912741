// RUN: remat-opt %s --remat-import-slices | FileCheck %s

// Slices at computed places read and choose element by element; the offset is
// checked so that the slice stays inside.

// CHECK-LABEL: func.func @extract
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<8x3xf32>, %[[I:[a-z0-9]*]]: index
// CHECK:         linalg.generic
// CHECK-DAG:       %[[BOUND:.*]] = arith.constant 5 : index
// CHECK-DAG:       remat.check_index %[[I]], %[[BOUND]] : index
// CHECK:           tensor.extract %[[X]]
// CHECK:           -> tensor<2x3xf32>
func.func @extract(%x: tensor<8x3xf32>, %i: index) -> tensor<2x3xf32> {
  %y = tensor.extract_slice %x[%i, 0] [2, 3] [3, 1] : tensor<8x3xf32> to tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @insert
// CHECK-SAME:    %[[V:[a-z0-9]*]]: tensor<3xf32>, %[[X:[a-z0-9]*]]: tensor<8x3xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] :
// CHECK:           remat.check_index
// CHECK:           tensor.extract %[[V]][%{{.*}}] : tensor<3xf32>
// CHECK:           arith.select
func.func @insert(%v: tensor<3xf32>, %x: tensor<8x3xf32>, %i: index) -> tensor<8x3xf32> {
  %y = tensor.insert_slice %v into %x[%i, 0] [1, 3] [1, 1] : tensor<3xf32> into tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// Constant offsets are left alone.

// CHECK-LABEL: func.func @constant
// CHECK:         tensor.extract_slice
func.func @constant(%x: tensor<8xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[3] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}
