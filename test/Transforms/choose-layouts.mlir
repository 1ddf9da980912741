// RUN: remat-opt %s --split-input-file --remat-choose-layouts=ask-library=false --cse --canonicalize | FileCheck %s
// RUN: remat-opt %s --split-input-file --remat-choose-layouts | FileCheck %s --check-prefix=ASKED
// RUN: remat-opt %s --split-input-file --remat-choose-layouts="ask-library=false min-gain=100" | FileCheck %s --check-prefix=STAYS

// Convolutions, what is between them and their gradients are channels-last; a
// convolution reads an argument as it is.

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[CHANNEL:.*]] = affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>

// With many operations for each byte that is saved, all stays as it is.
// STAYS-LABEL:   func @chain
// STAYS:         remat.conv forward(%arg0, %arg1)
// STAYS-SAME:      -> tensor<2x8x14x16xf32>
// STAYS:         return

// CHECK-LABEL: func @chain
// CHECK:         %[[A:.*]] = remat.conv forward(%arg0, %arg1)
// CHECK-SAME:      filter_layout = array<i64: 0, 1, 2, 3>
// CHECK-SAME:      input_layout = array<i64: 0, 1, 2, 3>
// CHECK-SAME:      output_layout = array<i64: 0, 3, 1, 2>
// CHECK-SAME:      -> tensor<2x14x16x8xf32>
// CHECK:         %[[B:.*]] = linalg.generic
// CHECK-SAME:      [#[[ID]], #[[CHANNEL]], #[[ID]]]
// CHECK-SAME:      ins(%[[A]], %arg3 : tensor<2x14x16x8xf32>, tensor<8xf32>)
// CHECK:         %[[PAD:.*]] = tensor.pad %[[B]] low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK:         tensor<2x14x16x8xf32> to tensor<2x16x18x8xf32>
// CHECK:         %[[POOL:.*]] = linalg.generic
// CHECK-SAME:      [#[[WINDOW]],
// CHECK-SAME:      "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"
// CHECK-SAME:      ins(%[[PAD]], %{{.*}}) outs(%{{.*}} : tensor<2x7x8x8xf32>)
// CHECK:         %[[C:.*]] = remat.conv forward(%[[POOL]], %arg2)
// CHECK-SAME:      -> tensor<2x7x8x8xf32>
// CHECK:         %[[D:.*]] = remat.conv filter_grad(%[[POOL]], %[[C]])
// CHECK-SAME:      {{.*}}remat.backward{{.*}} -> tensor<8x8x1x1xf32>
// CHECK:         %[[SUM:.*]] = linalg.generic
// CHECK-SAME:      ["reduction", "reduction", "reduction", "parallel"]
// CHECK-SAME:      ins(%[[C]] : tensor<2x7x8x8xf32>)
// CHECK:         return %[[SUM]], %[[D]]
func.func @chain(%x: tensor<2x3x16x18xf32>, %w: tensor<8x3x3x3xf32>, %v: tensor<8x8x1x1xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8x1x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x3x16x18xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x14x16xf32>
  %e = tensor.empty() : tensor<2x8x14x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a, %b : tensor<2x8x14x16xf32>, tensor<8xf32>) outs(%e : tensor<2x8x14x16xf32>) {
  ^bb0(%in: f32, %c: f32, %out: f32):
    %s = arith.addf %in, %c : f32
    linalg.yield %s : f32
  } -> tensor<2x8x14x16xf32>
  %p = tensor.pad %r low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %low : f32
  } : tensor<2x8x14x16xf32> to tensor<2x8x16x18xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %pe = tensor.empty() : tensor<2x8x7x8xf32>
  %pf = linalg.fill ins(%low : f32) outs(%pe : tensor<2x8x7x8xf32>) -> tensor<2x8x7x8xf32>
  %m = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%p, %window : tensor<2x8x16x18xf32>, tensor<3x3xf32>) outs(%pf : tensor<2x8x7x8xf32>) -> tensor<2x8x7x8xf32>
  %y = remat.conv forward(%m, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x7x8xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x7x8xf32>
  %g = remat.conv filter_grad(%m, %y) {remat.backward, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x7x8xf32>, tensor<2x8x7x8xf32>) -> tensor<8x8x1x1xf32>
  %se = tensor.empty() : tensor<8xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%y : tensor<2x8x7x8xf32>) outs(%sf : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %sum, %g : tensor<8xf32>, tensor<8x8x1x1xf32>
}

