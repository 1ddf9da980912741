// RUN: remat-opt %s --remat-plan --remat-assign-buffers --remat-place -split-input-file | FileCheck %s

// The writer of a row goes over an operand that others read of the row if what
// it writes is made of all that they read: here of the row's maximum, by way of
// half of it.

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>

func.func private @make(%x: tensor<8x5xf64>) -> tensor<8x5xf64> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<8x5xf64>
  %0 = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x5xf64>) outs(%e : tensor<8x5xf64>) {
  ^bb0(%i: f64, %o: f64):
    %r = math.exp %i : f64
    linalg.yield %r : f64
  } -> tensor<8x5xf64>
  return %0 : tensor<8x5xf64>
}
func.func private @shift(%x: tensor<8x5xf64>) -> tensor<8x5xf64> attributes {remat.kernel} {
  %least = arith.constant -1.0 : f64
  %half = arith.constant 0.5 : f64
  %e = tensor.empty() : tensor<8x5xf64>
  %n = tensor.empty() : tensor<8xf64>
  %init = linalg.fill ins(%least : f64) outs(%n : tensor<8xf64>) -> tensor<8xf64>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x5xf64>) outs(%init : tensor<8xf64>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%i: f64, %o: f64):
    %r = arith.maximumf %i, %o : f64
    linalg.yield %r : f64
  } -> tensor<8xf64>
  %h = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%m : tensor<8xf64>) outs(%n : tensor<8xf64>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%i: f64, %o: f64):
    %r = arith.mulf %i, %half : f64
    linalg.yield %r : f64
  } -> tensor<8xf64>
  %0 = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %h : tensor<8x5xf64>, tensor<8xf64>) outs(%e : tensor<8x5xf64>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%i: f64, %j: f64, %o: f64):
    %r = arith.subf %i, %j : f64
    linalg.yield %r : f64
  } -> tensor<8x5xf64>
  return %0 : tensor<8x5xf64>
}
// CHECK-LABEL: remat.graph @complete
remat.graph @complete(%x: tensor<8x5xf64>) -> tensor<8x5xf64> {
  %0 = remat.task 0 @make(%x) : (tensor<8x5xf64>) -> tensor<8x5xf64>
  // CHECK: remat.task 1 @shift(%{{.*}}) at [operand 0]
  %1 = remat.task 1 @shift(%0) : (tensor<8x5xf64>) -> tensor<8x5xf64>
  // CHECK: remat.task 2 @make(%{{.*}}) at [operand 0]
  %2 = remat.task 2 @make(%1) : (tensor<8x5xf64>) -> tensor<8x5xf64>
  remat.return %2 : tensor<8x5xf64>
}

// -----

// If it is made of nothing that they read, code may write the row before they
// have read it.

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

func.func private @make(%x: tensor<8x5xf64>) -> tensor<8x5xf64> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<8x5xf64>
  %0 = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x5xf64>) outs(%e : tensor<8x5xf64>) {
  ^bb0(%i: f64, %o: f64):
    %r = math.exp %i : f64
    linalg.yield %r : f64
  } -> tensor<8x5xf64>
  return %0 : tensor<8x5xf64>
}
func.func private @both(%x: tensor<8x5xf64>, %y: tensor<8x5xf64>) -> (tensor<8x5xf64>, tensor<8xf64>) attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x5xf64>
  %n = tensor.empty() : tensor<8xf64>
  %init = linalg.fill ins(%zero : f64) outs(%n : tensor<8xf64>) -> tensor<8xf64>
  %s = linalg.generic {indexing_maps = [#full, #full, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %y : tensor<8x5xf64>, tensor<8x5xf64>) outs(%init : tensor<8xf64>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%i: f64, %j: f64, %o: f64):
    %p = arith.mulf %i, %j : f64
    %r = arith.addf %o, %p : f64
    linalg.yield %r : f64
  } -> tensor<8xf64>
  %0 = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x5xf64>) outs(%e : tensor<8x5xf64>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%i: f64, %o: f64):
    %r = math.sin %i : f64
    linalg.yield %r : f64
  } -> tensor<8x5xf64>
  return %0, %s : tensor<8x5xf64>, tensor<8xf64>
}
// CHECK-LABEL: remat.graph @apart
remat.graph @apart(%x: tensor<8x5xf64>, %y: tensor<8x5xf64>) -> (tensor<8x5xf64>, tensor<8xf64>) {
  %0 = remat.task 0 @make(%x) : (tensor<8x5xf64>) -> tensor<8x5xf64>
  // CHECK: remat.task 1 @both(%{{.*}}) at [
  // CHECK-NOT: operand
  // CHECK-SAME: ]
  %1:2 = remat.task 1 @both(%0, %y) : (tensor<8x5xf64>, tensor<8x5xf64>) -> (tensor<8x5xf64>, tensor<8xf64>)
  remat.return %1#0, %1#1 : tensor<8x5xf64>, tensor<8xf64>
}
