// RUN: remat-opt %s --remat-slice-rows --canonicalize --cse --split-input-file | FileCheck %s

#row = affine_map<(m, n) -> (m)>
#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#b2 = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#at = affine_map<(m, n, k) -> (k, m)>

// Scores of 512 rows, what is made of them, and the contractions that read that:
// one of them row by row, the other sums over the rows.
// CHECK-LABEL: @wide
// CHECK-NOT: 512x4096
// CHECK: %[[X0:.*]] = tensor.extract_slice %arg0[0, 0] [256, 64]
// CHECK: %[[S0:.*]] = linalg.contract {{.*}} ins(%[[X0]], %arg1
// CHECK: %[[E0:.*]] = linalg.generic {{.*}} ins(%[[S0]] : tensor<256x4096xf32>)
// CHECK: %[[R0:.*]] = linalg.generic {{.*}} ins(%[[E0]] : tensor<256x4096xf32>) outs({{.*}} : tensor<256xf32>)
// CHECK: %[[Y0:.*]] = linalg.contract {{.*}} ins(%[[E0]], %arg1
// CHECK: %[[W0:.*]] = linalg.contract {{.*}} ins(%[[E0]], %[[X0]]
// CHECK: %[[X1:.*]] = tensor.extract_slice %arg0[256, 0] [256, 64]
// CHECK: %[[S1:.*]] = linalg.contract {{.*}} ins(%[[X1]], %arg1
// CHECK: %[[E1:.*]] = linalg.generic {{.*}} ins(%[[S1]]
// CHECK: %[[R1:.*]] = linalg.generic {{.*}} ins(%[[E1]]
// CHECK: %[[Y1:.*]] = linalg.contract {{.*}} ins(%[[E1]], %arg1
// CHECK: %[[W1:.*]] = linalg.contract {{.*}} ins(%[[E1]], %[[X1]] {{.*}} outs(%[[W0]]
// CHECK-DAG: %[[R:.*]] = tensor.concat dim(0) %[[R0]], %[[R1]]
// CHECK-DAG: %[[Y:.*]] = tensor.concat dim(0) %[[Y0]], %[[Y1]]
// CHECK: return %[[R]], %[[Y]], %[[W1]]
func.func @wide(%x: tensor<512x64xf32>, %w: tensor<4096x64xf32>) -> (tensor<512xf32>, tensor<512x64xf32>, tensor<4096x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<512x4096xf32>) outs(%e : tensor<512x4096xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<512x4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%t : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  %ex = tensor.empty() : tensor<512x64xf32>
  %zx = linalg.fill ins(%zero : f32) outs(%ex : tensor<512x64xf32>) -> tensor<512x64xf32>
  %y = linalg.contract indexing_maps = [#a, #b2, #c] ins(%t, %w : tensor<512x4096xf32>, tensor<4096x64xf32>) outs(%zx : tensor<512x64xf32>) -> tensor<512x64xf32>
  %ew = tensor.empty() : tensor<4096x64xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<4096x64xf32>) -> tensor<4096x64xf32>
  %g = linalg.contract indexing_maps = [#at, #b2, #c] ins(%t, %x : tensor<512x4096xf32>, tensor<512x64xf32>) outs(%zw : tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %rows, %y, %g : tensor<512xf32>, tensor<512x64xf32>, tensor<4096x64xf32>
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Slices begin with zeros of their own where the whole does: a slice of a
// constant would be one of a buffer as large as what is sliced.
// CHECK-LABEL: @constant
// CHECK-NOT: 512x4096
// CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<256x4096xf32>
// CHECK: linalg.contract {{.*}} outs(%[[Z]] : tensor<256x4096xf32>)
func.func @constant(%x: tensor<512x64xf32>, %w: tensor<4096x64xf32>) -> tensor<512xf32> {
  %z = arith.constant dense<0.0> : tensor<512x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %zr = arith.constant dense<0.0> : tensor<512xf32>
  %rows = linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %e = math.exp %i : f32
    %r = arith.addf %e, %o : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  return %rows : tensor<512xf32>
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#b2 = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#r3 = affine_map<(b, m, n) -> (b, m)>
#r1 = affine_map<(m) -> (m)>
#r0 = affine_map<(m) -> ()>

// Rows may be two dimensions of another shape. A body finds elements of its row
// in the slice, but counts rows of the whole. The loss, forward, depends on what
// is done with its gradient, and so is done there.
// CHECK-LABEL: @loss
// CHECK-NOT: 1024x4096
// CHECK-NOT: 4x256x4096
// CHECK: %[[S0:.*]] = linalg.contract {{.*}} {remat.backward} {{.*}} -> tensor<256x4096xf32>
// CHECK: %[[V0:.*]] = tensor.expand_shape %[[S0]] {{.*}} into tensor<1x256x4096xf32>
// CHECK: linalg.generic {{.*}} ins(%[[V0]] : tensor<1x256x4096xf32>) {{.*}} {remat.backward}
// CHECK: %[[L0:.*]] = linalg.generic {{.*}} {remat.backward}
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: tensor.extract %[[S0]][%[[ROW]], %[[ROW]]]
// CHECK: %[[S1:.*]] = linalg.contract {{.*}} {remat.backward} {{.*}} -> tensor<256x4096xf32>
// CHECK: linalg.generic {{.*}} outs(%[[L0]] : tensor<f32>) attrs = {remat.backward}
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[WHOLE:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK: tensor.extract %[[S1]][%[[ROW]], %[[WHOLE]]]
// CHECK: tensor.concat dim(0)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>) {{.*}} attrs = {remat.backward}
func.func @loss(%x: tensor<1024x64xf32>, %w: tensor<4096x64xf32>) -> (tensor<f32>, tensor<1024x64xf32>, tensor<4x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<1024x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %v = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 256, 4096] : tensor<1024x4096xf32> into tensor<4x256x4096xf32>
  %er = tensor.empty() : tensor<4x256xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<4x256xf32>) -> tensor<4x256xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, #r3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v : tensor<4x256x4096xf32>) outs(%zr : tensor<4x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.maximumf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<4x256xf32>
  %flat = tensor.collapse_shape %m [[0, 1]] : tensor<4x256xf32> into tensor<1024xf32>
  %el = tensor.empty() : tensor<f32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#r1, #r0], iterator_types = ["reduction"]} ins(%flat : tensor<1024xf32>) outs(%zl : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %row = linalg.index 0 : index
    %q = tensor.extract %s[%row, %row] : tensor<1024x4096xf32>
    %d = arith.subf %i, %q : f32
    %r = arith.addf %d, %o : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %half = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%l : tensor<f32>) outs(%el : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1024x4096xf32>) outs(%e : tensor<1024x4096xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<1024x4096xf32>
  %ex = tensor.empty() : tensor<1024x64xf32>
  %zx = linalg.fill ins(%zero : f32) outs(%ex : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %y = linalg.contract indexing_maps = [#a, #b2, #c] {remat.backward} ins(%t, %w : tensor<1024x4096xf32>, tensor<4096x64xf32>) outs(%zx : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  return %half, %y, %m : tensor<f32>, tensor<1024x64xf32>, tensor<4x256xf32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#tr = affine_map<(m, n) -> (n, m)>
#row = affine_map<(m, n) -> (m)>
#col = affine_map<(m, n) -> (n)>

// What is returned, has a name, is read by columns, or is needed as a whole
// before it can be read again, stays as it is.
// CHECK-LABEL: @returned
// CHECK-NOT: extract_slice
func.func @returned(%x: tensor<512x64xf32>, %w: tensor<4096x64xf32>) -> tensor<512x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  return %s : tensor<512x4096xf32>
}

// CHECK-LABEL: @named
// CHECK-NOT: extract_slice
func.func @named(%x: tensor<512x64xf32>, %w: tensor<4096x64xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %t = remat.tag %s {name = "scores"} : tensor<512x4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%t : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  return %rows : tensor<512xf32>
}

// CHECK-LABEL: @columns
// CHECK-NOT: extract_slice
func.func @columns(%x: tensor<512x64xf32>, %w: tensor<4096x64xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %et = tensor.empty() : tensor<4096x512xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<512x4096xf32>) outs(%et : tensor<4096x512xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4096x512xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %rows = linalg.generic {indexing_maps = [#tr, #row], iterator_types = ["parallel", "reduction"]} ins(%t : tensor<4096x512xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  return %rows : tensor<512xf32>
}

// CHECK-LABEL: @scaled_by_all
// CHECK-NOT: extract_slice
func.func @scaled_by_all(%x: tensor<512x64xf32>, %w: tensor<4096x64xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xf32>, tensor<4096x64xf32>) outs(%z : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %ec = tensor.empty() : tensor<4096xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<4096xf32>) -> tensor<4096xf32>
  %m = linalg.generic {indexing_maps = [#tr, #row], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<512x4096xf32>) outs(%zc : tensor<4096xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.maximumf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %rows = linalg.generic {indexing_maps = [#id, #col, #row], iterator_types = ["parallel", "reduction"]} ins(%s, %m : tensor<512x4096xf32>, tensor<4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %d = arith.divf %i, %j : f32
    %r = arith.addf %d, %o : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  return %rows : tensor<512xf32>
}

// -----

#a = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (n, k)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
#id = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

// Slices need not be equal, but none ends in the middle of an image and goes on
// in the next: a prime number of images has as many slices, or none if they are
// too many. A single row is no slice.
// CHECK-LABEL: @prime_rows
// CHECK: tensor.extract_slice %arg0[0, 0, 0] [1, 260, 4]
// CHECK: tensor.extract_slice %arg0[0, 260, 0] [1, 261, 4]
// CHECK: return
func.func @prime_rows(%x: tensor<1x521x4xf32>, %w: tensor<2048x4xf32>) -> tensor<1x521xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x521x2048xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x521x2048xf32>) -> tensor<1x521x2048xf32>
  %s = linalg.contract indexing_maps = [#a, #w, #c] ins(%x, %w : tensor<1x521x4xf32>, tensor<2048x4xf32>) outs(%z : tensor<1x521x2048xf32>) -> tensor<1x521x2048xf32>
  %er = tensor.empty() : tensor<1x521xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<1x521xf32>) -> tensor<1x521xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<1x521x2048xf32>) outs(%zr : tensor<1x521xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    %r = arith.addf %q, %o : f32
    linalg.yield %r : f32
  } -> tensor<1x521xf32>
  return %rows : tensor<1x521xf32>
}

// CHECK-LABEL: @prime_images
// CHECK-COUNT-37: tensor.extract_slice
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @prime_images(%x: tensor<37x128x4xf32>, %w: tensor<256x4xf32>) -> tensor<37x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<37x128x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<37x128x256xf32>) -> tensor<37x128x256xf32>
  %s = linalg.contract indexing_maps = [#a, #w, #c] ins(%x, %w : tensor<37x128x4xf32>, tensor<256x4xf32>) outs(%z : tensor<37x128x256xf32>) -> tensor<37x128x256xf32>
  %er = tensor.empty() : tensor<37x128xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<37x128xf32>) -> tensor<37x128xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<37x128x256xf32>) outs(%zr : tensor<37x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    %r = arith.addf %q, %o : f32
    linalg.yield %r : f32
  } -> tensor<37x128xf32>
  return %rows : tensor<37x128xf32>
}

// CHECK-LABEL: @many_images
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @many_images(%x: tensor<131x128x2xf32>, %w: tensor<64x2xf32>) -> tensor<131x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<131x128x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<131x128x64xf32>) -> tensor<131x128x64xf32>
  %s = linalg.contract indexing_maps = [#a, #w, #c] ins(%x, %w : tensor<131x128x2xf32>, tensor<64x2xf32>) outs(%z : tensor<131x128x64xf32>) -> tensor<131x128x64xf32>
  %er = tensor.empty() : tensor<131x128xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<131x128xf32>) -> tensor<131x128xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<131x128x64xf32>) outs(%zr : tensor<131x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    %r = arith.addf %q, %o : f32
    linalg.yield %r : f32
  } -> tensor<131x128xf32>
  return %rows : tensor<131x128xf32>
}

