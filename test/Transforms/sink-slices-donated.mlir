// A slice of an argument is read where it lies, unless the argument has given its buffer to a result by then.

// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: remat.graph @main
// CHECK-SAME: (%[[W:.*]]: tensor<8x8xf32> {remat.donated = 0 : i64}, %[[V:.*]]: tensor<8x8xf32>)
// CHECK: %[[S:.*]] = remat.task 0 @slice(%[[W]])
// CHECK: %[[B:.*]] = remat.task 1 @slice_sqrt(%[[W]])
// CHECK: %[[N:.*]] = remat.task 2 @neg(%[[W]])
// CHECK: %[[A:.*]] = remat.task 3 @sqrt(%[[S]])
// CHECK: %[[C:.*]] = remat.task 4 @slice_sqrt(%[[V]])
// CHECK: remat.return %[[N]], %[[A]], %[[B]], %[[C]]
func.func @main(%w: tensor<8x8xf32> {remat.donated = 0 : i64}, %v: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %f = tensor.empty() : tensor<8x4xf32>
  %p = tensor.extract_slice %w[0, 0] [8, 4] [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
  %q = tensor.extract_slice %w[0, 4] [8, 4] [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
  %r = tensor.extract_slice %v[0, 4] [8, 4] [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<8x4xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = math.sqrt %i : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = arith.negf %i : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<8x4xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = math.sqrt %i : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x4xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = math.sqrt %i : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %n, %a, %b, %c : tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
