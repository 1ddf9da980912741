// RUN: remat-opt %s --remat-import-scalars | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// An element that a body captures becomes an operand.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[SCALAR:.*]] = affine_map<(d0) -> ()>
// CHECK-LABEL: @captured
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<f32>
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[SCALAR]], #[[ID]]]
// CHECK-SAME: ins(%[[X]], %[[S]] :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32)
// CHECK-NEXT: arith.mulf %[[A]], %[[B]]
func.func @captured(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %e = tensor.extract %s[] : tensor<f32>
  %init = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %e : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Arithmetic between operations becomes an operation on 0-d tensors.
// CHECK-LABEL: @computed
// CHECK-SAME: %[[S:.*]]: tensor<f32>
// CHECK: linalg.generic {{.*}} iterator_types = []} ins(%[[S]] : tensor<f32>)
// CHECK: arith.addf
// CHECK: %[[R:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK: return %[[R]]
func.func @computed(%s: tensor<f32>) -> tensor<4xf32> {
  %e = tensor.extract %s[] : tensor<f32>
  %sum = arith.addf %e, %e : f32
  %init = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%sum : f32) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @elements
// CHECK-SAME: %[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>
// CHECK-DAG: %[[C:.*]] = tensor.expand_shape %[[A]] [] output_shape [1]
// CHECK-DAG: %[[D:.*]] = tensor.expand_shape %[[B]] [] output_shape [1]
// CHECK: tensor.concat dim(0) %[[C]], %[[D]]
func.func @elements(%a: tensor<f32>, %b: tensor<f32>) -> tensor<2xf32> {
  %x = tensor.extract %a[] : tensor<f32>
  %y = tensor.extract %b[] : tensor<f32>
  %0 = tensor.from_elements %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A constant tensor with equal elements is a constant in the body.
// CHECK-LABEL: @splat
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>)
// CHECK: arith.mulf %{{.*}}, %[[TWO]] : f32
func.func @splat(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %init = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %two : tensor<4xf32>, tensor<4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %1 = arith.mulf %in, %in_0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Regions give tensors, too. What is outside reads the element, and an inner
// region hands its tensor on.
// CHECK-LABEL: @region
// CHECK: %[[R:.*]] = remat.checkpoint
// CHECK: %[[Q:.*]] = remat.scope
// CHECK: %[[E:.*]] = linalg.generic {{.*}} iterator_types = []}
// CHECK: remat.yield %[[E]] : tensor<f32>
// CHECK: remat.yield %[[Q]] : tensor<f32>
// CHECK: } : tensor<f32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[R]] : tensor<4xf32>, tensor<f32>)
func.func @region(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %r = remat.checkpoint {
    %q = remat.scope attributes {offload} {
      %e = tensor.extract %s[] : tensor<f32>
      %f = arith.mulf %e, %e : f32
      remat.yield %f : f32
    } : f32
    remat.yield %q : f32
  } : f32
  %init = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %r : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
