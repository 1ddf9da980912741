// RUN: remat-opt %s --remat-recompute-cheap | FileCheck %s
// RUN: remat-opt %s --remat-recompute-cheap=max-depth=1 | FileCheck %s --check-prefix=SHORT

#id = affine_map<(d0) -> (d0)>
#fold = affine_map<(d0) -> (0)>

// The backward operation has %x in any case, so that %b is made again, and %a
// for it; in no chain of more than the given length.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[A]]
// CHECK: %[[A2:.*]] = linalg.generic {{.*}} ins(%arg0 {{.*}}remat.backward
// CHECK: %[[B2:.*]] = linalg.generic {{.*}} ins(%[[A2]] {{.*}}remat.backward
// CHECK: linalg.generic {{.*}} ins(%[[B2]], %arg1
// SHORT-LABEL: @chain
// SHORT: %[[A:.*]] = linalg.generic {{.*}} ins(%arg0
// SHORT: %[[B:.*]] = linalg.generic {{.*}} ins(%[[A]]
// SHORT: linalg.generic {{.*}} ins(%[[B]], %arg1
func.func @chain(%x: tensor<4096xf32>, %g: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %e = tensor.empty() : tensor<4096xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%b, %g : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.mulf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  return %b, %c : tensor<4096xf32>, tensor<4096xf32>
}

// A sine of f64 is a call for each element, which costs more than memory.
// CHECK-LABEL: @call
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: linalg.generic {{.*}} ins(%[[T]], %arg1
// SHORT-LABEL: @call
func.func @call(%x: tensor<4096xf64>, %g: tensor<4096xf64>) -> (tensor<4096xf64>, tensor<4096xf64>) {
  %e = tensor.empty() : tensor<4096xf64>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4096xf64>) outs(%e : tensor<4096xf64>) {
  ^bb0(%i: f64, %o: f64):
    %r = math.sin %i : f64
    linalg.yield %r : f64
  } -> tensor<4096xf64>
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %g : tensor<4096xf64>, tensor<4096xf64>) outs(%e : tensor<4096xf64>) attrs = {remat.backward} {
  ^bb0(%i: f64, %j: f64, %o: f64):
    %r = arith.mulf %i, %j : f64
    linalg.yield %r : f64
  } -> tensor<4096xf64>
  return %a, %c : tensor<4096xf64>, tensor<4096xf64>
}

// A cast does not count: what reads it does it on the way.
// CHECK-LABEL: @cast
// SHORT-LABEL: @cast
// SHORT: linalg.generic {{.*}} ins(%arg0
// SHORT: linalg.generic
// SHORT: %[[N2:.*]] = linalg.generic {{.*}} ins(%arg0 {{.*}}remat.backward
// SHORT: %[[B2:.*]] = linalg.generic {{.*}} ins(%[[N2]] {{.*}}remat.backward
// SHORT: linalg.generic {{.*}} ins(%[[B2]], %arg1
func.func @cast(%x: tensor<4096xf32>, %g: tensor<4096xbf16>) -> (tensor<4096xbf16>, tensor<4096xbf16>) {
  %e = tensor.empty() : tensor<4096xbf16>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xbf16>) {
  ^bb0(%i: f32, %o: bf16):
    %r = arith.truncf %i : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4096xbf16>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4096xbf16>) outs(%e : tensor<4096xbf16>) {
  ^bb0(%i: bf16, %o: bf16):
    %r = math.exp %i : bf16
    linalg.yield %r : bf16
  } -> tensor<4096xbf16>
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%b, %g : tensor<4096xbf16>, tensor<4096xbf16>) outs(%e : tensor<4096xbf16>) attrs = {remat.backward} {
  ^bb0(%i: bf16, %j: bf16, %o: bf16):
    %r = arith.mulf %i, %j : bf16
    linalg.yield %r : bf16
  } -> tensor<4096xbf16>
  return %b, %c : tensor<4096xbf16>, tensor<4096xbf16>
}

