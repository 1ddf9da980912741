// RUN: remat-opt %s -split-input-file --remat-differentiate --canonicalize --cse | FileCheck %s

// Both derivatives of a contraction are contractions with the same maps.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[$A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$B:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$C:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<4x8xf32>, %[[W:[a-z0-9]*]]: tensor<8x2xf32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<8x2xf32>)
// CHECK:         linalg.contract
// CHECK:         %[[G:.*]] = linalg.generic {{.*}} attrs = {remat.backward}
// CHECK-DAG:     %[[DW:.*]] = linalg.contract indexing_maps = [#[[$A]], #[[$C]], #[[$B]]] {remat.backward} ins(%[[X]], %[[G]] :
// CHECK-DAG:     %[[DX:.*]] = linalg.contract indexing_maps = [#[[$C]], #[[$B]], #[[$A]]] {remat.backward} ins(%[[G]], %[[W]] :
// CHECK:         return %{{.*}}, %[[DX]], %[[DW]]
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %y = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x8xf32>, tensor<8x2xf32>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
  %e1 = tensor.empty() : tensor<f32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<4x2xf32>) outs(%z1 : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.mulf %i, %i : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The gradients of a dot contraction sum nothing, which linalg.contract refuses.

// CHECK-LABEL: func.func @main
// CHECK:         linalg.contract
// CHECK-NOT:     linalg.contract
// CHECK:         linalg.generic {{.*}}["parallel"]} ins(%{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}} : tensor<8xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.mulf
func.func @main(%a: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.contract indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] ins(%a, %x : tensor<8xf32>, tensor<8xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A sum of products of something else than the inputs is no product of them:
// the gradient of sum(exp(a) * b) by a has the exponential.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     linalg.contract
// CHECK:         linalg.generic {{.*}} attrs = {remat.backward}
// CHECK:           math.exp
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = math.exp %x : f32
    %1 = arith.mulf %0, %y : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
