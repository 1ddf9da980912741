// Padding by a negative amount cuts off, also where the shape stays the same.
// RUN: remat-opt %s --split-input-file --verify-diagnostics --remat-import-pipeline | FileCheck %s

// CHECK-LABEL: @main
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %arg0[0, 1] [2, 3] [1, 1]
// CHECK: tensor.pad %[[SLICE]] low[0, 0] high[0, 1]
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %y = tensor.pad %x low[0, -1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x4xf32> to tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// All is cut off.
// CHECK: tensor.pad
// CHECK-SAME: low[0, 0] high[0, 1]
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x1xf32> {
  %zero = arith.constant 0.0 : f32
  %y = tensor.pad %x low[0, -2] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x2xf32> to tensor<2x1xf32>
  return %y : tensor<2x1xf32>
}

// -----

func.func @main(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.pad' op cuts off 2 of a size of 1}}
  %y = tensor.pad %x low[0, -2] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x1xf32> to tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
