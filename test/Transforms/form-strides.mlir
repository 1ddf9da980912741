// What is elementwise reads a slice where it lies, and makes a part of a concatenation there, where the target says so.

// RUN: remat-opt %s -split-input-file --remat-form-tasks | FileCheck %s
// RUN: sed 's/strides = true, shared_strides = true, row_stages = true/strides = false/' %s | remat-opt -split-input-file --remat-form-tasks | FileCheck %s --check-prefix=OFF

// OFF-LABEL: remat.graph @attention
// OFF: remat.task 0 @slice(
// OFF: remat.task 1 @transpose(
// OFF: remat.task 2 @slice_1(
// OFF: remat.task 3 @mul(
// OFF: remat.task 4 @transpose_1(
// OFF: remat.task 5 @neg(
// OFF: remat.task 6 @concat(

// The parts of a fused projection are transposed to heads, and their gradients back.
// CHECK-LABEL: remat.graph @attention
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x12xf32>, %[[G:.*]]: tensor<2x2x3x2xf32>, %[[H:.*]]: tensor<2x3x2x2xf32>)
// CHECK: %[[K:.*]] = remat.task 0 @[[READ:.*]](%[[X]])
// CHECK: %[[V:.*]] = remat.task 1 @[[SCALE:.*]](%[[X]])
// CHECK: %[[C:.*]] = remat.task 2 @[[MAKE:.*]](%[[G]], %[[H]])
// CHECK: %[[D:.*]] = tensor.collapse_shape %[[C]] {{\[}}[0], [1], [2, 3]] : tensor<2x3x6x2xf32> into tensor<2x3x12xf32>
// CHECK: remat.return %[[K]], %[[V]], %[[D]]
// CHECK: func.func private @[[READ]](%[[A:.*]]: tensor<2x3x12xf32>)
// CHECK: %[[S:.*]] = tensor.extract_slice %[[A]][0, 0, 4] [2, 3, 4] [1, 1, 1]
// CHECK: %[[E:.*]] = tensor.expand_shape %[[S]]
// CHECK: linalg.generic {{.*}} ins(%[[E]]
// CHECK: func.func private @[[MAKE]](
// CHECK: %[[T:.*]] = linalg.generic
// CHECK: %[[N:.*]] = linalg.generic
// CHECK: tensor.concat dim(2) %[[T]], %{{.*}}, %[[N]]
#bnh = affine_map<(b, n, h, d) -> (b, n, h, d)>
#bhn = affine_map<(b, n, h, d) -> (b, h, n, d)>
module attributes {remat.target = #remat.target<"cuda", strides = true, shared_strides = true, row_stages = true>} {
func.func @attention(%x: tensor<2x3x12xf32>, %g: tensor<2x2x3x2xf32>, %h: tensor<2x3x2x2xf32>)
    -> (tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>, tensor<2x3x12xf32>) {
  %two = arith.constant 2.0 : f32
  %heads = tensor.empty() : tensor<2x2x3x2xf32>
  %rows = tensor.empty() : tensor<2x3x2x2xf32>
  %s = tensor.extract_slice %x[0, 0, 4] [2, 3, 4] [1, 1, 1] : tensor<2x3x12xf32> to tensor<2x3x4xf32>
  %se = tensor.expand_shape %s [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : tensor<2x3x4xf32> into tensor<2x3x2x2xf32>
  %k = linalg.generic {indexing_maps = [#bnh, #bhn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%se : tensor<2x3x2x2xf32>) outs(%heads : tensor<2x2x3x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2x2x3x2xf32>
  %t = tensor.extract_slice %x[0, 0, 8] [2, 3, 4] [1, 1, 1] : tensor<2x3x12xf32> to tensor<2x3x4xf32>
  %te = tensor.expand_shape %t [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : tensor<2x3x4xf32> into tensor<2x3x2x2xf32>
  %v = linalg.generic {indexing_maps = [#bnh, #bhn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%te : tensor<2x3x2x2xf32>) outs(%heads : tensor<2x2x3x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<2x2x3x2xf32>
  %dk = linalg.generic {indexing_maps = [#bhn, #bnh], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%g : tensor<2x2x3x2xf32>) outs(%rows : tensor<2x3x2x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2x3x2x2xf32>
  %dv = linalg.generic {indexing_maps = [#bnh, #bnh], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%h : tensor<2x3x2x2xf32>) outs(%rows : tensor<2x3x2x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<2x3x2x2xf32>
  %c0 = tensor.collapse_shape %dk [[0], [1], [2, 3]] : tensor<2x3x2x2xf32> into tensor<2x3x4xf32>
  %c1 = tensor.collapse_shape %h [[0], [1], [2, 3]] : tensor<2x3x2x2xf32> into tensor<2x3x4xf32>
  %c2 = tensor.collapse_shape %dv [[0], [1], [2, 3]] : tensor<2x3x2x2xf32> into tensor<2x3x4xf32>
  %d = tensor.concat dim(2) %c0, %c1, %c2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x12xf32>
  return %k, %v, %d : tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>, tensor<2x3x12xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// A slice that is read twice, a part that is read elsewhere, too, one of two large tensors, which would both wait for the
// concatenation, values that somebody has asked for, and a slice behind which other things are made, while the whole would
// be kept, stay what they are.
// CHECK-LABEL: remat.graph @apart
// CHECK: remat.task 0 @slice(
// CHECK: remat.task 1 @neg(
// CHECK: remat.task 2 @exp(
// CHECK: remat.task 3 @add(
// CHECK: remat.task 4 @concat(
// CHECK: remat.task 5 @slice_1(
// CHECK: remat.task 6 @neg(
// CHECK: remat.task 7 @slice
// CHECK: remat.task 8 @neg
// CHECK: remat.task 9 @exp
module attributes {remat.target = #remat.target<"cuda", strides = true, shared_strides = true, row_stages = true>} {
func.func @apart(%x: tensor<4x16xf32>, %y: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %s = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %n = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %q = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %d = tensor.concat dim(1) %p, %q : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %t = tensor.extract_slice %x[0, 8] [4, 8] [1, 1] {remat.policy = #remat.policy<must_save>} : tensor<4x16xf32> to tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %v = tensor.extract_slice %u[0, 0] [2, 8] [1, 1] : tensor<4x8xf32> to tensor<2x8xf32>
  %l = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %f = tensor.empty() : tensor<2x8xf32>
  %w = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<2x8xf32>) outs(%f : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  return %n, %p, %d, %u, %w, %l : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

// Halves of a vector change their places, as in a rotary embedding: slices, one of which is negated, and their
// concatenation are one kernel.
// CHECK-LABEL: remat.graph @rotate
// CHECK: remat.task 0 @
// CHECK-NOT: remat.task
module attributes {remat.target = #remat.target<"cuda", strides = true, shared_strides = true, row_stages = true>} {
func.func @rotate(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %s = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %t = tensor.extract_slice %x[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %n = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %d = tensor.concat dim(1) %n, %s : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  return %d : tensor<4x16xf32>
}
}

// -----

#nhd = affine_map<(n, h, d) -> (n, h, d)>
#hnd = affine_map<(n, h, d) -> (h, n, d)>

// With one element in a batch, parts are made without that dimension.
// CHECK-LABEL: remat.graph @one_batch
// CHECK: %[[C:.*]] = remat.task 0 @transpose_concat(%{{.*}}, %{{.*}}) : (tensor<2x3x2xf32>, tensor<3x2x2xf32>) -> tensor<3x4x2xf32>
// CHECK: tensor.expand_shape %[[C]] {{\[}}[0, 1], [2], [3]] output_shape [1, 3, 4, 2]
// CHECK-NOT: remat.task
module attributes {remat.target = #remat.target<"cuda", strides = true, shared_strides = true, row_stages = true>} {
func.func @one_batch(%g: tensor<2x3x2xf32>, %h: tensor<1x3x2x2xf32>) -> tensor<1x3x8xf32> {
  %rows = tensor.empty() : tensor<3x2x2xf32>
  %dk = linalg.generic {indexing_maps = [#hnd, #nhd], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%g : tensor<2x3x2xf32>) outs(%rows : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<3x2x2xf32>
  %e = tensor.expand_shape %dk [[0, 1], [2], [3]] output_shape [1, 3, 2, 2] : tensor<3x2x2xf32> into tensor<1x3x2x2xf32>
  %c0 = tensor.collapse_shape %e [[0], [1], [2, 3]] : tensor<1x3x2x2xf32> into tensor<1x3x4xf32>
  %c1 = tensor.collapse_shape %h [[0], [1], [2, 3]] : tensor<1x3x2x2xf32> into tensor<1x3x4xf32>
  %d = tensor.concat dim(2) %c0, %c1 : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x8xf32>
  return %d : tensor<1x3x8xf32>
}
}
