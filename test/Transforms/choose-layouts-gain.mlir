// RUN: remat-opt %s --split-input-file --remat-choose-layouts=ask-library=false --cse --canonicalize | FileCheck %s
// RUN: remat-opt %s --split-input-file --remat-choose-layouts="ask-library=false min-gain=0.2" --cse --canonicalize | FileCheck %s --check-prefix=GAIN

// What dot products read follows the convolutions: they are generated code,
// and no calls of a library that would want a transposition.

// CHECK-LABEL: func @dot_products
// CHECK:         remat.conv forward
// CHECK-SAME:      -> tensor<2x6x6x8xf32>
// CHECK:         remat.conv forward
// CHECK-SAME:      -> tensor<2x6x6x8xf32>
// CHECK:         linalg.generic
// CHECK-SAME:      ["parallel", "reduction", "reduction", "parallel"]
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<2x6x6x8xf32>, tensor<2x6x6x8xf32>)
// CHECK-NOT:     tensor<2x8x6x6xf32>
// CHECK:         return
func.func @dot_products(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32>, %v: tensor<8x8x3x3xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %b = remat.conv forward(%a, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  %dots = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>) outs(%f : tensor<2x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %product = arith.mulf %p, %q : f32
    %s = arith.addf %out, %product : f32
    linalg.yield %s : f32
  } -> tensor<2x8xf32>
  return %dots : tensor<2x8xf32>
}

// -----

// An element of two bytes takes as long to be copied as one of four, so both
// types have the same layout.

// GAIN-LABEL:  func @wide
// GAIN:          remat.conv forward
// GAIN-SAME:       -> tensor<2x24x24x16xf32>
func.func @wide(%x: tensor<2x16x24x24xf32>, %w: tensor<16x16x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x16x24x24xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x24x24xf32>
  %b = remat.conv forward(%a, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x16x24x24xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x24x24xf32>
  %esum = tensor.empty() : tensor<16xf32>
  %fsum = linalg.fill ins(%zero : f32) outs(%esum : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%b : tensor<2x16x24x24xf32>) outs(%fsum : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %sum : tensor<16xf32>
}

// -----

// GAIN-LABEL:  func @narrow
// GAIN:          remat.conv forward
// GAIN-SAME:       -> tensor<2x24x24x16xbf16>
func.func @narrow(%x: tensor<2x16x24x24xbf16>, %w: tensor<16x16x3x3xbf16>, %v: tensor<16x16x3x3xbf16>) -> tensor<16xbf16> {
  %zero = arith.constant 0.0 : bf16
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x16x24x24xbf16>, tensor<16x16x3x3xbf16>) -> tensor<2x16x24x24xbf16>
  %b = remat.conv forward(%a, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x16x24x24xbf16>, tensor<16x16x3x3xbf16>) -> tensor<2x16x24x24xbf16>
  %esum = tensor.empty() : tensor<16xbf16>
  %fsum = linalg.fill ins(%zero : bf16) outs(%esum : tensor<16xbf16>) -> tensor<16xbf16>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%b : tensor<2x16x24x24xbf16>) outs(%fsum : tensor<16xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %s = arith.addf %in, %out : bf16
    linalg.yield %s : bf16
  } -> tensor<16xbf16>
  return %sum : tensor<16xbf16>
}

// -----

// Filters of small images take longer to be copied than the images.

// GAIN-LABEL:  func @large_filters
// GAIN:          remat.conv forward
// GAIN-SAME:       -> tensor<2x16x4x4xf32>
func.func @large_filters(%x: tensor<2x16x4x4xf32>, %w: tensor<16x16x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x16x4x4xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x4x4xf32>
  %b = remat.conv forward(%a, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x16x4x4xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x4x4xf32>
  %esum = tensor.empty() : tensor<16xf32>
  %fsum = linalg.fill ins(%zero : f32) outs(%esum : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%b : tensor<2x16x4x4xf32>) outs(%fsum : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %sum : tensor<16xf32>
}
