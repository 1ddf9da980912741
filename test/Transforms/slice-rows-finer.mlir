// RUN: remat-opt %s --remat-slice-rows=rows=64 --canonicalize --cse --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-slice-rows=alternatives --split-input-file | FileCheck %s --check-prefix=AUTO
// RUN: remat-opt %s --remat-slice-rows --split-input-file | FileCheck %s --check-prefix=TARGET

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#t = affine_map<(n, k, m) -> (m, n)>
#u = affine_map<(n, k, m) -> (m, k)>
#v = affine_map<(n, k, m) -> (n, k)>

// Scores of 2 MiB that are smaller than their factors are sliced only where
// slices have fewer rows than the target asks for. A sum over the rows that is
// only added to what a loop carries begins with it, so that nothing else of its
// size is there.
// CHECK-LABEL: @gradient(
// CHECK-SAME:  %[[BEFORE:[a-z0-9]+]]: tensor<2048x512xf32> {remat.donated = 0 : i64}
// CHECK-SAME:  attributes {remat.slice_rows = 64 : i64}
// CHECK-NOT:   256x2048
// CHECK:       linalg.contract {{.*}} -> tensor<64x2048xf32>
// CHECK:       linalg.generic {{.*}} outs({{.*}} : tensor<64x2048xf32>)
// CHECK:       %[[FIRST:.*]] = linalg.contract {{.*}} outs(%[[BEFORE]] : tensor<2048x512xf32>)
// CHECK:       linalg.contract {{.*}} outs(%[[FIRST]] : tensor<2048x512xf32>)
// CHECK:       linalg.contract {{.*}} outs({{.*}} : tensor<2048x512xf32>)
// CHECK:       %[[LAST:.*]] = linalg.contract {{.*}} outs({{.*}} : tensor<2048x512xf32>)
// CHECK-NEXT:  return %[[LAST]]
// With alternatives, the function stays as it is, and one with slices follows.
// AUTO-LABEL:  func.func private @gradient(
// AUTO-SAME:   attributes {remat.alternative = @gradient_slices_of_64}
// AUTO:        linalg.contract {{.*}} -> tensor<256x2048xf32>
// AUTO-LABEL:  func.func private @gradient_slices_of_64(
// AUTO-SAME:   attributes {remat.slice_rows = 64 : i64}
// AUTO-NOT:    linalg.contract {{.*}} -> tensor<256x2048xf32>
// AUTO:        return
// TARGET-LABEL: @gradient(
// TARGET-NOT:   slice
// TARGET:       return
func.func private @gradient(%before: tensor<2048x512xf32> {remat.donated = 0 : i64}, %x: tensor<256x512xf32>, %w: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x2048xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %h = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<256x512xf32>, tensor<2048x512xf32>) outs(%z : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<256x2048xf32>) outs(%e : tensor<256x2048xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    linalg.yield %q : f32
  } -> tensor<256x2048xf32>
  %ew = tensor.empty() : tensor<2048x512xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %d = linalg.contract indexing_maps = [#t, #u, #v] ins(%g, %x : tensor<256x2048xf32>, tensor<256x512xf32>) outs(%zw : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%before, %d : tensor<2048x512xf32>, tensor<2048x512xf32>) outs(%ew : tensor<2048x512xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %q = arith.addf %i, %j : f32
    linalg.yield %q : f32
  } -> tensor<2048x512xf32>
  return %sum : tensor<2048x512xf32>
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#t = affine_map<(n, k, m) -> (m, n)>
#u = affine_map<(n, k, m) -> (m, k)>
#v = affine_map<(n, k, m) -> (n, k)>

// What a caller adds up is rounded once, as without slices.
// CHECK-LABEL: @caller(
// CHECK-SAME:  %[[BEFORE:[a-z0-9]+]]: tensor<2048x512xf32> {remat.donated = 0 : i64}
// CHECK-NOT:   outs(%[[BEFORE]]
// CHECK:       linalg.generic {{.*}} ins(%[[BEFORE]], %{{.*}} : tensor<2048x512xf32>, tensor<2048x512xf32>)
func.func @caller(%before: tensor<2048x512xf32> {remat.donated = 0 : i64}, %x: tensor<256x512xf32>, %w: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x2048xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %h = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<256x512xf32>, tensor<2048x512xf32>) outs(%z : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<256x2048xf32>) outs(%e : tensor<256x2048xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    linalg.yield %q : f32
  } -> tensor<256x2048xf32>
  %ew = tensor.empty() : tensor<2048x512xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %d = linalg.contract indexing_maps = [#t, #u, #v] ins(%g, %x : tensor<256x2048xf32>, tensor<256x512xf32>) outs(%zw : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%before, %d : tensor<2048x512xf32>, tensor<2048x512xf32>) outs(%ew : tensor<2048x512xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %q = arith.addf %i, %j : f32
    linalg.yield %q : f32
  } -> tensor<2048x512xf32>
  return %sum : tensor<2048x512xf32>
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(m, n) -> (m)>

// What a loop runs is sliced with the function, in a copy of its own. A function
// in which nothing is sliced has no alternative.
// AUTO-LABEL: func.func @main(
// AUTO-SAME:  attributes {remat.alternative = @main_slices_of_64}
// AUTO:       remat.loop @body count
// AUTO:       func.func private @main_slices_of_64(
// AUTO:       remat.loop @body_slices_of_64 count
// AUTO:       func.func private @body(
// AUTO:       linalg.contract {{.*}} -> tensor<256x2048xf32>
// AUTO:       func.func private @body_slices_of_64(
// AUTO-NOT:   linalg.contract {{.*}} -> tensor<256x2048xf32>
// AUTO:       return
func.func @main(%x: tensor<4x256x512xf32>, %w: tensor<2048x512xf32>) -> tensor<4x256xf32> {
  %rows = remat.loop @body count 4 carried() invariant(%w) sliced(%x) : (tensor<2048x512xf32>, tensor<4x256x512xf32>) -> tensor<4x256xf32>
  return %rows : tensor<4x256xf32>
}
func.func private @body(%w: tensor<2048x512xf32>, %x: tensor<256x512xf32>) -> tensor<256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x2048xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %h = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<256x512xf32>, tensor<2048x512xf32>) outs(%z : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %er = tensor.empty() : tensor<256xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<256xf32>) -> tensor<256xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%h : tensor<256x2048xf32>) outs(%zr : tensor<256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    %r = arith.addf %q, %o : f32
    linalg.yield %r : f32
  } -> tensor<256xf32>
  return %rows : tensor<256xf32>
}

// -----

// AUTO-LABEL: @nothing_wide(
// AUTO-NOT:   remat.alternative
// AUTO:       return
func.func @nothing_wide(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
