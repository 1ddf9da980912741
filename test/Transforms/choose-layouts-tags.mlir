// RUN: remat-opt %s --remat-choose-layouts | FileCheck %s

// A tag follows the order of what reads it, also where its operand does not and
// has to be transposed: that comes before the tag. The contraction stays as the
// library wants it.

// CHECK: %[[PRODUCT:.*]] = linalg.contract
// CHECK: %[[MOVED:.*]] = linalg.generic {{.*}} ins(%[[PRODUCT]] : tensor<3x5xf32>)
// CHECK: %[[TAG:.*]] = remat.tag %[[MOVED]] {policy = #remat.policy<prefer_recompute>} : tensor<5x3xf32>
// CHECK: tensor.expand_shape %[[TAG]]
func.func @main(%arg7: tensor<3x4x3xf32>, %arg8: tensor<5x3x1xf32>) -> (tensor<5x3x1xf32>, tensor<3x4x3xf32>) {
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<3x1x1xf32>
  %cst_4 = arith.constant dense<0.000000e+00> : tensor<3x5xf32>
  %cst_5 = arith.constant dense<5.000000e-01> : tensor<3x5xf32>
  %cst_6 = arith.constant dense<5.000000e-01> : tensor<3x3xf32>
  %0 = linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%cst_6, %cst_5 : tensor<3x3xf32>, tensor<3x5xf32>) outs(%cst_4 : tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = remat.tag %0 {policy = #remat.policy<prefer_recompute>} : tensor<3x5xf32>
  %expanded = tensor.expand_shape %1 [[0, 1], [2]] output_shape [1, 3, 5] : tensor<3x5xf32> into tensor<1x3x5xf32>
  %2 = remat.conv  forward(%expanded, %cst_3) {dilations = array<i64: 2>, filter_layout = array<i64: 0, 1, 2>, groups = 1 : i64, input_layout = array<i64: 2, 0, 1>, output_layout = array<i64: 0, 1, 2>, padding = array<i64: 2, 2>, strides = array<i64: 2>} : (tensor<1x3x5xf32>, tensor<3x1x1xf32>) -> tensor<5x3x4xf32>
  %3 = remat.conv  forward(%2, %arg7) {dilations = array<i64: 2>, filter_layout = array<i64: 0, 1, 2>, groups = 1 : i64, input_layout = array<i64: 0, 2, 1>, output_layout = array<i64: 0, 1, 2>, padding = array<i64: 0, 2>, strides = array<i64: 2>} : (tensor<5x3x4xf32>, tensor<3x4x3xf32>) -> tensor<5x3x1xf32>
  %4 = remat.conv  filter_grad(%2, %arg8) {dilations = array<i64: 2>, filter_layout = array<i64: 0, 1, 2>, groups = 1 : i64, input_layout = array<i64: 0, 2, 1>, output_layout = array<i64: 0, 1, 2>, padding = array<i64: 0, 2>, remat.backward, strides = array<i64: 2>} : (tensor<5x3x4xf32>, tensor<5x3x1xf32>) -> tensor<3x4x3xf32>
  return %3, %4 : tensor<5x3x1xf32>, tensor<3x4x3xf32>
}
