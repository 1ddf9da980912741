// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// The two contractions are equal and share a kernel, which fills its own
// accumulator.

// CHECK-LABEL: remat.graph @main(
// CHECK-SAME:    %[[X:.*]]: tensor<4x4xf32> {test.keep}, %[[W:[a-z0-9]*]]: tensor<4x4xf32>)
func.func @main(%x: tensor<4x4xf32> {test.keep}, %w: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[A:.*]] = remat.task 0 @[[MATMUL:matmul]](%[[X]], %[[W]]) {names = {{\[\[}}"a"]], policies = [#remat.policy<must_save>]}
  %a = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  %tagged = remat.tag %a {name = "a", policy = #remat.policy<must_save>} : tensor<4x4xf32>
  // CHECK-NEXT: %[[B:.*]] = remat.task 1 @[[TANH:tanh]](%[[A]])
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tagged : tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  %stopped = remat.stop_gradient %b : tensor<4x4xf32>
  // CHECK-NEXT: %[[C:.*]] = remat.task 2 @[[MATMUL]](%[[B]], %[[W]]) backward
  %c = linalg.matmul {remat.backward} ins(%stopped, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[C]]
  %v = tensor.collapse_shape %c [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  // The second result shares the buffer of the first, the third is an
  // argument, the fourth a constant: all are copied.
  // CHECK-NEXT: %[[D:.*]] = remat.task 3 @[[COPY:copy]](%[[V]])
  // CHECK-NEXT: %[[E:.*]] = remat.task 4 @{{.*}}(%[[X]])
  // CHECK-NEXT: %[[F:.*]] = remat.task 5 @[[CONST:copy_2]]()
  // CHECK-NEXT: remat.return %[[C]], %[[D]], %[[E]], %[[F]], %[[B]]
  %const = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<4x4xf32>
  return %c, %v, %x, %const, %b
      : tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK:      func.func private @[[MATMUL]](%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {remat.kernel}
// CHECK-NEXT:   arith.constant 0.0
// CHECK-NEXT:   tensor.empty
// CHECK-NEXT:   linalg.fill
// CHECK-NEXT:   linalg.matmul ins(
// CHECK:      func.func private @[[TANH]](
