// RUN: remat-opt %s --remat-narrow-contraction-operands | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// A gradient that was rounded to the factor's type and widened again is read as
// it was rounded; who else reads it still gets it widened. Views do not matter.
// CHECK-LABEL: @rounded
// CHECK-SAME: %[[A:.*]]: tensor<4x6xf32>, %[[B:.*]]: tensor<5x6xbf16>
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<4x6xf32>) outs({{.*}} : tensor<4x6xbf16>)
// CHECK: %[[T:.*]] = arith.truncf
// CHECK: linalg.yield %[[T]] : bf16
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[N]] : tensor<4x6xbf16>) outs({{.*}} : tensor<4x6xf32>)
// CHECK: arith.extf
// CHECK: %[[V:.*]] = tensor.expand_shape %[[N]] {{.*}} : tensor<4x6xbf16> into
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[V]]
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[C]], %[[B]] : tensor<4x6xbf16>, tensor<5x6xbf16>) outs({{.*}} : tensor<4x5xf32>)
// CHECK: return %[[P]], %[[W]]
func.func @rounded(%a: tensor<4x6xf32>, %b: tensor<5x6xbf16>) -> (tensor<4x5xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.truncf %in : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  %v = tensor.expand_shape %wide [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  %c = tensor.collapse_shape %v [[0, 1], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
  %r = tensor.empty() : tensor<4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<4x5xf32>) -> tensor<4x5xf32>
  %p = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%c, %b : tensor<4x6xf32>, tensor<5x6xbf16>) outs(%f : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %p, %wide : tensor<4x5xf32>, tensor<4x6xf32>
}

// Two factors that are widened, by one operation, are read before it.
// CHECK-LABEL: @both
// CHECK-SAME: %[[A:.*]]: tensor<4x6xf16>, %[[B:.*]]: tensor<4x6xf16>
// CHECK: linalg.contract {{.*}} ins(%[[A]], %[[B]] : tensor<4x6xf16>, tensor<4x6xf16>)
func.func @both(%a: tensor<4x6xf16>, %b: tensor<4x6xf16>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %wide:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x6xf16>, tensor<4x6xf16>) outs(%e, %e : tensor<4x6xf32>, tensor<4x6xf32>) {
  ^bb0(%in: f16, %in_0: f16, %out: f32, %out_0: f32):
    %0 = arith.extf %in : f16 to f32
    %1 = arith.extf %in_0 : f16 to f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %r = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%wide#0, %wide#1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// A factor that has digits of its own stays wide, and the other becomes so.
// CHECK-LABEL: @mixed
// CHECK-SAME: %[[A:.*]]: tensor<4x6xf32>, %[[B:.*]]: tensor<5x6xbf16>
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<5x6xbf16>) outs({{.*}} : tensor<5x6xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[A]], %[[W]] : tensor<4x6xf32>, tensor<5x6xf32>)
func.func @mixed(%a: tensor<4x6xf32>, %b: tensor<5x6xbf16>) -> tensor<4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %r = tensor.empty() : tensor<4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<4x5xf32>) -> tensor<4x5xf32>
  %p = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<4x6xf32>, tensor<5x6xbf16>) outs(%f : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %p : tensor<4x5xf32>
}
