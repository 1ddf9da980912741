// A product in f32 of factors in bf16 that all readers round becomes one in bf16; where they round its sum with a bias,
// that becomes an operation of its own. The library writes both.

// RUN: remat-opt %s -split-input-file --remat-round-products | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-round-products=only-sums | FileCheck %s --check-prefix=ONCE
// RUN: sed 's/epilogues = true/biases = false/' %s | remat-opt -split-input-file --remat-round-products | FileCheck %s --check-prefix=OFF
// OFF: func.func @plain
// OFF: linalg.contract {{.*}} -> tensor<4x8xf32>
// OFF: func.func @sum
// OFF: linalg.contract {{.*}} -> tensor<4x8xf32>
// OFF: tensor.expand_shape {{.*}} into tensor<2x2x8xf32>

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// One reader only transposes then, the other goes on.
// CHECK-LABEL: func.func @plain(
// CHECK: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<4x8xbf16>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK-NEXT: ^bb0(%[[E:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: linalg.yield %[[E]] : bf16
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<4x8xbf16>)
// CHECK-NEXT: ^bb0(%[[E:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: arith.negf %[[E]] : bf16
func.func @plain(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>) -> (tensor<8x4xbf16>, tensor<4x8xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xbf16>
  %t = tensor.empty() : tensor<8x4xbf16>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x8xf32>) outs(%t : tensor<8x4xbf16>) {
  ^bb0(%u: f32, %o: bf16):
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x4xbf16>
  %z = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x8xf32>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%u: f32, %o: bf16):
    %r = arith.truncf %u : f32 to bf16
    %n = arith.negf %r : bf16
    linalg.yield %n : bf16
  } -> tensor<4x8xbf16>
  return %y, %z : tensor<8x4xbf16>, tensor<4x8xbf16>
}
}

// -----

#j = affine_map<(i, j) -> (j)>
#ij = affine_map<(i, j) -> (i, j)>
#l = affine_map<(h, i, j) -> (j)>
#hij = affine_map<(h, i, j) -> (h, i, j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// What a view is read through is of bf16, too, and the bias is read by the sum alone.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[BIAS:[a-z0-9]*]]: tensor<8xbf16>
// CHECK: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[BIAS]] : tensor<4x8xf32>, tensor<8xbf16>)
// CHECK: arith.extf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.truncf
// CHECK: %[[V:.*]] = tensor.expand_shape %[[S]] {{.*}} : tensor<4x8xbf16> into tensor<2x2x8xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[V]], %{{.*}} : tensor<2x2x8xbf16>, tensor<2x2x8xbf16>)
// CHECK-NEXT: ^bb0(%[[E:.*]]: bf16, %[[R:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: arith.addf %[[E]], %[[R]] : bf16
func.func @sum(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %bias: tensor<8xbf16>, %skip: tensor<2x2x8xbf16>) -> tensor<2x2x8xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<2x2x8xbf16>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
  %y = linalg.generic {indexing_maps = [#hij, #hij, #l, #hij], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %skip, %bias : tensor<2x2x8xf32>, tensor<2x2x8xbf16>, tensor<8xbf16>) outs(%e : tensor<2x2x8xbf16>) {
  ^bb0(%u: f32, %s: bf16, %b: bf16, %o: bf16):
    %wide = arith.extf %b : bf16 to f32
    %sum = arith.addf %u, %wide : f32
    %r = arith.truncf %sum : f32 to bf16
    %n = arith.addf %r, %s : bf16
    linalg.yield %n : bf16
  } -> tensor<2x2x8xbf16>
  return %y : tensor<2x2x8xbf16>
}

// A program that rounds twice does so, unless only sums are to be rounded: then the sum is what all of its readers have
// instead of the product.
// CHECK-LABEL: func.func @twice(
// CHECK: linalg.contract {{.*}} -> tensor<4x8xbf16>
// ONCE-LABEL: func.func @twice(
// ONCE: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8xf32>
// ONCE: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<4x8xf32>, tensor<8xbf16>)
// ONCE: linalg.generic {{.*}} ins(%[[S]] : tensor<4x8xbf16>)
// ONCE: arith.extf
// ONCE-NEXT: math.tanh
// ONCE-NOT: linalg.generic
// ONCE: return %{{.*}}, %[[S]]
func.func @twice(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %bias: tensor<8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<4x8xbf16>
  %e = tensor.empty() : tensor<4x8xbf16>
  %f = tensor.empty() : tensor<4x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %y = linalg.generic {indexing_maps = [#j, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%bias, %p : tensor<8xbf16>, tensor<4x8xbf16>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%b: bf16, %u: bf16, %o: f32):
    %u32 = arith.extf %u : bf16 to f32
    %b32 = arith.extf %b : bf16 to f32
    %sum = arith.addf %b32, %u32 : f32
    %r = arith.truncf %sum : f32 to bf16
    %r32 = arith.extf %r : bf16 to f32
    %t = math.tanh %r32 : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  %z = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<4x8xbf16>, tensor<8xbf16>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%u: bf16, %b: bf16, %o: bf16):
    %sum = arith.addf %u, %b : bf16
    linalg.yield %sum : bf16
  } -> tensor<4x8xbf16>
  return %y, %z : tensor<4x8xf32>, tensor<4x8xbf16>
}

