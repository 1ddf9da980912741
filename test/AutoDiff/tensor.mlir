// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=reverse --canonicalize --cse | FileCheck %s

// The cotangents of slices that make up a tensor are concatenated.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[G0:[a-z0-9]*]]: tensor<4x2xf32>, %[[G1:[a-z0-9]*]]: tensor<4x4xf32>)
// CHECK:         %[[DX:.*]] = tensor.concat dim(1) %[[G0]], %[[G1]] {remat.backward}
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>) {
  %a = tensor.extract_slice %x[0, 0] [4, 2] [1, 1] : tensor<4x6xf32> to tensor<4x2xf32>
  %b = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] : tensor<4x6xf32> to tensor<4x4xf32>
  return %a, %b : tensor<4x2xf32>, tensor<4x4xf32>
}

// -----

// Even and odd places do not overlap: nothing is added.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[G0:[a-z0-9]*]]: tensor<4x3xf32>, %[[G1:[a-z0-9]*]]: tensor<4x3xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         %[[ONE:.*]] = tensor.insert_slice %[[G1]] into %{{.*}}[0, 1] [4, 3] [1, 2]
// CHECK-NOT:     linalg.generic
// CHECK:         %[[DX:.*]] = tensor.insert_slice %[[G0]] into %[[ONE]][0, 0] [4, 3] [1, 2]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %a = tensor.extract_slice %x[0, 0] [4, 3] [1, 2] : tensor<4x6xf32> to tensor<4x3xf32>
  %b = tensor.extract_slice %x[0, 1] [4, 3] [1, 2] : tensor<4x6xf32> to tensor<4x3xf32>
  return %a, %b : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Overlapping slices are added.

// CHECK-LABEL: func.func @main
// CHECK:         tensor.insert_slice
// CHECK:         tensor.extract_slice {{.*}} {remat.backward}
// CHECK:           arith.addf
// CHECK:         tensor.insert_slice
func.func @main(%x: tensor<6xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = tensor.extract_slice %x[0] [4] [1] : tensor<6xf32> to tensor<4xf32>
  %b = tensor.extract_slice %x[2] [4] [1] : tensor<6xf32> to tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[G:[a-z0-9]*]]: tensor<2x5xf32>)
// CHECK-DAG:     tensor.extract_slice %[[G]][0, 0] [2, 3] [1, 1] {remat.backward}
// CHECK-DAG:     tensor.extract_slice %[[G]][0, 3] [2, 2] [1, 1] {remat.backward}
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x2xf32>) -> tensor<2x5xf32> {
  %c = tensor.concat dim(1) %x, %y : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  return %c : tensor<2x5xf32>
}

// -----

// What does not depend on an argument has the gradient zero; nothing flows
// through remat.stop_gradient.

// CHECK-LABEL: func.func @main
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant {{.*}}dense<0.000000e+00> : tensor<2xf32>
// CHECK:         return %{{.*}}, %[[ZERO]]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = remat.stop_gradient %x : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// The derivatives of a convolution are convolutions.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<8x3x16x16xf32>, %[[W:[a-z0-9]*]]: tensor<4x3x3x3xf32>, %[[G:[a-z0-9]*]]: tensor<8x4x8x8xf32>)
// CHECK-DAG:     remat.conv input_grad(%[[G]], %[[W]])
// CHECK-DAG:     remat.conv filter_grad(%[[X]], %[[G]])
func.func @main(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32> {
  %y = remat.conv forward(%x, %w) {strides = array<i64: 2, 2>,
      dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32>
  return %y : tensor<8x4x8x8xf32>
}
