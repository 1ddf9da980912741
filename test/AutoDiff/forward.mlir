// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=forward --canonicalize --cse | FileCheck %s

// Forward mode. Tangents follow the operation they belong to and
// need nothing of the backward computation.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<4xf32>, %[[T:[a-z0-9]*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK:         %[[Y:.*]] = linalg.generic
// CHECK:           math.exp
// CHECK:         %[[DY:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     remat.backward
// CHECK:           arith.mulf
// CHECK:         return %[[Y]], %[[DY]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Of a product, each factor's tangent is multiplied by the other factor; the
// second product accumulates onto the first.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[A:[a-z0-9]*]]: tensor<2x3xf32>, %[[B:[a-z0-9]*]]: tensor<3x4xf32>, %[[C:[a-z0-9]*]]: tensor<2x4xf32>, %[[DA:[a-z0-9]*]]: tensor<2x3xf32>, %[[DB:[a-z0-9]*]]: tensor<3x4xf32>, %[[DC:[a-z0-9]*]]: tensor<2x4xf32>)
// CHECK:         linalg.matmul ins(%[[A]], %[[B]] : {{.*}}) outs(%[[C]]
// CHECK:         %[[P:.*]] = linalg.matmul ins(%[[DA]], %[[B]] : {{.*}}) outs(%[[DC]]
// CHECK:         %[[Q:.*]] = linalg.matmul ins(%[[A]], %[[DB]] : {{.*}}) outs(%[[P]]
// CHECK:         return %{{.*}}, %[[Q]]
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// What moves elements moves their tangents; integers are not touched.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<4x6xf32>, %[[I:[a-z0-9]*]]: tensor<i64>, %[[T:[a-z0-9]*]]: tensor<4x6xf32>)
// CHECK-DAG:     tensor.extract_slice %[[X]][0, 2] [4, 3] [1, 1]
// CHECK-DAG:     %[[S:.*]] = tensor.extract_slice %[[T]][0, 2] [4, 3] [1, 1]
// CHECK-DAG:     %[[P:.*]] = tensor.pad %[[S]] low[0, 1] high[0, 0]
// CHECK:         return %{{.*}}, %[[I]], %[[P]]
func.func @main(%x: tensor<4x6xf32>, %i: tensor<i64>) -> (tensor<4x4xf32>, tensor<i64>) {
  %c = arith.constant 1.0 : f32
  %a = tensor.extract_slice %x[0, 2] [4, 3] [1, 1] : tensor<4x6xf32> to tensor<4x3xf32>
  %p = tensor.pad %a low[0, 1] high[0, 0] {
  ^bb0(%j: index, %k: index):
    tensor.yield %c : f32
  } : tensor<4x3xf32> to tensor<4x4xf32>
  return %p, %i : tensor<4x4xf32>, tensor<i64>
}

// -----

// The tangent of a scatter is the scatter of the tangents.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[IDS:[a-z0-9]*]]: tensor<3xindex>, %[[V:[a-z0-9]*]]: tensor<3xf32>, %[[Z:[a-z0-9]*]]: tensor<9xf32>, %[[DV:[a-z0-9]*]]: tensor<3xf32>, %[[DZ:[a-z0-9]*]]: tensor<9xf32>)
// CHECK:         remat.scatter {{.*}} outs(%[[Z]] : tensor<9xf32>)
// CHECK:         %[[DY:.*]] = remat.scatter {{.*}} outs(%[[DZ]] : tensor<9xf32>)
// CHECK:         return %{{.*}}, %[[DY]]
func.func @main(%ids: tensor<3xindex>, %v: tensor<3xf32>, %z: tensor<9xf32>) -> tensor<9xf32> {
  %y = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], sizes = array<i64: 3>}
      ins(%ids, %v : tensor<3xindex>, tensor<3xf32>) outs(%z : tensor<9xf32>) {
  ^bb0(%p: index, %i: index, %e: f32):
    %s = math.sin %e : f32
    remat.yield %i, %s : index, f32
  } -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// -----

// Nothing flows through remat.stop_gradient, in this direction either, and
// what does not depend on an argument has the tangent zero.

// CHECK-LABEL: func.func @main
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant {{.*}}dense<0.000000e+00> : tensor<2xf32>
// CHECK:         return %{{.*}}, %[[ZERO]]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = remat.stop_gradient %x : tensor<2xf32>
  return %s : tensor<2xf32>
}
