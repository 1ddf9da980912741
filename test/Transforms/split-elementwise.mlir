// Parts of elementwise values are made apart: slices of what they are made of, and concatenations of what is made of parts.

// RUN: remat-opt %s -split-input-file --remat-split-elementwise | FileCheck %s

#all = affine_map<(s, b, n, d) -> (s, b, n, d)>
#rows = affine_map<(s, b, n, d) -> (b, n, s, d)>
#bias = affine_map<(s, b, n, d) -> (s, d)>

// A projection with a bias, of which queries and keys are parts.
// CHECK-LABEL: func @projection(
// CHECK-SAME: %[[X:.*]]: tensor<4x32x2x64xf32>, %[[B:.*]]: tensor<2x64xf32>)
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [4, 32, 1, 64]
// CHECK: %[[B0:.*]] = tensor.extract_slice %[[B]][0, 0] [1, 64]
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[X0]], %[[B0]] : {{.*}}) outs(%{{.*}} : tensor<1x4x32x64xf32>)
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][0, 0, 1, 0] [4, 32, 1, 64]
// CHECK: %[[B1:.*]] = tensor.extract_slice %[[B]][1, 0] [1, 64]
// CHECK: %[[K:.*]] = linalg.generic {{.*}} ins(%[[X1]], %[[B1]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[Q]], %[[K]]
func.func @projection(%x: tensor<4x32x2x64xf32>, %b: tensor<2x64xf32>) -> (tensor<1x4x32x64xf32>, tensor<1x4x32x64xf32>) {
  %e = tensor.empty() : tensor<2x4x32x64xf32>
  %t = linalg.generic {indexing_maps = [#rows, #bias, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %b : tensor<4x32x2x64xf32>, tensor<2x64xf32>) outs(%e : tensor<2x4x32x64xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %r = arith.addf %a, %c : f32
    linalg.yield %r : f32
  } -> tensor<2x4x32x64xf32>
  %k = tensor.extract_slice %t[1, 0, 0, 0] [1, 4, 32, 64] [1, 1, 1, 1] : tensor<2x4x32x64xf32> to tensor<1x4x32x64xf32>
  %q = tensor.extract_slice %t[0, 0, 0, 0] [1, 4, 32, 64] [1, 1, 1, 1] : tensor<2x4x32x64xf32> to tensor<1x4x32x64xf32>
  return %q, %k : tensor<1x4x32x64xf32>, tensor<1x4x32x64xf32>
}

// The gradient of it. The scale is done with the transpose.
// CHECK-LABEL: func @gradient(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x32x64xf32>, %[[K:.*]]: tensor<2x4x32x64xf32>)
// CHECK: %[[P0:.*]] = linalg.generic {{.*}} ins(%[[Q]] : {{.*}}) outs(%{{.*}} : tensor<4x32x1x64xf32>) attrs = {{ *}}{remat.backward}
// CHECK: %[[P1:.*]] = linalg.generic {{.*}} ins(%[[K]] : {{.*}}) outs(%{{.*}} : tensor<4x32x2x64xf32>) attrs = {{ *}}{remat.backward}
// CHECK: %[[C:.*]] = tensor.concat dim(2) %[[P0]], %[[P1]] {remat.backward}
// CHECK: return %[[C]]
func.func @gradient(%q: tensor<1x4x32x64xf32>, %k: tensor<2x4x32x64xf32>) -> tensor<4x32x3x64xf32> {
  %two = arith.constant 2.0 : f32
  %c = tensor.concat dim(0) %q, %k {remat.backward} : (tensor<1x4x32x64xf32>, tensor<2x4x32x64xf32>) -> tensor<3x4x32x64xf32>
  %e = tensor.empty() {remat.backward} : tensor<4x32x3x64xf32>
  %t = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c : tensor<3x4x32x64xf32>) outs(%e : tensor<4x32x3x64xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %two : f32
    linalg.yield %r : f32
  } -> tensor<4x32x3x64xf32>
  return %t : tensor<4x32x3x64xf32>
}

// -----

// A chain of elementwise values is split as far as nothing else reads it.
#id = affine_map<(n, d) -> (n, d)>
// CHECK-LABEL: func @chain(
// CHECK-SAME: %[[X:.*]]: tensor<128x128xf32>
// CHECK: %[[S:.*]] = tensor.extract_slice %[[X]][0, 0] [64, 128]
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<64x128xf32>)
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<64x128xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return %[[N]]
func.func @chain(%x: tensor<128x128xf32>) -> tensor<64x128xf32> {
  %e = tensor.empty() : tensor<128x128xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %s = tensor.extract_slice %1[0, 0] [64, 128] [1, 1] : tensor<128x128xf32> to tensor<64x128xf32>
  return %s : tensor<64x128xf32>
}

// -----