// -----

// One convolution between an argument and a result saves nothing.

// CHECK-LABEL: func @alone
// CHECK-NEXT:    remat.conv forward(%arg0, %arg1)
// CHECK-SAME:      input_layout = array<i64: 0, 1, 2, 3>
// CHECK-NEXT:    return
func.func @alone(%x: tensor<2x3x16x18xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x8x14x16xf32> {
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x3x16x18xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x14x16xf32>
  return %a : tensor<2x8x14x16xf32>
}

// -----

// One spatial dimension, and a batch of one that reshapes take away: what is
// left of the tensor is permuted as well. Tags stay.

// CHECK-LABEL: func @line
// CHECK:         remat.conv forward
// CHECK-SAME:      -> tensor<1x32x8xbf16>
// CHECK:         %[[C:.*]] = tensor.collapse_shape {{.*}} : tensor<1x32x8xbf16> into tensor<32x8xbf16>
// CHECK:         remat.tag %[[C]] {name = "act"} : tensor<32x8xbf16>
// CHECK:         tensor.expand_shape {{.*}} : tensor<32x8xbf16> into tensor<1x32x8xbf16>
// CHECK:         remat.conv forward
// CHECK-SAME:      -> tensor<1x32x8xbf16>
func.func @line(%x: tensor<1x2x32xbf16>, %w: tensor<8x2x1xbf16>, %v: tensor<8x8x1xbf16>) -> tensor<8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1>, dilations = array<i64: 1>, padding = array<i64: 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2>, filter_layout = array<i64: 0, 1, 2>, output_layout = array<i64: 0, 1, 2>} : (tensor<1x2x32xbf16>, tensor<8x2x1xbf16>) -> tensor<1x8x32xbf16>
  %c = tensor.collapse_shape %a [[0, 1], [2]] : tensor<1x8x32xbf16> into tensor<8x32xbf16>
  %t = remat.tag %c {name = "act"} : tensor<8x32xbf16>
  %e = tensor.expand_shape %t [[0, 1], [2]] output_shape [1, 8, 32] : tensor<8x32xbf16> into tensor<1x8x32xbf16>
  %y = remat.conv forward(%e, %v) {strides = array<i64: 1>, dilations = array<i64: 1>, padding = array<i64: 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2>, filter_layout = array<i64: 0, 1, 2>, output_layout = array<i64: 0, 1, 2>} : (tensor<1x8x32xbf16>, tensor<8x8x1xbf16>) -> tensor<1x8x32xbf16>
  %se = tensor.empty() : tensor<8xbf16>
  %sf = linalg.fill ins(%zero : bf16) outs(%se : tensor<8xbf16>) -> tensor<8xbf16>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction"]} ins(%y : tensor<1x8x32xbf16>) outs(%sf : tensor<8xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %s = arith.addf %in, %out : bf16
    linalg.yield %s : bf16
  } -> tensor<8xbf16>
  return %sum : tensor<8xbf16>
}

// -----

// Channels in groups, as for a group normalization, stay side by side.