// CHECK-LABEL: @one_row
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @one_row(%x: tensor<1x1x1xf32>, %w: tensor<1048576x1xf32>) -> tensor<1x1xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1x1048576xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x1048576xf32>) -> tensor<1x1x1048576xf32>
  %s = linalg.contract indexing_maps = [#a, #w, #c] ins(%x, %w : tensor<1x1x1xf32>, tensor<1048576x1xf32>) outs(%z : tensor<1x1x1048576xf32>) -> tensor<1x1x1048576xf32>
  %er = tensor.empty() : tensor<1x1xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<1x1xf32>) -> tensor<1x1xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<1x1x1048576xf32>) outs(%zr : tensor<1x1xf32>) {
  ^bb0(%i: f32, %o: f32):
    %q = math.exp %i : f32
    %r = arith.addf %q, %o : f32
    linalg.yield %r : f32
  } -> tensor<1x1xf32>
  return %rows : tensor<1x1xf32>
}

// CHECK-LABEL: @unknown_rows
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @unknown_rows(%x: tensor<1x?x4xf32>, %w: tensor<2048x4xf32>, %z: tensor<1x?x2048xf32>, %zr: tensor<1x?xf32>) -> tensor<1x?xf32> {
  %s = linalg.contract indexing_maps = [#a, #w, #c] ins(%x, %w : tensor<1x?x4xf32>, tensor<2048x4xf32>) outs(%z : tensor<1x?x2048xf32>) -> tensor<1x?x2048xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<1x?x2048xf32>) outs(%zr : tensor<1x?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<1x?xf32>
  return %rows : tensor<1x?xf32>
}

// -----

#row = affine_map<(m, n) -> (m)>
#id = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#b2 = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#at = affine_map<(m, n, k) -> (k, m)>

// In bf16, a product that sums over the rows adds up in f32 and is rounded once.
// CHECK-LABEL: @narrow
// CHECK-NOT: 512x4096
// CHECK: %[[E0:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<256x4096xbf16>)
// CHECK: %[[Y0:.*]] = linalg.contract {{.*}} ins(%[[E0]], %arg1 {{.*}} -> tensor<256x64xbf16>
// CHECK: %[[W0:.*]] = linalg.contract {{.*}} ins(%[[E0]], {{.*}} -> tensor<4096x64xf32>
// CHECK: %[[E1:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<256x4096xbf16>)
// CHECK: %[[Y1:.*]] = linalg.contract {{.*}} ins(%[[E1]], %arg1 {{.*}} -> tensor<256x64xbf16>
// CHECK: %[[W1:.*]] = linalg.contract {{.*}} ins(%[[E1]], {{.*}} outs(%[[W0]] : tensor<4096x64xf32>
// CHECK-DAG: %[[W:.*]] = linalg.generic {{.*}} ins(%[[W1]] : tensor<4096x64xf32>) outs({{.*}} : tensor<4096x64xbf16>)
// CHECK-DAG: %[[Y:.*]] = tensor.concat dim(0) %[[Y0]], %[[Y1]]
// CHECK: return %[[Y]], %[[W]]
func.func @narrow(%x: tensor<512x64xbf16>, %w: tensor<4096x64xbf16>) -> (tensor<512x64xbf16>, tensor<4096x64xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<512x4096xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<512x4096xbf16>) -> tensor<512x4096xbf16>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<512x64xbf16>, tensor<4096x64xbf16>) outs(%z : tensor<512x4096xbf16>) -> tensor<512x4096xbf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<512x4096xbf16>) outs(%e : tensor<512x4096xbf16>) {
  ^bb0(%i: bf16, %o: bf16):
    %r = math.exp %i : bf16
    linalg.yield %r : bf16
  } -> tensor<512x4096xbf16>
  %ex = tensor.empty() : tensor<512x64xbf16>
  %zx = linalg.fill ins(%zero : bf16) outs(%ex : tensor<512x64xbf16>) -> tensor<512x64xbf16>
  %y = linalg.contract indexing_maps = [#a, #b2, #c] ins(%t, %w : tensor<512x4096xbf16>, tensor<4096x64xbf16>) outs(%zx : tensor<512x64xbf16>) -> tensor<512x64xbf16>
  %ew = tensor.empty() : tensor<4096x64xbf16>
  %zw = linalg.fill ins(%zero : bf16) outs(%ew : tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
  %g = linalg.contract indexing_maps = [#at, #b2, #c] ins(%t, %x : tensor<512x4096xbf16>, tensor<512x64xbf16>) outs(%zw : tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
  return %y, %g : tensor<512x64xbf16>, tensor<4096x64xbf16>
}
