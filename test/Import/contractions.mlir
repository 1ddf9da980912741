// RUN: remat-opt %s --remat-import-contractions | FileCheck %s

// CHECK-DAG: #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[M:.*]] = affine_map<(d0, d1) -> (d0)>

// The transpose of a weight moves into its map.
// CHECK-LABEL: @linear
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<4x3xf32>
// CHECK: linalg.contract indexing_maps = [#[[MK]], #[[NK]], #[[MN]]] ins(%[[X]], %[[W]] :
func.func @linear(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<3x4xf32>
  %wt = linalg.transpose ins(%w : tensor<4x3xf32>) outs(%t : tensor<3x4xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = linalg.matmul ins(%x, %wt : tensor<2x3xf32>, tensor<3x4xf32>)
      outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// An init that is not zero is added afterwards.
// CHECK-LABEL: @bias
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[X:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<2xf32>
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: %[[P:.*]] = linalg.contract indexing_maps = [{{.*}}, #[[M]]] ins(%[[A]], %[[X]] : {{.*}} outs(%[[ZERO]] :
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[B]] :
// CHECK: arith.addf
func.func @bias(%a: tensor<2x3xf32>, %x: tensor<3xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = linalg.matvec ins(%a, %x : tensor<2x3xf32>, tensor<3xf32>)
      outs(%b : tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// JAX's dot_general with two reduced dimensions, narrow inputs.
// CHECK-LABEL: @generic
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x3x4xf16>, tensor<2x3x5xf16>) outs(%{{.*}} : tensor<5x4xf32>)
func.func @generic(%a: tensor<2x3x4xf16>, %b: tensor<2x3x5xf16>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (k, l, n)>,
                                        affine_map<(m, n, k, l) -> (k, l, m)>,
                                        affine_map<(m, n, k, l) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<2x3x4xf16>, tensor<2x3x5xf16>) outs(%f : tensor<5x4xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %v, %u : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// The second operand is read squared: no contraction.
// CHECK-LABEL: @not_a_contraction
// CHECK-NOT: linalg.contract
func.func @not_a_contraction(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
      iterator_types = ["reduction"]}
      ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<f32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %y, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// A weight that is repeated for each of a batch is read where it is; a sum over
// what one factor only repeats stays.
// CHECK-LABEL: @repeated
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<5x4xf32>
// CHECK: linalg.contract {{.*}} ins(%[[X]], %[[W]] : tensor<2x3x4xf32>, tensor<5x4xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[X]], %{{.*}} : tensor<2x3x4xf32>, tensor<2x4x5xf32>)
#weight = affine_map<(b, k, n) -> (n, k)>
#batch = affine_map<(b, k, n) -> (b, k, n)>
#x = affine_map<(m, n, b, k) -> (b, m, k)>
#w = affine_map<(m, n, b, k) -> (b, k, n)>
#o = affine_map<(m, n, b, k) -> (m, n)>
func.func @repeated(%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>) -> (tensor<2x3x5xf32>, tensor<3x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<2x4x5xf32>
  %wide = linalg.generic {indexing_maps = [#weight, #batch], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<5x4xf32>) outs(%t : tensor<2x4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x5xf32>
  %e = tensor.empty() : tensor<2x3x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %0 = linalg.batch_matmul ins(%x, %wide : tensor<2x3x4xf32>, tensor<2x4x5xf32>) outs(%f : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %e1 = tensor.empty() : tensor<3x5xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = linalg.contract indexing_maps = [#x, #w, #o] ins(%x, %wide : tensor<2x3x4xf32>, tensor<2x4x5xf32>) outs(%f1 : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0, %1 : tensor<2x3x5xf32>, tensor<3x5xf32>
}

// A transposed result is written as it is read where a library can: dimensions
// of one factor stay next to each other, behind those of a batch.
// CHECK-LABEL: @transposed
// CHECK-SAME: %[[X:.*]]: tensor<6x3xf32>, %[[Y:.*]]: tensor<6x4x5xf32>, %[[A:.*]]: tensor<2x6x3xf32>, %[[B:.*]]: tensor<2x6x4xf32>
// CHECK: %[[R0:.*]] = linalg.contract {{.*}} ins(%[[X]], %[[Y]] : {{.*}} -> tensor<4x5x3xf32>
// CHECK: %[[R1:.*]] = linalg.contract {{.*}} ins(%[[A]], %[[B]] : {{.*}} -> tensor<2x4x3xf32>
// CHECK: linalg.contract {{.*}} ins(%[[X]], %[[Y]] : {{.*}} -> tensor<3x4x5xf32>
// CHECK: %[[R2:.*]] = linalg.transpose
// CHECK: return %[[R0]], %[[R1]], %[[R2]]
#xt = affine_map<(d, h, k, n) -> (n, d)>
#yt = affine_map<(d, h, k, n) -> (n, h, k)>
#rt = affine_map<(d, h, k, n) -> (d, h, k)>
#at = affine_map<(b, d, f, n) -> (b, n, d)>
#bt = affine_map<(b, d, f, n) -> (b, n, f)>
#ct = affine_map<(b, d, f, n) -> (b, d, f)>
func.func @transposed(%x: tensor<6x3xf32>, %y: tensor<6x4x5xf32>, %a: tensor<2x6x3xf32>, %b: tensor<2x6x4xf32>)
    -> (tensor<4x5x3xf32>, tensor<2x4x3xf32>, tensor<4x3x5xf32>) {
  %zero = arith.constant dense<0.0> : tensor<3x4x5xf32>
  %0 = linalg.contract indexing_maps = [#xt, #yt, #rt] ins(%x, %y : tensor<6x3xf32>, tensor<6x4x5xf32>) outs(%zero : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %e0 = tensor.empty() : tensor<4x5x3xf32>
  %r0 = linalg.transpose ins(%0 : tensor<3x4x5xf32>) outs(%e0 : tensor<4x5x3xf32>) permutation = [1, 2, 0]
  %zero1 = arith.constant dense<0.0> : tensor<2x3x4xf32>
  %1 = linalg.contract indexing_maps = [#at, #bt, #ct] ins(%a, %b : tensor<2x6x3xf32>, tensor<2x6x4xf32>) outs(%zero1 : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %e1 = tensor.empty() : tensor<2x4x3xf32>
  %r1 = linalg.transpose ins(%1 : tensor<2x3x4xf32>) outs(%e1 : tensor<2x4x3xf32>) permutation = [0, 2, 1]
  %2 = linalg.contract indexing_maps = [#xt, #yt, #rt] ins(%x, %y : tensor<6x3xf32>, tensor<6x4x5xf32>) outs(%zero : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %e2 = tensor.empty() : tensor<4x3x5xf32>
  %r2 = linalg.transpose ins(%2 : tensor<3x4x5xf32>) outs(%e2 : tensor<4x3x5xf32>) permutation = [1, 0, 2]
  return %r0, %r1, %r2 : tensor<4x5x3xf32>, tensor<2x4x3xf32>, tensor<4x3x5xf32>
}
