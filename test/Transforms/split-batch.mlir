// RUN: remat-opt %s --remat-split-batch="parts=4" -split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-split-batch="parts=0" -split-input-file | FileCheck %s --check-prefix=AUTO

// Rows go on through reshapes, in whatever dimension, up to where they are
// added up. The mean is taken behind the loop. What does not depend on a
// gradient, here how many labels count, is done by a loop of its own, which
// reads no weight. Whoever asks for its row gets that of the whole batch.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:.*]]: tensor<3x5xf32>, %[[LABELS:.*]]: tensor<8xi64>, %[[X:.*]]: tensor<8x2x3xi32>)
// CHECK-SAME:  attributes {remat.batch_parts = 4 : i64}
// CHECK:       %[[NUMBERS:.*]] = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK:       %[[L:.*]] = tensor.expand_shape %[[LABELS]] {{\[}}[0, 1]] output_shape [4, 2]
// CHECK:       %[[COUNTS:.*]] = remat.loop @[[COUNT:.*]] count 4 carried() invariant() sliced(%[[L]]) {remat.stacks_nothing} : (tensor<4x2xi64>) -> tensor<4xf32>
// CHECK:       %[[COUNT1:.*]] = linalg.generic {{.*}} ins(%[[COUNTS]] : tensor<4xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK:       %[[XS:.*]] = tensor.expand_shape %[[X]] {{.*}} output_shape [4, 2, 2, 3]
// CHECK:       %[[BOTH:.*]]:2 = remat.loop @[[ROWS:.*]] count 4 carried() invariant(%[[W]]) sliced(%[[XS]], %[[NUMBERS]], %{{.*}}) {remat.stacks_nothing}
// CHECK-SAME:  -> (tensor<4x5x4xf32>, tensor<4xf32>)
// CHECK:       %[[MOVED:.*]] = linalg.transpose ins(%[[BOTH]]#0 : tensor<4x5x4xf32>) outs(%{{.*}} : tensor<5x4x4xf32>) permutation = [1, 0, 2]
// CHECK:       %[[ALL:.*]] = tensor.collapse_shape %[[MOVED]] {{\[}}[0], [1, 2]] : tensor<5x4x4xf32> into tensor<5x16xf32>
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BOTH]]#1 : tensor<4xf32>)
// CHECK:       %[[LOSS:.*]] = arith.divf %[[SUM]], %[[COUNT1]]
// CHECK:       return %[[LOSS]], %[[ALL]]
// CHECK:       func.func private @[[ROWS]](%{{.*}}: tensor<3x5xf32>, %{{.*}}: tensor<2x2x3xi32>, %[[NUMBER:.*]]: tensor<i64>, %{{.*}}: tensor<2xi64>)
// CHECK:       linalg.contract {{.*}} -> tensor<4x5xf32>
// CHECK:       %[[ROW:.*]] = linalg.index 0
// CHECK:       %[[PART:.*]] = tensor.extract %[[NUMBER]][]
// CHECK:       %[[CAST:.*]] = arith.index_cast %[[PART]]
// CHECK:       %[[BEFORE:.*]] = arith.muli %[[CAST]], %c4
// CHECK:       arith.addi %[[ROW]], %[[BEFORE]]
// CHECK:       func.func private @[[COUNT]](%{{.*}}: tensor<2xi64>) -> tensor<f32>

// AUTO-LABEL: func.func @main
// AUTO-SAME:  attributes {remat.alternative = @[[TWO:.*]]}
// AUTO-NOT:   remat.loop
// AUTO:       func.func private @[[TWO]]
// AUTO-SAME:  attributes {remat.alternative = @[[FOUR:.*]], remat.batch_parts = 2 : i64}
// AUTO:       func.func private @[[FOUR]]
// AUTO-SAME:  attributes {remat.alternative = @[[EIGHT:.*]], remat.batch_parts = 4 : i64}
// AUTO:       func.func private @[[EIGHT]]
// AUTO-SAME:  attributes {remat.batch_parts = 8 : i64}
func.func @main(%w: tensor<3x5xf32>, %labels: tensor<8xi64>, %x: tensor<8x2x3xi32>) -> (tensor<f32>, tensor<5x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant -1 : i64
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %f = arith.sitofp %x : tensor<8x2x3xi32> to tensor<8x2x3xf32>
  %rows = tensor.collapse_shape %f [[0, 1], [2]] : tensor<8x2x3xf32> into tensor<16x3xf32>
  %e = tensor.empty() : tensor<16x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x5xf32>) -> tensor<16x5xf32>
  %y = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%rows, %w : tensor<16x3xf32>, tensor<3x5xf32>) outs(%z : tensor<16x5xf32>) -> tensor<16x5xf32>
  %et = tensor.empty() : tensor<5x16xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<16x5xf32>) outs(%et : tensor<5x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %p = arith.sitofp %n : i64 to f32
    %m = arith.mulf %a, %p : f32
    linalg.yield %m : f32
  } -> tensor<5x16xf32>
  %back = tensor.expand_shape %t [[0], [1, 2]] output_shape [5, 8, 2] : tensor<5x16xf32> into tensor<5x8x2xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>, affine_map<(i, j, k) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction"]} ins(%back, %labels : tensor<5x8x2xf32>, tensor<8xi64>) outs(%z0 : tensor<f32>) {
  ^bb0(%a: f32, %l: i64, %o: f32):
    %is = arith.cmpi ne, %l, %none : i64
    %v = arith.select %is, %a, %zero : f32
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%labels : tensor<8xi64>) outs(%z0 : tensor<f32>) {
  ^bb0(%l: i64, %o: f32):
    %is = arith.cmpi ne, %l, %none : i64
    %v = arith.uitofp %is : i1 to f32
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %loss = arith.divf %s, %c : tensor<f32>
  return %loss, %t : tensor<f32>, tensor<5x16xf32>
}

// -----

// Products of complex numbers have rows, and sums over them begin with zeros.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  attributes {remat.batch_parts = 4 : i64}
// CHECK:       remat.loop {{.*}} count 4 {{.*}} tensor<4x2x3xi64>
// CHECK:       func.func private
// CHECK:       linalg.contract {{.*}} -> tensor<2x5xcomplex<f64>>
// CHECK:       linalg.contract {{.*}} -> tensor<3x5xcomplex<f64>>
func.func @main(%w: tensor<3x5xcomplex<f64>>, %x: tensor<8x3xi64>) -> tensor<3x5xcomplex<f64>> {
  %z = complex.constant [0.0, 0.0] : complex<f64>
  %r = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x3xcomplex<f64>>
  %xc = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x3xi64>) outs(%e : tensor<8x3xcomplex<f64>>) {
  ^bb0(%a: i64, %o: complex<f64>):
    %f = arith.sitofp %a : i64 to f64
    %c = complex.create %f, %r : complex<f64>
    linalg.yield %c : complex<f64>
  } -> tensor<8x3xcomplex<f64>>
  %z0 = tensor.splat %z : tensor<8x5xcomplex<f64>>
  %y = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%xc, %w : tensor<8x3xcomplex<f64>>, tensor<3x5xcomplex<f64>>) outs(%z0 : tensor<8x5xcomplex<f64>>) -> tensor<8x5xcomplex<f64>>
  %z1 = tensor.splat %z : tensor<3x5xcomplex<f64>>
  %g = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%xc, %y : tensor<8x3xcomplex<f64>>, tensor<8x5xcomplex<f64>>) outs(%z1 : tensor<3x5xcomplex<f64>>) -> tensor<3x5xcomplex<f64>>
  return %g : tensor<3x5xcomplex<f64>>
}
