// RUN: remat-opt %s --remat-import-pipeline | FileCheck %s

// A linear layer with bias and activation, as PyTorch exports it: one contraction
// that reads the weight as it is, one elementwise operation.
// CHECK-LABEL: @main
// CHECK-SAME: %[[X:.*]]: tensor<1x2x3xf32>, %[[W:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4xf32>
// CHECK: %[[V:.*]] = tensor.collapse_shape %[[X]]
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[V]], %[[W]] :
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[B]] :
// CHECK: arith.addf
// CHECK-NEXT: math.tanh
// CHECK-NOT: linalg.generic
// CHECK: %[[R:.*]] = tensor.expand_shape %[[A]]
// CHECK: return %[[R]]
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#bias = affine_map<(d0, d1, d2) -> (d2)>

func.func private @activation(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %0 = math.tanh %x : tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}

func.func @main(%x: tensor<1x2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<1x2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %v = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %t = tensor.empty() : tensor<3x4xf32>
  %wt = linalg.transpose ins(%w : tensor<4x3xf32>) outs(%t : tensor<3x4xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = linalg.matmul ins(%v, %wt : tensor<2x3xf32>, tensor<3x4xf32>) outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
  %p3 = tensor.expand_shape %p [[0, 1], [2]] output_shape [1, 2, 4] : tensor<2x4xf32> into tensor<1x2x4xf32>
  %e3 = tensor.empty() : tensor<1x2x4xf32>
  %s = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p3, %b : tensor<1x2x4xf32>, tensor<4xf32>) outs(%e3 : tensor<1x2x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.addf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<1x2x4xf32>
  %r = call @activation(%s) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %r : tensor<1x2x4xf32>
}
