// RUN: remat-opt %s --remat-import-convolutions | FileCheck %s

// Zero padding of the input becomes padding of the convolution.
// CHECK-LABEL: @padded
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>
// CHECK: %[[Y:.*]] = remat.conv forward(%[[X]], %[[W]])
// CHECK-SAME: dilations = array<i64: 1, 1>
// CHECK-SAME: groups = 1
// CHECK-SAME: padding = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>
// CHECK: return %[[Y]]
func.func @padded(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x8x8xf32> to tensor<1x3x10x10xf32>
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  // The last row of the padded input is read by no window.
  %0 = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>}
      ins(%p, %w : tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>)
      outs(%f : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// Layouts are read from the maps. An init that is not zero is added.
// CHECK-LABEL: @channels_last
// CHECK: %[[Y:.*]] = remat.conv forward
// CHECK-SAME: filter_layout = array<i64: 3, 2, 0, 1>
// CHECK-SAME: input_layout = array<i64: 0, 3, 1, 2>, output_layout = array<i64: 0, 3, 1, 2>
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %{{.*}} :
// CHECK: arith.addf
func.func @channels_last(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>,
                         %init: tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf
      ins(%x, %w : tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>)
      outs(%init : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}

// A group dimension is merged into the features.
// CHECK-LABEL: @grouped
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2], [3], [4]] : tensor<1x2x3x8x8xf32> into tensor<1x6x8x8xf32>
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2], [3], [4]] : tensor<2x4x3x3x3xf32> into tensor<8x3x3x3xf32>
// CHECK: remat.conv forward{{.*}} groups = 2
// CHECK: tensor.expand_shape {{.*}} into tensor<1x2x4x6x6xf32>
func.func @grouped(%x: tensor<1x2x3x8x8xf32>, %w: tensor<2x4x3x3x3xf32>) -> tensor<1x2x4x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x4x6x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x6x6xf32>) -> tensor<1x2x4x6x6xf32>
  %0 = linalg.conv_2d_ngchw_gfchw
      ins(%x, %w : tensor<1x2x3x8x8xf32>, tensor<2x4x3x3x3xf32>)
      outs(%f : tensor<1x2x4x6x6xf32>) -> tensor<1x2x4x6x6xf32>
  return %0 : tensor<1x2x4x6x6xf32>
}

// Depthwise: as many groups as channels, each with one input feature.
// CHECK-LABEL: @depthwise_multiplier
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1], [2, 3]] : tensor<3x3x4x2xf32> into tensor<3x3x8xf32>
// CHECK: tensor.expand_shape {{.*}} into tensor<3x3x8x1xf32>
// CHECK: remat.conv forward
// CHECK-SAME: filter_layout = array<i64: 2, 3, 0, 1>, groups = 4
// CHECK: tensor.expand_shape {{.*}} into tensor<1x6x6x4x2xf32>
func.func @depthwise_multiplier(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x2xf32>) -> tensor<1x6x6x4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x6x6x4x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6x6x4x2xf32>) -> tensor<1x6x6x4x2xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwcm
      ins(%x, %w : tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>)
      outs(%f : tensor<1x6x6x4x2xf32>) -> tensor<1x6x6x4x2xf32>
  return %0 : tensor<1x6x6x4x2xf32>
}

// Pooling is no convolution.
// CHECK-LABEL: @pooling
// CHECK: linalg.pooling_nchw_sum
func.func @pooling(%x: tensor<1x4x8x8xf32>, %w: tensor<2x2xf32>, %init: tensor<1x4x7x7xf32>) -> tensor<1x4x7x7xf32> {
  %0 = linalg.pooling_nchw_sum ins(%x, %w : tensor<1x4x8x8xf32>, tensor<2x2xf32>)
      outs(%init : tensor<1x4x7x7xf32>) -> tensor<1x4x7x7xf32>
  return %0 : tensor<1x4x7x7xf32>
}

// JAX writes the gradient of a filter as a forward convolution that sums over the batch. It is one by the filter, with
// strides and dilations exchanged, and without what the padding adds beyond what is read.
// CHECK-LABEL: @filter_gradient
// CHECK: remat.conv filter_grad(%arg0, %arg1) {dilations = array<i64: 1, 1>, filter_layout = array<i64: 3, 2, 0, 1>, groups = 1 : i64,
// CHECK-SAME: input_layout = array<i64: 0, 3, 1, 2>, output_layout = array<i64: 0, 3, 1, 2>, padding = array<i64: 1, 0, 1, 0>, strides = array<i64: 2, 2>}
// CHECK-SAME: (tensor<4x8x8x3xf32>, tensor<4x4x4x6xf32>) -> tensor<3x3x3x6xf32>
func.func @filter_gradient(%x: tensor<4x8x8x3xf32>, %dy: tensor<4x4x4x6xf32>) -> tensor<3x3x3x6xf32> {
  %0 = remat.conv forward(%x, %dy) {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, padding = array<i64: 1, 0, 1, 0>, groups = 1 : i64,
      input_layout = array<i64: 3, 0, 1, 2>, filter_layout = array<i64: 3, 0, 1, 2>, output_layout = array<i64: 2, 3, 0, 1>}
      : (tensor<4x8x8x3xf32>, tensor<4x4x4x6xf32>) -> tensor<3x3x3x6xf32>
  return %0 : tensor<3x3x3x6xf32>
}

// One by one position is a layer on all of an image, and large patches are a convolution: the batch is not summed over.
// CHECK-LABEL: @patches
// CHECK: remat.conv forward
// CHECK: remat.conv forward
func.func @patches(%x: tensor<4x8x8x3xf32>, %w: tensor<8x8x3x6xf32>, %p: tensor<4x4x3x6xf32>) -> (tensor<4x1x1x6xf32>, tensor<4x2x2x6xf32>) {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64,
      input_layout = array<i64: 0, 3, 1, 2>, filter_layout = array<i64: 3, 2, 0, 1>, output_layout = array<i64: 0, 3, 1, 2>}
      : (tensor<4x8x8x3xf32>, tensor<8x8x3x6xf32>) -> tensor<4x1x1x6xf32>
  %1 = remat.conv forward(%x, %p) {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64,
      input_layout = array<i64: 0, 3, 1, 2>, filter_layout = array<i64: 3, 2, 0, 1>, output_layout = array<i64: 0, 3, 1, 2>}
      : (tensor<4x8x8x3xf32>, tensor<4x4x3x6xf32>) -> tensor<4x2x2x6xf32>
  return %0, %1 : tensor<4x1x1x6xf32>, tensor<4x2x2x6xf32>
}