// What stays whole: parts with common elements, a tag, another reader, small parts, and what asks for its place.
#id = affine_map<(n, d) -> (n, d)>
// CHECK-LABEL: func @whole(
// CHECK-COUNT-5: linalg.generic {{.*}} outs(%{{.*}} : tensor<128x128xf32>)
// CHECK-NOT: linalg.generic
func.func @whole(%x: tensor<128x128xf32>) -> (tensor<96x128xf32>, tensor<96x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>,
    tensor<128x128xf32>, tensor<8x128xf32>, tensor<64x128xf32>) {
  %e = tensor.empty() : tensor<128x128xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %a0 = tensor.extract_slice %0[0, 0] [96, 128] [1, 1] : tensor<128x128xf32> to tensor<96x128xf32>
  %b0 = tensor.extract_slice %0[32, 0] [96, 128] [1, 1] : tensor<128x128xf32> to tensor<96x128xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.sin %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %tagged = remat.tag %1 {name = "kept"} : tensor<128x128xf32>
  %a1 = tensor.extract_slice %tagged[0, 0] [64, 128] [1, 1] : tensor<128x128xf32> to tensor<64x128xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.cos %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %a2 = tensor.extract_slice %2[0, 0] [64, 128] [1, 1] : tensor<128x128xf32> to tensor<64x128xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %a3 = tensor.extract_slice %3[0, 0] [8, 128] [1, 1] : tensor<128x128xf32> to tensor<8x128xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %r = arith.mulf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %a4 = tensor.extract_slice %4[0, 0] [64, 128] [1, 1] : tensor<128x128xf32> to tensor<64x128xf32>
  return %a0, %b0, %a1, %a2, %2, %a3, %a4 : tensor<96x128xf32>, tensor<96x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>,
      tensor<128x128xf32>, tensor<8x128xf32>, tensor<64x128xf32>
}

// -----

// What reads several tensors of its size stays whole: a part would have a slice of each, as in the gradient of a batch
// norm behind a concatenation.
#id = affine_map<(n, d) -> (n, d)>
#row = affine_map<(n, d) -> (d)>
// CHECK-LABEL: func @several(
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<128x128xf32>)
// CHECK: tensor.extract_slice %[[ALL]][0, 0] [128, 64]
// CHECK: tensor.extract_slice %[[ALL]][0, 64] [128, 64]
// CHECK-NOT: linalg.generic
func.func @several(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>, %s: tensor<128xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %e = tensor.empty() : tensor<128x128xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y, %s : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %p = arith.mulf %b, %c : f32
    %r = arith.subf %a, %p : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %l = tensor.extract_slice %0[0, 0] [128, 64] [1, 1] : tensor<128x128xf32> to tensor<128x64xf32>
  %h = tensor.extract_slice %0[0, 64] [128, 64] [1, 1] : tensor<128x128xf32> to tensor<128x64xf32>
  return %l, %h : tensor<128x64xf32>, tensor<128x64xf32>
}

// -----

// A library may add the bias of narrow products: it is not split, a transpose is.
#id = affine_map<(n, d) -> (n, d)>
#t = affine_map<(n, d) -> (d, n)>
module attributes {remat.target = #remat.target<"cpu", biases = true>} {
// CHECK-LABEL: func @narrow(
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<256x128xbf16>)
// CHECK: tensor.extract_slice
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<64x256xbf16>)
func.func @narrow(%x: tensor<256x128xbf16>) -> (tensor<64x256xbf16>, tensor<256x64xbf16>) {
  %one = arith.constant 1.0 : bf16
  %e = tensor.empty() : tensor<256x128xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x128xbf16>) outs(%e : tensor<256x128xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %r = arith.addf %a, %one : bf16
    linalg.yield %r : bf16
  } -> tensor<256x128xbf16>
  %s = tensor.extract_slice %0[0, 0] [256, 64] [1, 1] : tensor<256x128xbf16> to tensor<256x64xbf16>
  %f = tensor.empty() : tensor<128x256xbf16>
  %1 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x128xbf16>) outs(%f : tensor<128x256xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    linalg.yield %a : bf16
  } -> tensor<128x256xbf16>
  %u = tensor.extract_slice %1[64, 0] [64, 256] [1, 1] : tensor<128x256xbf16> to tensor<64x256xbf16>
  return %u, %s : tensor<64x256xbf16>, tensor<256x64xbf16>
}
}

// -----

// Where slices are copies, nothing is split.
#id = affine_map<(n, d) -> (n, d)>
module attributes {remat.target = #remat.target<"cpu", strides = false>} {
// CHECK-LABEL: func @copies(
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<128x128xf32>)
// CHECK: tensor.extract_slice
func.func @copies(%x: tensor<128x128xf32>) -> tensor<64x128xf32> {
  %e = tensor.empty() : tensor<128x128xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x128xf32>) outs(%e : tensor<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<128x128xf32>
  %s = tensor.extract_slice %0[0, 0] [64, 128] [1, 1] : tensor<128x128xf32> to tensor<64x128xf32>
  return %s : tensor<64x128xf32>
}
}