// What somebody named is the planner's.
// CHECK-LABEL: @tagged
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// SHORT-LABEL: @tagged
func.func @tagged(%x: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %e = tensor.empty() : tensor<4096xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %t = remat.tag %a {name = "a"} : tensor<4096xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : tensor<4096xf32>) outs(%e : tensor<4096xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %o: f32):
    %r = arith.mulf %i, %i : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  return %t, %c : tensor<4096xf32>, tensor<4096xf32>
}

// The first convolution, of arguments, is made again for the backward
// computation, a pad of its result too; the second convolution is kept.
// CHECK-LABEL: @stem
// CHECK: %[[X:.*]] = remat.conv {{.*}}(%arg0, %arg1)
// CHECK: tensor.pad %[[X]]
// CHECK: %[[Y:.*]] = remat.conv
// CHECK: %[[X2:.*]] = remat.conv {{.*}}(%arg0, %arg1) {{.*}}remat.backward
// CHECK: %[[P2:.*]] = tensor.pad %[[X2]]
// CHECK: remat.conv filter_grad(%[[P2]], %[[Y]])
func.func @stem(%x: tensor<2x3x16x16xf32>, %w: tensor<32x3x3x3xf32>, %v: tensor<32x32x3x3xf32>) -> (tensor<2x32x16x16xf32>, tensor<32x32x3x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x3x16x16xf32>, tensor<32x3x3x3xf32>) -> tensor<2x32x16x16xf32>
  %p = tensor.pad %a low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<2x32x16x16xf32> to tensor<2x32x18x18xf32>
  %y = remat.conv forward(%p, %v) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x32x18x18xf32>, tensor<32x32x3x3xf32>) -> tensor<2x32x16x16xf32>
  %g = remat.conv filter_grad(%p, %y) {remat.backward, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x32x18x18xf32>, tensor<2x32x16x16xf32>) -> tensor<32x32x3x3xf32>
  return %y, %g : tensor<2x32x16x16xf32>, tensor<32x32x3x3xf32>
}

// On a GPU, it is kept.
// CHECK-LABEL: @stem_on_gpu
// CHECK: %[[X:.*]] = remat.conv {{.*}}(%arg0, %arg1)
// CHECK-NEXT: remat.conv {{.*}}filter_grad(%[[X]], %arg2)
func.func @stem_on_gpu(%x: tensor<2x3x16x16xf32>, %w: tensor<32x3x3x3xf32>, %y: tensor<2x32x16x16xf32>) -> tensor<32x32x3x3xf32>
    attributes {remat.target = #remat.target<"cuda">} {
  %a = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x3x16x16xf32>, tensor<32x3x3x3xf32>) -> tensor<2x32x16x16xf32>
  %g = remat.conv filter_grad(%a, %y) {remat.backward, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>} : (tensor<2x32x16x16xf32>, tensor<2x32x16x16xf32>) -> tensor<32x32x3x3xf32>
  return %g : tensor<32x32x3x3xf32>
}

// The input of a transposed convolution, with zeros between its elements, is
// spread again.
// CHECK-LABEL: @spread
// CHECK: tensor.insert_slice %arg0 into
// CHECK: %[[S:.*]] = tensor.insert_slice %arg0 into {{.*}}remat.backward
// CHECK: linalg.generic {{.*}} ins(%[[S]], %arg1
func.func @spread(%x: tensor<2048xf32>, %g: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<2048xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %s = tensor.insert_slice %x into %f[0] [2048] [2] : tensor<2048xf32> into tensor<4096xf32>
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%s, %g : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.mulf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  return %s, %c, %x : tensor<4096xf32>, tensor<4096xf32>, tensor<2048xf32>
}

