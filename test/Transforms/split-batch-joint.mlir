// RUN: remat-opt %s --remat-split-batch="parts=2 arguments=0,1" -split-input-file | FileCheck %s

// A function that has computed its gradients itself. How many labels count is
// known before the first part, so that each part can divide by it; the gradient
// of the weights is added up from part to part, in the backward computation.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:.*]]: tensor<8x64xf32>, %[[LABELS:.*]]: tensor<8xi64>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK-SAME:    remat.batch_parts = 2
// CHECK:         %[[COUNT:.*]] = linalg.generic {{.*}} ins(%[[LABELS]] : tensor<8xi64>)
// CHECK:         %[[BOTH:.*]]:2 = remat.loop @[[ROWS:.*]] count 2 carried(%{{.*}}) invariant({{.*}}%[[COUNT]]{{.*}}) sliced(
// CHECK-SAME:    -> (tensor<64x64xf32>, tensor<2xf32>)
// CHECK-NOT:     remat.loop
// CHECK:         return %{{.*}}, %[[BOTH]]#0
// CHECK:       func.func private @[[ROWS]](%[[SUM:[a-z0-9]+]]: tensor<64x64xf32>
// CHECK:         %[[PART:[a-z0-9]+]] = linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x64xf32>, tensor<4x64xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]], %[[PART]] : tensor<64x64xf32>, tensor<64x64xf32>) outs({{.*}}) attrs = {remat.backward}
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>
func.func @main(%x: tensor<8x64xf32>, %labels: tensor<8xi64>, %w: tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %rows = arith.constant dense<0.0> : tensor<8x64xf32>
  %count = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%labels : tensor<8xi64>) outs(%zero : tensor<f32>) {
  ^bb0(%l: i64, %o: f32):
    %none = arith.constant -1 : i64
    %is = arith.cmpi ne, %l, %none : i64
    %v = arith.uitofp %is : i1 to f32
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %y = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%rows : tensor<8x64xf32>) -> tensor<8x64xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %dy = linalg.generic {indexing_maps = [#id, #row, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %labels, %count : tensor<8x64xf32>, tensor<8xi64>, tensor<f32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %l: i64, %n: f32, %o: f32):
    %c0 = arith.constant 0.0 : f32
    %none = arith.constant -1 : i64
    %is = arith.cmpi ne, %l, %none : i64
    %v = arith.select %is, %a, %c0 : f32
    %r = arith.divf %v, %n : f32
    linalg.yield %r : f32
  } -> tensor<8x64xf32>
  %loss = linalg.generic {indexing_maps = [#id, #id, #none], iterator_types = ["reduction", "reduction"]} ins(%y, %dy : tensor<8x64xf32>, tensor<8x64xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %dw = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] {remat.backward}
      ins(%x, %dy : tensor<8x64xf32>, tensor<8x64xf32>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %loss, %dw : tensor<f32>, tensor<64x64xf32>
}

// -----

// Gradients of convolutions have the images of their operands, or add them up.
// So do updates that a scatter adds to the rows that they come from, or to
// those that an index selects. A sum in bf16 is kept in f32 and rounded once.
// CHECK-LABEL: func.func @main
// CHECK:         remat.loop @[[ROWS:.*]] count 2 carried(%{{[0-9]+}}, %{{[0-9]+}})
// CHECK-SAME:    -> (tensor<16x8x3x3xf32>, tensor<99x16xf32>, tensor<2x2x8x4x4xbf16>)
// CHECK:         arith.truncf
// CHECK:         arith.truncf
// CHECK:       func.func private @[[ROWS]](%{{.*}}: tensor<16x8x3x3xf32>, %{{.*}}: tensor<99x16xf32>
// CHECK:         %[[DY:.*]] = remat.scatter {{.*}} sizes = array<i64: 2, 16>} {{.*}} outs(%{{.*}} : tensor<2x16x4x4xbf16>)
// CHECK:         remat.conv input_grad(%[[DY]], %{{.*}}) {{.*}} -> tensor<2x8x4x4xbf16>
// CHECK:         remat.conv filter_grad(%{{.*}}, %[[DY]]) {{.*}} -> tensor<16x8x3x3xbf16>
// CHECK:         remat.scatter {{.*}} sizes = array<i64: 2, 16>} {{.*}} outs(%{{.*}} : tensor<99x16xbf16>)
#two = affine_map<(i, j) -> (i, j)>
#first = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<4x8x4x4xbf16>, %ids: tensor<4xi64>, %w: tensor<16x8x3x3xbf16>) -> (tensor<4x8x4x4xbf16>, tensor<16x8x3x3xbf16>, tensor<99x16xbf16>) {
  %places = arith.constant dense<0.0> : tensor<4x16x4x4xbf16>
  %table = arith.constant dense<0.0> : tensor<99x16xbf16>
  %first = tensor.extract_slice %x[0, 0, 0, 0] [4, 8, 1, 1] [1, 1, 1, 1] : tensor<4x8x4x4xbf16> to tensor<4x8xbf16>
  %place = arith.constant dense<0.0> : tensor<4x16xbf16>
  %u = tensor.insert_slice %first into %place[0, 8] [4, 8] [1, 1] : tensor<4x8xbf16> into tensor<4x16xbf16>
  %dy = remat.scatter {indexing_maps = [#first, #two], sizes = array<i64: 4, 16>} ins(%ids, %u : tensor<4xi64>, tensor<4x16xbf16>) outs(%places : tensor<4x16x4x4xbf16>) {
  ^bb0(%i: index, %j: index, %id: i64, %v: bf16):
    %at = arith.index_cast %id : i64 to index
    %c0 = arith.constant 0 : index
    remat.yield %i, %j, %at, %c0, %v : index, index, index, index, bf16
  } -> tensor<4x16x4x4xbf16>
  %dx = remat.conv input_grad(%dy, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<4x16x4x4xbf16>, tensor<16x8x3x3xbf16>) -> tensor<4x8x4x4xbf16>
  %dw = remat.conv filter_grad(%x, %dy) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<4x8x4x4xbf16>, tensor<4x16x4x4xbf16>) -> tensor<16x8x3x3xbf16>
  %dt = remat.scatter {indexing_maps = [#first, #two], sizes = array<i64: 4, 16>} ins(%ids, %u : tensor<4xi64>, tensor<4x16xbf16>) outs(%table : tensor<99x16xbf16>) {
  ^bb0(%i: index, %j: index, %id: i64, %v: bf16):
    %at = arith.index_cast %id : i64 to index
    remat.yield %at, %j, %v : index, index, bf16
  } -> tensor<99x16xbf16>
  return %dx, %dw, %dt : tensor<4x8x4x4xbf16>, tensor<16x8x3x3xbf16>, tensor<99x16xbf16>
}
