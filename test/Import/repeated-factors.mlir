// RUN: remat-opt %s --remat-import-contractions | FileCheck %s

// Two key heads for six query heads, as `repeat_interleave` or expand and
// reshape leave them. Keys are scaled, transposed and joined with the batch on
// the way to a batched contraction, which reads them where they were scaled.

#in = affine_map<(b, h, r, t, d) -> (b, h, t, d)>
#out = affine_map<(b, h, r, t, d) -> (b, h, r, t, d)>
#id = affine_map<(b, h, t, d) -> (b, h, t, d)>
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
// CHECK-DAG: #[[S:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>

// CHECK-LABEL: @scores
// CHECK-SAME: %[[QUERY:.*]]: tensor<24x5x4xf32>, %[[KEY:.*]]: tensor<4x2x7x4xf32>
// CHECK-DAG: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[KEY]] : tensor<4x2x7x4xf32>)
// CHECK-DAG: %[[HEADS:.*]] = tensor.expand_shape %[[QUERY]] {{\[}}[0, 1], [2], [3]] output_shape [4, 6, 5, 4]
// CHECK-DAG: %[[SPLIT:.*]] = tensor.expand_shape %[[HEADS]] {{\[}}[0], [1, 2], [3], [4]] output_shape [4, 2, 3, 5, 4]
// CHECK: %[[P:.*]] = linalg.contract indexing_maps = [#[[Q]], #[[K]], #[[S]]] ins(%[[SPLIT]], %[[SCALED]] :
// CHECK: %[[J:.*]] = tensor.collapse_shape %[[P]] {{\[}}[0], [1, 2], [3], [4]]
// CHECK: %[[R:.*]] = tensor.collapse_shape %[[J]] {{\[}}[0, 1], [2], [3]]
// CHECK: return %[[R]]
func.func @scores(%q: tensor<24x5x4xf32>, %k: tensor<4x2x7x4xf32>) -> tensor<24x5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e5 = tensor.empty() : tensor<4x2x3x7x4xf32>
  %r = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<4x2x7x4xf32>) outs(%e5 : tensor<4x2x3x7x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<4x2x3x7x4xf32>
  %c = tensor.collapse_shape %r [[0], [1, 2], [3], [4]] : tensor<4x2x3x7x4xf32> into tensor<4x6x7x4xf32>
  %e4 = tensor.empty() : tensor<4x6x4x7xf32>
  %t = linalg.transpose ins(%c : tensor<4x6x7x4xf32>) outs(%e4 : tensor<4x6x4x7xf32>) permutation = [0, 1, 3, 2]
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t : tensor<4x6x4x7xf32>) outs(%e4 : tensor<4x6x4x7xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %half : f32
    linalg.yield %y : f32
  } -> tensor<4x6x4x7xf32>
  %j = tensor.collapse_shape %s [[0, 1], [2], [3]] : tensor<4x6x4x7xf32> into tensor<24x4x7xf32>
  %e3 = tensor.empty() : tensor<24x5x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e3 : tensor<24x5x7xf32>) -> tensor<24x5x7xf32>
  %p = linalg.batch_matmul ins(%q, %j : tensor<24x5x4xf32>, tensor<24x4x7xf32>) outs(%f : tensor<24x5x7xf32>) -> tensor<24x5x7xf32>
  return %p : tensor<24x5x7xf32>
}

// What others read scaled stays as it is, and so does what nobody repeats.

// CHECK-LABEL: @read_twice
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.contract {{.*}} -> tensor<6x5x7xf32>
// CHECK: linalg.contract {{.*}} -> tensor<6x5x4xf32>
func.func @read_twice(%q: tensor<6x5x4xf32>, %p: tensor<6x5x7xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x3x4x7xf32>)
    -> (tensor<6x5x7xf32>, tensor<6x5x4xf32>, tensor<6x7x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e4 = tensor.empty() : tensor<2x3x7x4xf32>
  %r = linalg.broadcast ins(%k : tensor<2x7x4xf32>) outs(%e4 : tensor<2x3x7x4xf32>) dimensions = [1]
  %c = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<2x3x7x4xf32> into tensor<6x7x4xf32>
  %e3 = tensor.empty() : tensor<6x7x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(h, t, d) -> (h, t, d)>, affine_map<(h, t, d) -> (h, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c : tensor<6x7x4xf32>) outs(%e3 : tensor<6x7x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  } -> tensor<6x7x4xf32>
  %es = tensor.empty() : tensor<6x5x7xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %a = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%q, %s : tensor<6x5x4xf32>, tensor<6x7x4xf32>) outs(%fs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %w = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x3x4x7xf32> into tensor<6x4x7xf32>
  %eo = tensor.empty() : tensor<6x5x4xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %b = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%p, %w : tensor<6x5x7xf32>, tensor<6x4x7xf32>) outs(%fo : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %a, %b, %s : tensor<6x5x7xf32>, tensor<6x5x4xf32>, tensor<6x7x4xf32>
}

// Loops of unknown size are not split.

// CHECK-LABEL: @unknown_rows
// CHECK: linalg.contract {{.*}} : tensor<6x?x4xf32>, tensor<6x4x7xf32>)
func.func @unknown_rows(%q: tensor<6x?x4xf32>, %k: tensor<2x4x7xf32>, %e: tensor<6x?x7xf32>) -> tensor<6x?x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e4 = tensor.empty() : tensor<2x3x4x7xf32>
  %r = linalg.broadcast ins(%k : tensor<2x4x7xf32>) outs(%e4 : tensor<2x3x4x7xf32>) dimensions = [1]
  %c = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<2x3x4x7xf32> into tensor<6x4x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x?x7xf32>) -> tensor<6x?x7xf32>
  %p = linalg.batch_matmul ins(%q, %c : tensor<6x?x4xf32>, tensor<6x4x7xf32>) outs(%f : tensor<6x?x7xf32>) -> tensor<6x?x7xf32>
  return %p : tensor<6x?x7xf32>
}

// Of two changes of what is repeated, the first moves first.

// CHECK-LABEL: @changed_twice
// CHECK-SAME: %[[A:.*]]: tensor<f32>
// CHECK: %[[SIN:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<f32>)
// CHECK: math.sin
// CHECK: %[[EXP:.*]] = linalg.generic {{.*}} ins(%[[SIN]] : tensor<f32>)
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%[[EXP]] : tensor<f32>)
// CHECK: linalg.contract
func.func @changed_twice(%a: tensor<f32>, %w: tensor<7x5xf32>) -> tensor<5xf32> {
  %zero = arith.constant dense<0.0> : tensor<5xf32>
  %e = tensor.empty() : tensor<7xf32>
  %r = linalg.broadcast ins(%a : tensor<f32>) outs(%e : tensor<7xf32>) dimensions = [0]
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%r : tensor<7xf32>) outs(%e : tensor<7xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.sin %x : f32
    linalg.yield %y : f32
  } -> tensor<7xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%s : tensor<7xf32>) outs(%e : tensor<7xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<7xf32>
  %p = linalg.vecmat ins(%t, %w : tensor<7xf32>, tensor<7x5xf32>) outs(%zero : tensor<5xf32>) -> tensor<5xf32>
  return %p : tensor<5xf32>
}
