// RUN: remat-opt %s -split-input-file --remat-form-tasks --remat-order-tasks | FileCheck %s

// What is taken out of %a is smaller, and nobody else reads that: it is taken
// out before the other task. The view that it reads moves along.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[A:.*]] = remat.task 0 @{{.*}}(%arg0)
// CHECK: %[[V:.*]] = tensor.expand_shape %[[A]]
// CHECK: remat.task 1 @{{.*}}slice{{[_0-9]*}}(%[[V]])
// CHECK: remat.task 2 @{{.*}}(%arg1)
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<8x4x64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<64xf32>
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%b : tensor<64x64xf32>) outs(%g : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %v = tensor.expand_shape %a [[0, 1], [2]] output_shape [16, 4, 64] : tensor<64x64xf32> into tensor<16x4x64xf32>
  %p = tensor.extract_slice %v[0, 0, 0] [8, 4, 64] [1, 1, 1] : tensor<16x4x64xf32> to tensor<8x4x64xf32>
  return %s, %p : tensor<64xf32>, tensor<8x4x64xf32>
}

// -----

// A backward task stays behind the forward ones, and one that reads what others
// read later stays where it is.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[A:.*]] = remat.task {{[0-9]+}} @{{.*}}(%arg0)
// CHECK: %[[B:.*]] = remat.task {{[0-9]+}} @{{.*}}(%arg1)
// CHECK: remat.task {{[0-9]+}} @{{.*}}slice{{[_0-9]*}}(%[[A]]) backward
// CHECK: %[[C:.*]] = remat.task {{[0-9]+}} @{{.*}}(%[[B]]) backward
// CHECK: remat.task {{[0-9]+}} @{{.*}}slice{{[_0-9]*}}(%[[B]]) backward
// CHECK: remat.return
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<8x64xf32>, tensor<64x64xf32>, tensor<8x64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) attrs = {remat.backward} {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %q = tensor.extract_slice %b[0, 0] [8, 64] [1, 1] {remat.backward} : tensor<64x64xf32> to tensor<8x64xf32>
  %p = tensor.extract_slice %a[0, 0] [8, 64] [1, 1] {remat.backward} : tensor<64x64xf32> to tensor<8x64xf32>
  return %p, %c, %q : tensor<8x64xf32>, tensor<64x64xf32>, tensor<8x64xf32>
}

// -----

// What is large and read last waits for the others, whose values are then gone:
// here a sum over what nobody else reads.

#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[B:.*]] = remat.task 0 @{{.*}}(%arg1)
// CHECK: %[[S:.*]] = remat.task 1 @{{.*}}(%[[B]])
// CHECK: %[[A:.*]] = remat.task 2 @{{.*}}(%arg0)
// CHECK: %[[V:.*]] = tensor.collapse_shape %[[A]]
// CHECK: remat.task 3 @{{.*}}(%[[V]], %[[S]])
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<4160xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %a = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<64x64xf32>
  %v = tensor.collapse_shape %a [[0, 1]] : tensor<64x64xf32> into tensor<4096xf32>
  %b = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<64xf32>
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.matvec ins(%b, %g : tensor<64x64xf32>, tensor<64xf32>) outs(%g : tensor<64xf32>) -> tensor<64xf32>
  %r = tensor.concat dim(0) %v, %s : (tensor<4096xf32>, tensor<64xf32>) -> tensor<4160xf32>
  return %r, %s : tensor<4160xf32>, tensor<64xf32>
}

// -----

// Two that wait for the same reader keep their order.

#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[B:.*]] = remat.task 0 @{{.*}}(%arg1)
// CHECK: %[[S:.*]] = remat.task 1 @{{.*}}(%[[B]])
// CHECK: %[[P:.*]] = remat.task 2 @{{.*}}matmul(%arg0)
// CHECK: %[[A:.*]] = remat.task 3 @{{.*}}(%arg0)
// CHECK: %[[V:.*]] = tensor.expand_shape %[[S]]
// CHECK: remat.task 4 @{{.*}}(%[[P]], %[[A]], %[[V]])
// Apart, so that there are two.
module attributes {remat.target = #remat.target<"cpu", strides = false>} {
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x128xf32>) -> (tensor<130x64xf32>, tensor<128xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zero : tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<64x64xf32>
  %d = tensor.empty() : tensor<128x64xf32>
  %b = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<64x128xf32>) outs(%d : tensor<128x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<128x64xf32>
  %f = tensor.empty() : tensor<64xf32>
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  %h = tensor.empty() : tensor<128xf32>
  %k = linalg.fill ins(%z : f32) outs(%h : tensor<128xf32>) -> tensor<128xf32>
  %s = linalg.matvec ins(%b, %g : tensor<128x64xf32>, tensor<64xf32>) outs(%k : tensor<128xf32>) -> tensor<128xf32>
  %v = tensor.expand_shape %s [[0, 1]] output_shape [2, 64] : tensor<128xf32> into tensor<2x64xf32>
  %r = tensor.concat dim(0) %p, %a, %v : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<2x64xf32>) -> tensor<130x64xf32>
  return %r, %s : tensor<130x64xf32>, tensor<128xf32>
}
}

// -----

// A product is added to a sum where that lies, so that it takes no memory of its
// own. It does not wait for the sum's reader, though %large is gone by then: the
// product's factor would wait with it.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#left = affine_map<(i, j, k) -> (i, k)>
#right = affine_map<(i, j, k) -> (k, j)>
#id3 = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: remat.graph @main
// CHECK: %[[SUM:.*]] = remat.task {{[0-9]+}} @matmul_1(
// CHECK: %[[ROWS:.*]] = remat.task {{[0-9]+}} @mul_sum(
// CHECK: remat.task {{[0-9]+}} @mul_sum_1(%[[SUM]], %[[ROWS]])
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %w: tensor<64x128xf32>, %v1: tensor<64xf32>) -> tensor<64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %l = tensor.empty() : tensor<64x128xf32>
  %v = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %none = linalg.fill ins(%z : f32) outs(%v : tensor<64xf32>) -> tensor<64xf32>
  %large = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x128xf32>) outs(%l : tensor<64x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<64x128xf32>
  %first = linalg.contract indexing_maps = [#left, #right, #id3] ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %factor = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %sum = linalg.contract indexing_maps = [#left, #right, #id3] ins(%x, %factor : tensor<64x64xf32>, tensor<64x64xf32>) outs(%first : tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = linalg.matvec ins(%factor, %v1 : tensor<64x64xf32>, tensor<64xf32>) outs(%none : tensor<64xf32>) -> tensor<64xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%large, %t : tensor<64x128xf32>, tensor<64xf32>) outs(%none : tensor<64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %p = arith.mulf %i, %j : f32
    %r = arith.addf %p, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %all = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%sum, %rows : tensor<64x64xf32>, tensor<64xf32>) outs(%none : tensor<64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %p = arith.mulf %i, %j : f32
    %r = arith.addf %p, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %all : tensor<64xf32>
}
