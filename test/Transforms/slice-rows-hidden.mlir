// RUN: remat-opt %s --remat-slice-rows="rows=64 hidden" --canonicalize --cse --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-slice-rows="alternatives hidden" --split-input-file | FileCheck %s --check-prefix=AUTO
// RUN: remat-opt %s --remat-slice-rows="rows=64 hidden apart" --canonicalize --cse --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-slice-rows=rows=64 --split-input-file | FileCheck %s --check-prefix=WHOLE

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#id = affine_map<(m, n) -> (m, n)>

// The hidden layer of a feed-forward block, whose gradient is made from what all
// rows add up to: it is sliced forward and backward, apart, in an alternative.
// The gradient reads the slices that the forward computation has made, and
// gradients of weights go on from slice to slice.
// WHOLE-LABEL: @main(
// WHOLE-NOT:   extract_slice
// WHOLE-NOT:   remat.slices_hidden

// AUTO-LABEL: @main(
// AUTO-SAME:  remat.alternative = @main_slices_of_64_hidden
// AUTO-NOT:   extract_slice
// AUTO:       @main_slices_of_64_hidden(
// AUTO-SAME:  remat.slice_rows = 64 : i64, remat.slices_hidden
// AUTO-NOT:   linalg.contract {{.*}} -> tensor<512x512xf32>
// AUTO:       return

