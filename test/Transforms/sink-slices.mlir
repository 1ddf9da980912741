// On a CPU, the last part of a tensor stays a copy, which may lie where the tensor was. It is made when the others have been read.

// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

#t = affine_map<(i, j) -> (j, i)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[W:.*]] = remat.task 0 @neg(
// CHECK: %[[V:.*]] = remat.task 1 @slice_transpose(%[[W]])
// CHECK: %[[K:.*]] = remat.task 2 @slice_transpose_1(%[[W]])
// CHECK: %[[S:.*]] = remat.task 3 @slice(%[[W]])
// CHECK: %[[Q:.*]] = remat.task 4 @transpose(%[[S]])
// CHECK: remat.return %[[Q]], %[[K]], %[[V]]
func.func @main(%x: tensor<8x12xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<8x12xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.negf %i : f32
    linalg.yield %r : f32
  } -> tensor<8x12xf32>
  %q = tensor.extract_slice %w[0, 0] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %k = tensor.extract_slice %w[0, 4] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %v = tensor.extract_slice %w[0, 8] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %vt = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4x8xf32>
  %kt = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4x8xf32>
  %qt = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4x8xf32>
  return %qt, %kt, %vt : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
