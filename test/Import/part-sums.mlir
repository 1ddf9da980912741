// Sums of gradients of slices: frameworks pad each of them by zeros.
// RUN: remat-opt %s --split-input-file --remat-import-part-sums --canonicalize --cse | FileCheck %s

#id2 = affine_map<(i, j) -> (i, j)>
#id3 = affine_map<(i, j, k) -> (i, j, k)>

// Queries, keys and values, in bf16. One lacks the dimension that it is one of.
// CHECK-LABEL: @concat
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x2xbf16>, %[[K:.*]]: tensor<4x2xbf16>, %[[V:.*]]: tensor<1x4x2xbf16>
// CHECK: %[[E:.*]] = tensor.expand_shape %[[K]]
// CHECK: %[[R:.*]] = tensor.concat dim(0) %[[Q]], %[[E]], %[[V]] {remat.backward}
// CHECK-NEXT: return %[[R]]
func.func @concat(%q: tensor<1x4x2xbf16>, %k: tensor<4x2xbf16>, %v: tensor<1x4x2xbf16>) -> tensor<3x4x2xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<3x4x2xbf16>
  %c = tensor.insert_slice %v into %zeros[2, 0, 0] [1, 4, 2] [1, 1, 1] : tensor<1x4x2xbf16> into tensor<3x4x2xbf16>
  %b = tensor.insert_slice %k into %zeros[1, 0, 0] [1, 4, 2] [1, 1, 1] : tensor<4x2xbf16> into tensor<3x4x2xbf16>
  %a = tensor.insert_slice %q into %zeros[0, 0, 0] [1, 4, 2] [1, 1, 1] : tensor<1x4x2xbf16> into tensor<3x4x2xbf16>
  %e = tensor.empty() : tensor<3x4x2xbf16>
  %s = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c, %b : tensor<3x4x2xbf16>, tensor<3x4x2xbf16>) outs(%e : tensor<3x4x2xbf16>) attrs = {remat.backward} {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %xf = arith.extf %x : bf16 to f32
    %yf = arith.extf %y : bf16 to f32
    %f = arith.addf %xf, %yf : f32
    %r = arith.truncf %f : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<3x4x2xbf16>
  %t = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %a : tensor<3x4x2xbf16>, tensor<3x4x2xbf16>) outs(%e : tensor<3x4x2xbf16>) attrs = {remat.backward} {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %r = arith.addf %y, %x : bf16
    linalg.yield %r : bf16
  } -> tensor<3x4x2xbf16>
  return %t : tensor<3x4x2xbf16>
}

// -----

// Halves of pads, as of a rotation in JAX, and even and odd places.
#id2 = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: @halves
// CHECK-SAME: %[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4x3xf32>
// CHECK: %[[R:.*]] = tensor.concat dim(1) %[[B]], %[[A]]
// CHECK: %[[ONE:.*]] = tensor.insert_slice %[[A]] into %{{.*}}[0, 0] [4, 3] [1, 2]
// CHECK: %[[TWO:.*]] = tensor.insert_slice %[[B]] into %[[ONE]][0, 1] [4, 3] [1, 2]
// CHECK: return %[[R]], %[[TWO]]
func.func @halves(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<4x6xf32>
  %p = tensor.pad %a low[0, 3] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x3xf32> to tensor<4x6xf32>
  %q = tensor.pad %b low[0, 0] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x3xf32> to tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%p, %q : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %c = tensor.insert_slice %a into %zeros[0, 0] [4, 3] [1, 2] : tensor<4x3xf32> into tensor<4x6xf32>
  %d = tensor.insert_slice %b into %zeros[0, 1] [4, 3] [1, 2] : tensor<4x3xf32> into tensor<4x6xf32>
  %t = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%c, %d : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %s, %t : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Sums stay of slices that overlap, of the forward computation, whose zeros
// have signs, of what is used elsewhere, and of what is padded by ones.
#id1 = affine_map<(i) -> (i)>
// CHECK-LABEL: @stay
// CHECK-COUNT-4: arith.addf
func.func @stay(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %one = arith.constant 1.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<6xf32>
  %e = tensor.empty() : tensor<6xf32>
  %p = tensor.insert_slice %a into %zeros[0] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %q = tensor.insert_slice %b into %zeros[3] [2] [1] : tensor<2xf32> into tensor<6xf32>
  %s = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]}
      ins(%p, %q : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %p2 = tensor.insert_slice %a into %zeros[0] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %q2 = tensor.insert_slice %b into %zeros[4] [2] [1] : tensor<2xf32> into tensor<6xf32>
  %t = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]}
      ins(%p2, %q2 : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %p3 = tensor.insert_slice %a into %zeros[0] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %q3 = tensor.pad %b low[4] high[0] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<2xf32> to tensor<6xf32>
  %u = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]}
      ins(%p3, %q3 : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %p4 = tensor.insert_slice %a into %zeros[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %q4 = tensor.insert_slice %b into %zeros[0] [2] [5] : tensor<2xf32> into tensor<6xf32>
  %v = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]}
      ins(%p4, %q4 : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  return %s, %t, %u, %v, %p4 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
