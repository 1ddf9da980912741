// RUN: remat-opt %s -split-input-file --remat-separate-tags | FileCheck %s

// Each of two policies has a value of its own, and what reads a tag reads the
// value that the tag is about. The third tag agrees with the first, and the
// fourth with the second, through a view.

// CHECK-LABEL: func.func @demands
// CHECK:         %[[A:.*]] = math.exp
// CHECK-NEXT:    %[[B:.*]] = math.exp
// CHECK:         %[[SAVED:.*]] = remat.tag %[[A]] {policy = #remat.policy<must_save>}
// CHECK:         %[[LEFT:.*]] = remat.tag %[[B]] {name = "b", policy = #remat.policy<must_cpu_offload>}
// CHECK:         remat.tag %[[A]] {policy = #remat.policy<must_save>}
// CHECK:         %[[V:.*]] = tensor.collapse_shape %[[B]]
// CHECK:         remat.tag %[[V]] {policy = #remat.policy<must_cpu_offload>}
// CHECK:         math.sin %[[SAVED]]
// CHECK:         math.sin %[[LEFT]]
func.func @demands(%x: tensor<4x2xf32>)
    -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<8xf32>) {
  %0 = math.exp %x : tensor<4x2xf32>
  %1 = remat.tag %0 {policy = #remat.policy<must_save>} : tensor<4x2xf32>
  %2 = remat.tag %0 {name = "b", policy = #remat.policy<must_cpu_offload>} : tensor<4x2xf32>
  %3 = remat.tag %0 {policy = #remat.policy<must_save>} : tensor<4x2xf32>
  %4 = tensor.collapse_shape %1 [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
  %5 = remat.tag %4 {policy = #remat.policy<must_cpu_offload>} : tensor<8xf32>
  %6 = math.sin %1 : tensor<4x2xf32>
  %7 = math.sin %2 : tensor<4x2xf32>
  return %6, %7, %3, %5 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<8xf32>
}

// -----

// Nothing is repeated for a wish, of an argument or of a constant.

// CHECK-LABEL: func.func @wishes
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     math.exp
// CHECK-COUNT-1: arith.constant
// CHECK-NOT:     arith.constant
// CHECK:         return
func.func @wishes(%x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = math.exp %x : tensor<4xf32>
  %1 = remat.tag %0 {policy = #remat.policy<must_save>} : tensor<4xf32>
  %2 = remat.tag %0 {policy = #remat.policy<prefer_recompute>} : tensor<4xf32>
  %3 = remat.tag %x {policy = #remat.policy<must_save>} : tensor<4xf32>
  %4 = remat.tag %x {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %5 = remat.tag %c {policy = #remat.policy<must_save>} : tensor<4xf32>
  %6 = remat.tag %c {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  return %1, %2, %3, %4, %5, %6
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
