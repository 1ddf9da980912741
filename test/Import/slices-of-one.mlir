// RUN: remat-opt %s --remat-import-clean-up | FileCheck %s

// What is sliced has two dimensions of size one, and loses the last one. With
// constant offsets, upstream would drop the first.

// CHECK-LABEL: func.func @main
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %{{.*}}[0, 0, 3] [1, 6, 1] [1, 1, 1] : tensor<1x6x6xf32> to tensor<1x6x1xf32>
// CHECK: tensor.collapse_shape %[[SLICE]] {{\[\[}}0], [1, 2]] : tensor<1x6x1xf32> into tensor<1x6xf32>
// CHECK: %[[WHOLE:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [1, 6, 1] : tensor<1x6xf32> into tensor<1x6x1xf32>
// CHECK: tensor.insert_slice %[[WHOLE]] into %{{.*}}[0, 0, 3] [1, 6, 1] [1, 1, 1] : tensor<1x6x1xf32> into tensor<1x6x6xf32>
func.func @main(%x: tensor<1x6x6xf32>, %y: tensor<1x6xf32>) -> (tensor<1x6xf32>, tensor<1x6x6xf32>) {
  %i = arith.constant 3 : index
  %s = tensor.extract_slice %x[0, 0, %i] [1, 6, 1] [1, 1, 1] : tensor<1x6x6xf32> to tensor<1x6xf32>
  %p = linalg.add ins(%s, %y : tensor<1x6xf32>, tensor<1x6xf32>) outs(%y : tensor<1x6xf32>) -> tensor<1x6xf32>
  %r = tensor.insert_slice %p into %x[0, 0, %i] [1, 6, 1] [1, 1, 1] : tensor<1x6xf32> into tensor<1x6x6xf32>
  return %p, %r : tensor<1x6xf32>, tensor<1x6x6xf32>
}