// CHECK-LABEL: @main(
// CHECK-SAME:  remat.alternative = @main_slices_of_64_hidden
// CHECK:       linalg.contract {{.*}} -> tensor<512x512xf32>
// CHECK-LABEL: @main_slices_of_64_hidden(
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<512x16xf32>,
// CHECK-SAME:  remat.slices_hidden
// CHECK-NOT:   tensor<512x512xf32>
// CHECK-NOT:   remat.backward
// CHECK:       tensor.extract_slice %[[X]][0, 0] [64, 16]
// CHECK:       %[[H:.*]] = linalg.contract {{.*}} -> tensor<64x512xf32>
// CHECK:       linalg.generic {{.*}} ins(%[[H]] :
// CHECK:       linalg.contract {{.*}} -> tensor<64x16xf32>
// CHECK:       tensor.extract_slice %[[X]][448, 0] [64, 16]
// CHECK:       tensor.concat
// CHECK:       linalg.generic {{.*}} ins(%[[H]] : {{.*}} attrs = {remat.backward}
// CHECK:       %[[W2:.*]] = linalg.contract {{.*}} {remat.backward} {{.*}} -> tensor<16x512xf32>
// CHECK:       %[[W1:.*]] = linalg.contract {{.*}} {remat.backward} {{.*}} -> tensor<512x16xf32>
// CHECK:       linalg.contract {{.*}} outs(%[[W2]] :
// CHECK:       linalg.contract {{.*}} outs(%[[W1]] :
// CHECK-NOT:   tensor<512x512xf32>
// CHECK:       return
func.func @main(%x: tensor<512x16xf32>, %w1: tensor<512x16xf32>, %w2: tensor<16x512xf32>) -> (tensor<512x16xf32>, tensor<512x16xf32>, tensor<16x512xf32>, tensor<512x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %eh = tensor.empty() : tensor<512x512xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x512xf32>) -> tensor<512x512xf32>
  %ey = tensor.empty() : tensor<512x16xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<512x16xf32>) -> tensor<512x16xf32>
  %h = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%x, %w1 : tensor<512x16xf32>, tensor<512x16xf32>) outs(%zh : tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<512x512xf32>) outs(%eh : tensor<512x512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<512x512xf32>
  %y = linalg.contract indexing_maps = [#mn, #kn, #mk] ins(%t, %w2 : tensor<512x512xf32>, tensor<16x512xf32>) outs(%zy : tensor<512x16xf32>) -> tensor<512x16xf32>
  %ec = tensor.empty() : tensor<16x16xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = linalg.contract indexing_maps = [#km, #kn, #mn] ins(%y, %y : tensor<512x16xf32>, tensor<512x16xf32>) outs(%zc : tensor<16x16xf32>) -> tensor<16x16xf32>
  %dy = linalg.contract indexing_maps = [#mk, #kn, #mn] {remat.backward} ins(%y, %c : tensor<512x16xf32>, tensor<16x16xf32>) outs(%zy : tensor<512x16xf32>) -> tensor<512x16xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<512x512xf32>) outs(%eh : tensor<512x512xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<512x512xf32>
  %e2 = tensor.empty() : tensor<16x512xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x512xf32>) -> tensor<16x512xf32>
  %dw2 = linalg.contract indexing_maps = [#km, #kn, #mn] {remat.backward} ins(%dy, %u : tensor<512x16xf32>, tensor<512x512xf32>) outs(%z2 : tensor<16x512xf32>) -> tensor<16x512xf32>
  %dt = linalg.contract indexing_maps = [#mk, #kn, #mn] {remat.backward} ins(%dy, %w2 : tensor<512x16xf32>, tensor<16x512xf32>) outs(%zh : tensor<512x512xf32>) -> tensor<512x512xf32>
  %dh = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%dt, %u : tensor<512x512xf32>, tensor<512x512xf32>) outs(%eh : tensor<512x512xf32>) attrs = {remat.backward} {
  ^bb0(%g: f32, %i: f32, %o: f32):
    %s = arith.mulf %i, %i : f32
    %d = arith.subf %one, %s : f32
    %r = arith.mulf %g, %d : f32
    linalg.yield %r : f32
  } -> tensor<512x512xf32>
  %e1 = tensor.empty() : tensor<512x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<512x16xf32>) -> tensor<512x16xf32>
  %dw1 = linalg.contract indexing_maps = [#km, #kn, #mn] {remat.backward} ins(%dh, %x : tensor<512x512xf32>, tensor<512x16xf32>) outs(%z1 : tensor<512x16xf32>) -> tensor<512x16xf32>
  %dx = linalg.contract indexing_maps = [#mk, #kn, #mn] {remat.backward} ins(%dh, %w1 : tensor<512x512xf32>, tensor<512x16xf32>) outs(%zy : tensor<512x16xf32>) -> tensor<512x16xf32>
  return %y, %dw1, %dw2, %dx : tensor<512x16xf32>, tensor<512x16xf32>, tensor<16x512xf32>, tensor<512x16xf32>
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#id = affine_map<(m, n) -> (m, n)>

// Gradients of bf16 add up in f32, and are rounded once.
// CHECK-LABEL: @narrow(
// CHECK-LABEL: @narrow_slices_of_64_hidden(
// CHECK-NOT:   tensor<512x1024xbf16>
// CHECK:       %[[W2:.*]] = linalg.contract {{.*}} {remat.backward} {{.*}} -> tensor<16x1024xf32>
// CHECK:       linalg.contract {{.*}} outs(%[[W2]] :
// CHECK:       arith.truncf
// CHECK-NOT:   tensor<512x1024xbf16>
// CHECK:       return
func.func @narrow(%x: tensor<512x16xbf16>, %w1: tensor<1024x16xbf16>, %w2: tensor<16x1024xbf16>) -> (tensor<512x16xbf16>, tensor<1024x16xbf16>, tensor<16x1024xbf16>, tensor<512x16xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : bf16
  %eh = tensor.empty() : tensor<512x1024xbf16>
  %zh = linalg.fill ins(%zero : bf16) outs(%eh : tensor<512x1024xbf16>) -> tensor<512x1024xbf16>
  %ey = tensor.empty() : tensor<512x16xbf16>
  %zy = linalg.fill ins(%zero : bf16) outs(%ey : tensor<512x16xbf16>) -> tensor<512x16xbf16>
  %h = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%x, %w1 : tensor<512x16xbf16>, tensor<1024x16xbf16>) outs(%zh : tensor<512x1024xbf16>) -> tensor<512x1024xbf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<512x1024xbf16>) outs(%eh : tensor<512x1024xbf16>) {
  ^bb0(%i: bf16, %o: bf16):
    %r = math.tanh %i : bf16
    linalg.yield %r : bf16
  } -> tensor<512x1024xbf16>
  %y = linalg.contract indexing_maps = [#mn, #kn, #mk] ins(%t, %w2 : tensor<512x1024xbf16>, tensor<16x1024xbf16>) outs(%zy : tensor<512x16xbf16>) -> tensor<512x16xbf16>
  %ec = tensor.empty() : tensor<16x16xbf16>
  %zc = linalg.fill ins(%zero : bf16) outs(%ec : tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %c = linalg.contract indexing_maps = [#km, #kn, #mn] ins(%y, %y : tensor<512x16xbf16>, tensor<512x16xbf16>) outs(%zc : tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %dy = linalg.contract indexing_maps = [#mk, #kn, #mn] {remat.backward} ins(%y, %c : tensor<512x16xbf16>, tensor<16x16xbf16>) outs(%zy : tensor<512x16xbf16>) -> tensor<512x16xbf16>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<512x1024xbf16>) outs(%eh : tensor<512x1024xbf16>) attrs = {remat.backward} {
  ^bb0(%i: bf16, %o: bf16):
    %r = math.tanh %i : bf16
    linalg.yield %r : bf16
  } -> tensor<512x1024xbf16>
  %e2 = tensor.empty() : tensor<16x1024xbf16>
  %z2 = linalg.fill ins(%zero : bf16) outs(%e2 : tensor<16x1024xbf16>) -> tensor<16x1024xbf16>
  %dw2 = linalg.contract indexing_maps = [#km, #kn, #mn] {remat.backward} ins(%dy, %u : tensor<512x16xbf16>, tensor<512x1024xbf16>) outs(%z2 : tensor<16x1024xbf16>) -> tensor<16x1024xbf16>
  %dt = linalg.contract indexing_maps = [#mk, #kn, #mn] {remat.backward} ins(%dy, %w2 : tensor<512x16xbf16>, tensor<16x1024xbf16>) outs(%zh : tensor<512x1024xbf16>) -> tensor<512x1024xbf16>
  %dh = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%dt, %u : tensor<512x1024xbf16>, tensor<512x1024xbf16>) outs(%eh : tensor<512x1024xbf16>) attrs = {remat.backward} {
  ^bb0(%g: bf16, %i: bf16, %o: bf16):
    %s = arith.mulf %i, %i : bf16
    %d = arith.subf %one, %s : bf16
    %r = arith.mulf %g, %d : bf16
    linalg.yield %r : bf16
  } -> tensor<512x1024xbf16>
  %e1 = tensor.empty() : tensor<1024x16xbf16>
  %z1 = linalg.fill ins(%zero : bf16) outs(%e1 : tensor<1024x16xbf16>) -> tensor<1024x16xbf16>
  %dw1 = linalg.contract indexing_maps = [#km, #kn, #mn] {remat.backward} ins(%dh, %x : tensor<512x1024xbf16>, tensor<512x16xbf16>) outs(%z1 : tensor<1024x16xbf16>) -> tensor<1024x16xbf16>
  %dx = linalg.contract indexing_maps = [#mk, #kn, #mn] {remat.backward} ins(%dh, %w1 : tensor<512x1024xbf16>, tensor<1024x16xbf16>) outs(%zy : tensor<512x16xbf16>) -> tensor<512x16xbf16>
  return %y, %dw1, %dw2, %dx : tensor<512x16xbf16>, tensor<1024x16xbf16>, tensor<16x1024xbf16>, tensor<512x16xbf16>
}