// CHECK-LABEL: func @groups
// CHECK:         remat.conv forward
// CHECK-SAME:      -> tensor<2x6x6x8xf32>
// CHECK:         %[[G:.*]] = tensor.expand_shape {{.*}}[0], [1], [2], [3, 4]{{.*}} into tensor<2x6x6x2x4xf32>
// CHECK:         linalg.generic
// CHECK-SAME:      ["parallel", "reduction", "reduction", "parallel", "reduction"]
// CHECK-SAME:      ins(%[[G]] : tensor<2x6x6x2x4xf32>)
// CHECK:         remat.conv forward
// CHECK-SAME:      -> tensor<2x6x6x8xf32>
func.func @groups(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32>, %v: tensor<8x8x3x3xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %g = tensor.expand_shape %a [[0], [1, 2], [3], [4]] output_shape [2, 2, 4, 6, 6] : tensor<2x8x6x6xf32> into tensor<2x2x4x6x6xf32>
  %ge = tensor.empty() : tensor<2x2xf32>
  %gf = linalg.fill ins(%zero : f32) outs(%ge : tensor<2x2xf32>) -> tensor<2x2xf32>
  %gs = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%g : tensor<2x2x4x6x6xf32>) outs(%gf : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2x4x6x6xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%g, %gs : tensor<2x2x4x6x6xf32>, tensor<2x2xf32>) outs(%e : tensor<2x2x4x6x6xf32>) {
  ^bb0(%in: f32, %mean: f32, %out: f32):
    %s = arith.subf %in, %mean : f32
    linalg.yield %s : f32
  } -> tensor<2x2x4x6x6xf32>
  %c = tensor.collapse_shape %m [[0], [1, 2], [3], [4]] : tensor<2x2x4x6x6xf32> into tensor<2x8x6x6xf32>
  %y = remat.conv forward(%c, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %se = tensor.empty() : tensor<8xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%y : tensor<2x8x6x6xf32>) outs(%sf : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

// -----

// Between the convolutions elements are needed in their old order: what would
// be transposed is more than what is copied.

// CHECK-LABEL: func @flat
// CHECK-COUNT-2: remat.conv forward({{.*}} input_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>
func.func @flat(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32>, %v: tensor<8x8x3x3xf32>) -> tensor<2x288xf32> {
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %c = tensor.collapse_shape %a [[0], [1, 2, 3]] : tensor<2x8x6x6xf32> into tensor<2x288xf32>
  %t = math.tanh %c : tensor<2x288xf32>
  %e = tensor.expand_shape %t [[0], [1, 2, 3]] output_shape [2, 8, 6, 6] : tensor<2x288xf32> into tensor<2x8x6x6xf32>
  %y = remat.conv forward(%e, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %r = tensor.collapse_shape %y [[0], [1, 2, 3]] : tensor<2x8x6x6xf32> into tensor<2x288xf32>
  return %r : tensor<2x288xf32>
}

// -----

// The library has no kernels for f64, so it copies nothing.

// CHECK-LABEL: func @double
// CHECK:         -> tensor<2x6x6x8xf64>
// ASKED-LABEL: func @double
// ASKED-COUNT-2: remat.conv forward({{.*}} input_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>
func.func @double(%x: tensor<2x8x6x6xf64>, %w: tensor<8x8x3x3xf64>, %v: tensor<8x8x3x3xf64>) -> tensor<8xf64> {
  %zero = arith.constant 0.0 : f64
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf64>, tensor<8x8x3x3xf64>) -> tensor<2x8x6x6xf64>
  %y = remat.conv forward(%a, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf64>, tensor<8x8x3x3xf64>) -> tensor<2x8x6x6xf64>
  %se = tensor.empty() : tensor<8xf64>
  %sf = linalg.fill ins(%zero : f64) outs(%se : tensor<8xf64>) -> tensor<8xf64>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%y : tensor<2x8x6x6xf64>) outs(%sf : tensor<8xf64>) {
  ^bb0(%in: f64, %out: f64):
    %s = arith.addf %in, %out : f64
    linalg.yield %s : f64
  } -> tensor<8xf64>
  return %sum : tensor<8xf64>
}

// -----

// What is tied to something of unknown size stays as it is.

// CHECK-LABEL: func @unknown_sizes
// CHECK:         remat.conv forward(%arg0, %arg1)
// CHECK-SAME:      -> tensor<2x8x14x16xf32>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @unknown_sizes(%a: tensor<2x8x14x16xf32>, %w: tensor<8x8x1x1xf32>, %d: tensor<?x?x?x?xf32>) -> (tensor<2x8x14x16xf32>, tensor<?x?x?x?xf32>, tensor<8xf32>) {
  %c = remat.conv forward(%a, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x14x16xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x14x16xf32>
  %x = tensor.cast %c : tensor<2x8x14x16xf32> to tensor<?x?x?x?xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %c : tensor<?x?x?x?xf32>, tensor<2x8x14x16xf32>) outs(%d : tensor<?x?x?x?xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<?x?x?x?xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%y : tensor<?x?x?x?xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: f32, %k: f32):
    %s = arith.addf %i, %k : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %c, %y, %r : tensor<2x8x14x16xf32>, tensor<?x?x?x?xf32>, tensor<8xf32>
}