// What joins tensors is made again if that saves more than half of it.
// CHECK-LABEL: @joined
// CHECK: %[[S:.*]] = linalg.reduce
// CHECK: tensor.concat dim(0) %arg0, %[[S]] :
// CHECK: %[[HALF:.*]] = tensor.concat dim(0) %arg1, %[[S]] :
// CHECK: %[[C:.*]] = tensor.concat dim(0) %arg0, %[[S]] {remat.backward}
// CHECK-NOT: tensor.concat
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[HALF]] :
// SHORT-LABEL: @joined
func.func @joined(%x: tensor<4096xf32>, %y: tensor<2048xf32>, %z: tensor<2048x8xf32>) -> (tensor<6144xf32>, tensor<4096xf32>, tensor<6144xf32>) {
  %e = tensor.empty() : tensor<2048xf32>
  %s = linalg.reduce ins(%z : tensor<2048x8xf32>) outs(%e : tensor<2048xf32>) dimensions = [1] (%i: f32, %o: f32) {
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  }
  %a = tensor.concat dim(0) %x, %s : (tensor<4096xf32>, tensor<2048xf32>) -> tensor<6144xf32>
  %b = tensor.concat dim(0) %y, %s : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<4096xf32>
  %f = tensor.empty() : tensor<6144xf32>
  %c = linalg.generic {indexing_maps = [#id, #fold, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<6144xf32>, tensor<4096xf32>) outs(%f : tensor<6144xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.mulf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<6144xf32>
  return %a, %b, %c : tensor<6144xf32>, tensor<4096xf32>, tensor<6144xf32>
}

// A layer is kept, whatever the rank of its rows: a matmul makes it.
// CHECK-LABEL: @layer
// CHECK: linalg.contract
// CHECK-NOT: linalg.contract
// CHECK: return
#rows = affine_map<(b, i, j, d) -> (b, i, d)>
#matrix = affine_map<(b, i, j, d) -> (d, j)>
#features = affine_map<(b, i, j, d) -> (b, i, j)>
#all = affine_map<(b, i, j) -> (b, i, j)>
func.func @layer(%x: tensor<2x64x8xf32>, %w: tensor<8x64xf32>, %g: tensor<2x64x64xf32>) -> (tensor<2x64x64xf32>, tensor<2x64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %h = linalg.contract indexing_maps = [#rows, #matrix, #features] ins(%x, %w : tensor<2x64x8xf32>, tensor<8x64xf32>) outs(%z : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %b = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h, %g : tensor<2x64x64xf32>, tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.mulf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  return %g, %b : tensor<2x64x64xf32>, tensor<2x64x64xf32>
}

// A chain that begins with scores may be longer: one kernel makes all of it.
// CHECK-LABEL: @scores
// CHECK: linalg.contract
// CHECK: linalg.contract {{.*}} {remat.backward}
// CHECK: math.tanh
// CHECK: math.atan
// CHECK: linalg.generic {{.*}} attrs = {remat.backward}
// SHORT-LABEL: @scores
// SHORT: linalg.contract
// SHORT-NOT: linalg.contract
// SHORT: return
#id3 = affine_map<(b, i, j) -> (b, i, j)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
func.func @scores(%x: tensor<2x64x8xf32>, %y: tensor<2x64x8xf32>, %g: tensor<2x64x64xf32>) -> (tensor<2x64x64xf32>, tensor<2x64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %z = tensor.empty() : tensor<2x64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%z : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #qk] ins(%x, %y : tensor<2x64x8xf32>, tensor<2x64x8xf32>) outs(%f : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %a = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x64x64xf32>) outs(%z : tensor<2x64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %b = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<2x64x64xf32>) outs(%z : tensor<2x64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %c = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b : tensor<2x64x64xf32>) outs(%z : tensor<2x64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.sin %i : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %d = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c : tensor<2x64x64xf32>) outs(%z : tensor<2x64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.cos %i : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %e = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d : tensor<2x64x64xf32>) outs(%z : tensor<2x64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.atan %i : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %h = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %g : tensor<2x64x64xf32>, tensor<2x64x64xf32>) outs(%z : tensor<2x64x64xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.mulf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  return %e, %h : tensor<2x64x64xf32>, tensor<2x64x64xf32>
}