// Readers that want more than the rounded product keep it in f32, and so does one whose bias is another.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-2: linalg.contract {{.*}} -> tensor<4x8xf32>
// CHECK-NOT: linalg.contract
// CHECK: ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xbf16>)
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xbf16>)
func.func @kept(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %z: tensor<6x8xbf16>, %bias: tensor<8xbf16>, %other: tensor<8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xbf16>
  %f = tensor.empty() : tensor<4x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %z : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#ij, #ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %q, %other : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xbf16>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%u: f32, %v: f32, %b: bf16, %o: f32):
    %b32 = arith.extf %b : bf16 to f32
    %s = arith.addf %v, %b32 : f32
    %r = arith.truncf %s : f32 to bf16
    %r32 = arith.extf %r : bf16 to f32
    %m = arith.mulf %u, %r32 : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %n = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%q, %bias : tensor<4x8xf32>, tensor<8xbf16>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%v: f32, %b: bf16, %o: bf16):
    %b32 = arith.extf %b : bf16 to f32
    %s = arith.addf %v, %b32 : f32
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x8xbf16>
  return %y, %n : tensor<4x8xf32>, tensor<4x8xbf16>
}
}

// -----

#ij = affine_map<(i, h, j) -> (h, j)>
#ihj = affine_map<(i, h, j) -> (i, h, j)>
#hij = affine_map<(i, h, j) -> (h, i, j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// Heads of a row, and of the bias with it.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[BIAS:[^ ]*]]: tensor<8xbf16>)
// CHECK: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[BIAS]] : tensor<4x8xf32>, tensor<8xbf16>)
// CHECK: %[[V:.*]] = tensor.expand_shape %[[S]] {{.*}} into tensor<4x2x4xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[V]] : tensor<4x2x4xbf16>) outs(%{{.*}} : tensor<2x4x4xbf16>)
func.func @heads(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %bias: tensor<8xbf16>) -> tensor<2x4x4xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<2x4x4xbf16>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = tensor.expand_shape %p [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %s = tensor.expand_shape %bias [[0, 1]] output_shape [2, 4] : tensor<8xbf16> into tensor<2x4xbf16>
  %y = linalg.generic {indexing_maps = [#ihj, #ij, #hij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v, %s : tensor<4x2x4xf32>, tensor<2x4xbf16>) outs(%e : tensor<2x4x4xbf16>) {
  ^bb0(%u: f32, %n: bf16, %o: bf16):
    %wide = arith.extf %n : bf16 to f32
    %sum = arith.addf %u, %wide : f32
    %r = arith.truncf %sum : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<2x4x4xbf16>
  return %y : tensor<2x4x4xbf16>
}

// Not every head has a bias of its own.
// CHECK-LABEL: func.func @shared(
// CHECK: linalg.contract {{.*}} -> tensor<4x8xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x2x4xf32>, tensor<4xbf16>)
func.func @shared(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %bias: tensor<4xbf16>) -> tensor<4x2x4xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x2x4xbf16>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = tensor.expand_shape %p [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %y = linalg.generic {indexing_maps = [#ihj, affine_map<(i, h, j) -> (j)>, #ihj], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v, %bias : tensor<4x2x4xf32>, tensor<4xbf16>) outs(%e : tensor<4x2x4xbf16>) {
  ^bb0(%u: f32, %n: bf16, %o: bf16):
    %wide = arith.extf %n : bf16 to f32
    %sum = arith.addf %u, %wide : f32
    %r = arith.truncf %sum : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x2x4xbf16>
  return %y : tensor<4x2x4xbf16>
}
}

// -----

#j = affine_map<(i, j) -> (j)>
#ij = affine_map<(i, j) -> (i, j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// Under autocast the bias is a parameter in f32 that is rounded where it is read.
// CHECK-LABEL: func.func @autocast(
// CHECK: linalg.contract {{.*}} -> tensor<4x8xbf16>
// ONCE-LABEL: func.func @autocast(
// ONCE-SAME: %[[BIAS:[a-z0-9]*]]: tensor<8xf32>
// ONCE: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8xf32>
// ONCE: %[[B:.*]] = linalg.generic {{.*}} ins(%[[BIAS]] : tensor<8xf32>) outs(%{{.*}} : tensor<8xbf16>)
// ONCE-NEXT: ^bb0
// ONCE-NEXT: arith.truncf
// ONCE: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[B]] : tensor<4x8xf32>, tensor<8xbf16>)
// ONCE: return %[[S]]
func.func @autocast(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %bias: tensor<8xf32>) -> tensor<4x8xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<4x8xbf16>
  %e = tensor.empty() : tensor<4x8xbf16>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %y = linalg.generic {indexing_maps = [#j, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%bias, %p : tensor<8xf32>, tensor<4x8xbf16>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%v: f32, %u: bf16, %o: bf16):
    %narrow = arith.truncf %v : f32 to bf16
    %wider = arith.extf %narrow : bf16 to f32
    %wide = arith.extf %u : bf16 to f32
    %sum = arith.addf %wider, %wide : f32
    %r = arith.truncf %sum : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}
}

// -----

#chw = affine_map<(n, c, h, w) -> (n, c, h, w)>
#ch = affine_map<(n, c, h, w) -> (c)>
module attributes {remat.target = #remat.target<"cpu">} {

// So do the biases of convolutions, along whatever dimension the features are, and of what makes the gradient of an input.
// CHECK-LABEL: func.func @convolution(
// CHECK: remat.conv {{.*}} -> tensor<1x8x4x4xbf16>
// ONCE-LABEL: func.func @convolution(
// ONCE-SAME: %[[BIAS:[a-z0-9]*]]: tensor<8xbf16>
// ONCE: %[[P:.*]] = remat.conv forward{{.*}} -> tensor<1x8x4x4xf32>
// ONCE: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[BIAS]] : tensor<1x8x4x4xf32>, tensor<8xbf16>)
// ONCE: arith.extf
// ONCE-NEXT: arith.addf
// ONCE-NEXT: arith.truncf
// ONCE: linalg.generic {{.*}} ins(%[[S]] : tensor<1x8x4x4xbf16>)
// ONCE: return %{{.*}}, %[[S]]
func.func @convolution(%x: tensor<1x4x4x4xbf16>, %w: tensor<8x4x1x1xbf16>, %bias: tensor<8xbf16>) -> (tensor<1x8x4x4xbf16>, tensor<1x8x4x4xbf16>) {
  %e = tensor.empty() : tensor<1x8x4x4xbf16>
  %p = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64,
      input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<1x4x4x4xbf16>, tensor<8x4x1x1xbf16>) -> tensor<1x8x4x4xbf16>
  %y = linalg.generic {indexing_maps = [#chw, #ch, #chw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<1x8x4x4xbf16>, tensor<8xbf16>) outs(%e : tensor<1x8x4x4xbf16>) {
  ^bb0(%u: bf16, %b: bf16, %o: bf16):
    %s = arith.addf %u, %b : bf16
    %n = arith.negf %s : bf16
    linalg.yield %n : bf16
  } -> tensor<1x8x4x4xbf16>
  %z = linalg.generic {indexing_maps = [#chw, #ch, #chw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<1x8x4x4xbf16>, tensor<8xbf16>) outs(%e : tensor<1x8x4x4xbf16>) {
  ^bb0(%u: bf16, %b: bf16, %o: bf16):
    %s = arith.addf %u, %b : bf16
    linalg.yield %s : bf16
  } -> tensor<1x8x4x4xbf16>
  return %y, %z : tensor<1x8x4x4xbf16>, tensor<1x8x4x4xbf16>
}

// A view of one image.
// ONCE-LABEL: func.func @view(
// ONCE-SAME: %[[BIAS:[a-z0-9]*]]: tensor<8xbf16>
// ONCE: %[[P:.*]] = remat.conv forward{{.*}} -> tensor<1x8x4x4xf32>
// ONCE: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[BIAS]] : tensor<1x8x4x4xf32>, tensor<8xbf16>)
// ONCE: tensor.collapse_shape %[[S]] {{.*}} : tensor<1x8x4x4xbf16> into tensor<8x16xbf16>
func.func @view(%x: tensor<1x4x4x4xbf16>, %w: tensor<8x4x1x1xbf16>, %bias: tensor<8xbf16>) -> tensor<8x16xbf16> {
  %e = tensor.empty() : tensor<8x16xbf16>
  %p = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64,
      input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<1x4x4x4xbf16>, tensor<8x4x1x1xbf16>) -> tensor<1x8x4x4xbf16>
  %v = tensor.collapse_shape %p [[0, 1], [2, 3]] : tensor<1x8x4x4xbf16> into tensor<8x16xbf16>
  %z = linalg.generic {indexing_maps = [affine_map<(c, w) -> (c, w)>, affine_map<(c, w) -> (c)>, affine_map<(c, w) -> (c, w)>], iterator_types = ["parallel", "parallel"]}
      ins(%v, %bias : tensor<8x16xbf16>, tensor<8xbf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%u: bf16, %b: bf16, %o: bf16):
    %s = arith.addf %u, %b : bf16
    linalg.yield %s : bf16
  } -> tensor<8x16xbf16>
  return %z : tensor<8x16xbf16>
}

// Not along the features.
// ONCE-LABEL: func.func @otherDim(
// ONCE: remat.conv {{.*}} -> tensor<1x4x4x8xbf16>
func.func @otherDim(%y: tensor<1x4x4x8xbf16>, %w: tensor<4x4x1x1xbf16>, %bias: tensor<4xbf16>) -> tensor<1x4x4x8xbf16> {
  %e = tensor.empty() : tensor<1x4x4x8xbf16>
  %p = remat.conv input_grad(%y, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64,
      input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<1x4x4x8xbf16>, tensor<4x4x1x1xbf16>) -> tensor<1x4x4x8xbf16>
  %z = linalg.generic {indexing_maps = [#chw, affine_map<(n, c, h, w) -> (h)>, #chw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<1x4x4x8xbf16>, tensor<4xbf16>) outs(%e : tensor<1x4x4x8xbf16>) {
  ^bb0(%u: bf16, %b: bf16, %o: bf16):
    %s = arith.addf %u, %b : bf16
    linalg.yield %s : bf16
  } -> tensor<1x4x4x8xbf16>
  return %z : tensor<1x4x4x8xbf16>
}
}

// -----

#chw = affine_map<(n, c, h, w) -> (n, c, h, w)>
#ch = affine_map<(n, c, h, w) -> (c)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// A plan of cuDNN is of a convolution alone.
// ONCE-LABEL: func.func @plans(
// ONCE: remat.conv {{.*}} -> tensor<1x8x4x4xbf16>
func.func @plans(%x: tensor<1x4x4x4xbf16>, %w: tensor<8x4x1x1xbf16>, %bias: tensor<8xbf16>) -> tensor<1x8x4x4xbf16> {
  %e = tensor.empty() : tensor<1x8x4x4xbf16>
  %p = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64,
      input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<1x4x4x4xbf16>, tensor<8x4x1x1xbf16>) -> tensor<1x8x4x4xbf16>
  %z = linalg.generic {indexing_maps = [#chw, #ch, #chw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<1x8x4x4xbf16>, tensor<8xbf16>) outs(%e : tensor<1x8x4x4xbf16>) {
  ^bb0(%u: bf16, %b: bf16, %o: bf16):
    %s = arith.addf %u, %b : bf16
    linalg.yield %s : bf16
  } -> tensor<1x8x4x4xbf16>
  return %z : tensor<1x8x4x4xbf16>
}
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#window = affine_map<(i, j, w) -> (i * 2 + w, j)>
#size = affine_map<(i, j, w) -> (w)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// An input that only says how large a window is stays.
// CHECK-LABEL: func.func @windows(
// CHECK-SAME: %[[SIZE:[a-z0-9]*]]: tensor<2xbf16>
// CHECK: %[[P:.*]] = linalg.contract {{.*}} -> tensor<4x8xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[SIZE]] : tensor<4x8xbf16>, tensor<2xbf16>)
func.func @windows(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>, %size: tensor<2xbf16>) -> tensor<2x8xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<4x8xf32>
  %lowest = arith.constant dense<0xFF80> : tensor<2x8xbf16>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#window, #size, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %size : tensor<4x8xf32>, tensor<2xbf16>) outs(%lowest : tensor<2x8xbf16>) {
  ^bb0(%u: f32, %s: bf16, %o: bf16):
    %r = arith.truncf %u : f32 to bf16
    %m = arith.maximumf %r, %o : bf16
    linalg.yield %m : bf16
  } -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}
}
