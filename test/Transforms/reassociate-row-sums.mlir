// RUN: remat-opt %s --remat-set-target=target=cuda --remat-reassociate-row-sums -split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-set-target=target=cuda --remat-reassociate-row-sums=uses-rounded-results -split-input-file | FileCheck %s --check-prefix=ROUNDED

// The gradient of a softmax in attention: the terms of the sum are the products
// of each row of the result with its gradient. The result is there for another
// gradient.

// CHECK:       #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK:       #[[SUMS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: @attention
// CHECK-SAME:  %[[P:.*]]: tensor<2x8x16xf32>, %{{.*}}, %[[DO:.*]]: tensor<2x8x4xf32>)
// CHECK:       %[[O:.*]] = linalg.contract {{.*}} ins(%[[P]]
// CHECK:       %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], #[[ROWS]], #[[SUMS]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[DO]], %[[O]] : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%{{.*}} : tensor<2x8xf32>) attrs = {remat.backward}
// CHECK:         %[[PRODUCT:.*]] = arith.mulf
// CHECK:         arith.addf %{{.*}}, %[[PRODUCT]]
// CHECK:       return %[[O]], %[[SUM]]
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @attention(%p: tensor<2x8x16xf32>, %v: tensor<2x16x4xf32>, %do: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %zw = arith.constant dense<0.0> : tensor<4x4xf32>
  %out = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%p, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%zo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dp = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, d, e) -> (b, i, d)>, affine_map<(b, i, d, e) -> (b, i, e)>, affine_map<(b, i, d, e) -> (d, e)>] {remat.backward} ins(%out, %do : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%zw : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %out, %sum, %dw : tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>
}

// -----

// As remat differentiates a softmax: the sum has the exponentials, the gradient
// where the row is no masked one, and the square of the sums, with a sign. The
// heads are dimensions of their own there, and one with the batch in the
// products; the result and its gradient have rows before heads.

// CHECK-LABEL: @differentiated
// CHECK:       %[[COPY:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x8x3x4xf32>)
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg3, %[[COPY]] : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) outs(%{{.*}} : tensor<2x3x8xf32>) attrs = {remat.backward}
// CHECK:       %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %arg1 : tensor<2x3x8xf32>, tensor<2x3x8xf32>)
// CHECK-NEXT:  ^bb0(%[[A:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:    %[[NEGATIVE:.*]] = arith.negf %[[A]]
// CHECK-NEXT:    %[[QUOTIENT:.*]] = arith.divf %[[NEGATIVE]], %[[S]]
// CHECK-NEXT:    linalg.yield %[[QUOTIENT]]
// CHECK:       return %[[COPY]], %[[SCALED]]
#id = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#swapped = affine_map<(b, h, i, j) -> (b, i, h, j)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#dk = affine_map<(b, i, j, d) -> (b, d, j)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @differentiated(%e: tensor<2x3x8x16xf32>, %s: tensor<2x3x8xf32>, %v: tensor<2x3x16x4xf32>, %do: tensor<2x8x3x4xf32>, %masked: tensor<2x3x8xi1>) -> (tensor<2x8x3x4xf32>, tensor<2x3x8xf32>, tensor<3x4x3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<2x3x8xf32>
  %zo = arith.constant dense<0.0> : tensor<6x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<6x8x16xf32>
  %zw = arith.constant dense<0.0> : tensor<3x4x3x4xf32>
  %ep = tensor.empty() : tensor<2x3x8x16xf32>
  %eo = tensor.empty() : tensor<2x8x3x4xf32>
  %ed = tensor.empty() : tensor<2x3x8x4xf32>
  %et = tensor.empty() : tensor<6x4x16xf32>
  %p = linalg.generic {indexing_maps = [#row, #id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%masked, %e, %s : tensor<2x3x8xi1>, tensor<2x3x8x16xf32>, tensor<2x3x8xf32>) outs(%ep : tensor<2x3x8x16xf32>) {
  ^bb0(%m: i1, %a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    %r = arith.select %m, %zero, %q : f32
    linalg.yield %r : f32
  } -> tensor<2x3x8x16xf32>
  %p3 = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<2x3x8x16xf32> into tensor<6x8x16xf32>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x3x16x4xf32> into tensor<6x16x4xf32>
  %o3 = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%p3, %v3 : tensor<6x8x16xf32>, tensor<6x16x4xf32>) outs(%zo : tensor<6x8x4xf32>) -> tensor<6x8x4xf32>
  %o4 = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 3, 8, 4] : tensor<6x8x4xf32> into tensor<2x3x8x4xf32>
  %out = linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%o4 : tensor<2x3x8x4xf32>) outs(%eo : tensor<2x8x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2x8x3x4xf32>
  %d4 = linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%do : tensor<2x8x3x4xf32>) outs(%ed : tensor<2x3x8x4xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2x3x8x4xf32>
  %d3 = tensor.collapse_shape %d4 [[0, 1], [2], [3]] {remat.backward} : tensor<2x3x8x4xf32> into tensor<6x8x4xf32>
  %vt = linalg.transpose ins(%v3 : tensor<6x16x4xf32>) outs(%et : tensor<6x4x16xf32>) permutation = [0, 2, 1]
  %dp3 = linalg.contract indexing_maps = [#dk, #qd, #qk] {remat.backward} ins(%vt, %d3 : tensor<6x4x16xf32>, tensor<6x8x4xf32>) outs(%zp : tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
  %dp = tensor.expand_shape %dp3 [[0, 1], [2], [3]] output_shape [2, 3, 8, 16] {remat.backward} : tensor<6x8x16xf32> into tensor<2x3x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row, #id, #row, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%dp, %masked, %e, %s : tensor<2x3x8x16xf32>, tensor<2x3x8xi1>, tensor<2x3x8x16xf32>, tensor<2x3x8xf32>) outs(%zeros : tensor<2x3x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %m: i1, %b: f32, %c: f32, %o: f32):
    %g = arith.select %m, %zero, %a : f32
    %n = arith.negf %g : f32
    %q = arith.divf %b, %c : f32
    %q2 = arith.divf %q, %c : f32
    %t = arith.mulf %n, %q2 : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x3x8xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, h, d, g, e) -> (b, i, h, d)>, affine_map<(b, i, h, d, g, e) -> (b, i, g, e)>, affine_map<(b, i, h, d, g, e) -> (h, d, g, e)>] {remat.backward} ins(%out, %do : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) outs(%zw : tensor<3x4x3x4xf32>) -> tensor<3x4x3x4xf32>
  return %out, %sum, %dw : tensor<2x8x3x4xf32>, tensor<2x3x8xf32>, tensor<3x4x3x4xf32>
}

// -----

// A dropout between the softmax and the product.

// CHECK-LABEL: @dropout
// CHECK:       %[[O:.*]] = linalg.contract
// CHECK:       linalg.generic {{.*}} ins(%arg2, %[[O]] : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%{{.*}} : tensor<2x8xf32>)
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @dropout(%p: tensor<2x8x16xf32>, %v: tensor<2x16x4xf32>, %do: tensor<2x8x4xf32>, %mask: tensor<2x8x16xi1>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %zw = arith.constant dense<0.0> : tensor<4x4xf32>
  %keep = arith.constant 0.9 : f32
  %none = arith.constant 0.0 : f32
  %ep = tensor.empty() : tensor<2x8x16xf32>
  %pd = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %mask : tensor<2x8x16xf32>, tensor<2x8x16xi1>) outs(%ep : tensor<2x8x16xf32>) {
  ^bb0(%a: f32, %b: i1, %o: f32):
    %s = arith.divf %a, %keep : f32
    %r = arith.select %b, %s, %none : f32
    linalg.yield %r : f32
  } -> tensor<2x8x16xf32>
  %out = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%pd, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%zo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dpd = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %dp = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%dpd, %mask : tensor<2x8x16xf32>, tensor<2x8x16xi1>) outs(%ep : tensor<2x8x16xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: i1, %o: f32):
    %s = arith.divf %a, %keep : f32
    %r = arith.select %b, %s, %none : f32
    linalg.yield %r : f32
  } -> tensor<2x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, d, e) -> (b, i, d)>, affine_map<(b, i, d, e) -> (b, i, e)>, affine_map<(b, i, d, e) -> (d, e)>] {remat.backward} ins(%out, %do : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%zw : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %out, %sum, %dw : tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>
}

// -----

// Two heads have the same keys and values. Both products read a copy of them for
// each head, by way of another shape.

// CHECK-LABEL: @grouped
// CHECK:       %[[O:.*]] = linalg.contract
// CHECK:       linalg.generic {{.*}} ins(%arg2, %[[O]] : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%{{.*}} : tensor<2x8xf32>)
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @grouped(%p: tensor<2x8x16xf32>, %shared: tensor<1x16x4xf32>, %do: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %zw = arith.constant dense<0.0> : tensor<4x4xf32>
  %ev = tensor.empty() : tensor<1x2x16x4xf32>
  %each = linalg.generic {indexing_maps = [affine_map<(k, g, j, d) -> (k, j, d)>, affine_map<(k, g, j, d) -> (k, g, j, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%shared : tensor<1x16x4xf32>) outs(%ev : tensor<1x2x16x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x2x16x4xf32>
  %v = tensor.collapse_shape %each [[0, 1], [2], [3]] : tensor<1x2x16x4xf32> into tensor<2x16x4xf32>
  %out = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%p, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%zo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dp = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %dp : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, d, e) -> (b, i, d)>, affine_map<(b, i, d, e) -> (b, i, e)>, affine_map<(b, i, d, e) -> (d, e)>] {remat.backward} ins(%out, %do : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%zw : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %out, %sum, %dw : tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>
}

// -----

// All that reads the result rounds it. If rounded results may be used, that one
// is, and roundings on the way do not matter.

// CHECK-LABEL: @rounded
// CHECK:       arith.truncf
// CHECK:       arith.truncf
// CHECK:       ins(%{{.*}}, %arg0 : tensor<2x8x16xf32>, tensor<2x8x16xf32>)

// ROUNDED-LABEL: @rounded
// ROUNDED:       linalg.contract
// ROUNDED:       %[[O:.*]] = linalg.generic
// ROUNDED:         arith.truncf
// ROUNDED:       linalg.generic {{.*}} ins(%arg2, %[[O]] : tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) outs(%{{.*}} : tensor<2x8xf32>)
// ROUNDED-NEXT:  ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: f32)
// ROUNDED-DAG:     arith.extf %[[A]]
// ROUNDED-DAG:     arith.extf %[[B]]
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @rounded(%p: tensor<2x8x16xf32>, %v: tensor<2x16x4xbf16>, %do: tensor<2x8x4xbf16>) -> (tensor<2x8x4xbf16>, tensor<2x8xf32>, tensor<4x4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %zw = arith.constant dense<0.0> : tensor<4x4xf32>
  %ep = tensor.empty() : tensor<2x8x16xbf16>
  %eo = tensor.empty() : tensor<2x8x4xbf16>
  %pr = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p : tensor<2x8x16xf32>) outs(%ep : tensor<2x8x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<2x8x16xbf16>
  %wide = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%pr, %v : tensor<2x8x16xbf16>, tensor<2x16x4xbf16>) outs(%zo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %out = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%wide : tensor<2x8x4xf32>) outs(%eo : tensor<2x8x4xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<2x8x4xbf16>
  %dp = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x4xbf16>, tensor<2x16x4xbf16>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, d, e) -> (b, i, d)>, affine_map<(b, i, d, e) -> (b, i, e)>, affine_map<(b, i, d, e) -> (d, e)>] {remat.backward} ins(%out, %do : tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) outs(%zw : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %out, %sum, %dw : tensor<2x8x4xbf16>, tensor<2x8xf32>, tensor<4x4xf32>
}

// -----

// What is not the same: another first factor, another second one, one that is not
// added up over the same rows, a sum over the other dimension, and a sum whose
// other factor differs from term to term.

// CHECK-LABEL: @others
// CHECK-COUNT-5: ins(%{{.*}}, %{{.*}} : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs
// CHECK-NOT:   ins(%{{.*}}, %{{.*}} : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%{{.*}} : tensor<2x8xf32>)
// ROUNDED-LABEL: @others
// ROUNDED-COUNT-5: ins(%{{.*}}, %{{.*}} : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @others(%p: tensor<2x8x16xf32>, %q: tensor<2x8x16xf32>, %v: tensor<2x16x4xf32>, %u: tensor<2x16x4xf32>, %do: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<4x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x16xf32>, tensor<2x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %zw = arith.constant dense<0.0> : tensor<4x4xf32>
  %zj = arith.constant dense<0.0> : tensor<2x16xf32>
  %out = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%p, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%zo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, d, e) -> (b, i, d)>, affine_map<(b, i, d, e) -> (b, i, e)>, affine_map<(b, i, d, e) -> (d, e)>] {remat.backward} ins(%out, %do : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%zw : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dp = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %du = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %u : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %flat = tensor.collapse_shape %v [[0, 1], [2]] : tensor<2x16x4xf32> into tensor<32x4xf32>
  %vs = tensor.expand_shape %flat [[0, 1], [2]] output_shape [16, 2, 4] : tensor<32x4xf32> into tensor<16x2x4xf32>
  %turned = linalg.contract indexing_maps = [#qd, affine_map<(b, i, j, d) -> (j, b, d)>, #qk] {remat.backward} ins(%do, %vs : tensor<2x8x4xf32>, tensor<16x2x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %first = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %q : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %second = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%du, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %third = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%turned, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %fourth = linalg.generic {indexing_maps = [#ij, #ij, affine_map<(b, i, j) -> (b, j)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%dp, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zj : tensor<2x16xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x16xf32>
  %fifth = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.mulf %a, %b : f32
    %t = arith.mulf %c, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  return %out, %dw, %first, %second, %third, %fourth, %fifth : tensor<2x8x4xf32>, tensor<4x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x16xf32>, tensor<2x8xf32>
}

// -----

// Nothing else reads the result in the backward computation: it would have to be
// kept for the sum.

// CHECK-LABEL: @not_kept
// CHECK:       ins(%{{.*}}, %arg0 : tensor<2x8x16xf32>, tensor<2x8x16xf32>)
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @not_kept(%p: tensor<2x8x16xf32>, %v: tensor<2x16x4xf32>, %do: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %out = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%p, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%zo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dp = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%zp : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %p : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  return %out, %sum : tensor<2x8x4xf32>, tensor<2x8xf32>
}

// -----

// The sum over the rows of values would be longer than the one that is there.

// CHECK-LABEL: @longer
// CHECK:       ins(%{{.*}}, %arg0 : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
#ij = affine_map<(b, i, j) -> (b, i, j)>
#i = affine_map<(b, i, j) -> (b, i)>
#qk = affine_map<(b, i, j, d) -> (b, i, j)>
#qd = affine_map<(b, i, j, d) -> (b, i, d)>
#kd = affine_map<(b, i, j, d) -> (b, j, d)>
func.func @longer(%p: tensor<2x8x4xf32>, %v: tensor<2x4x16xf32>, %do: tensor<2x8x16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<16x16xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %zo = arith.constant dense<0.0> : tensor<2x8x16xf32>
  %zp = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zw = arith.constant dense<0.0> : tensor<16x16xf32>
  %out = linalg.contract indexing_maps = [#qk, #kd, #qd] ins(%p, %v : tensor<2x8x4xf32>, tensor<2x4x16xf32>) outs(%zo : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %dp = linalg.contract indexing_maps = [#qd, #kd, #qk] {remat.backward} ins(%do, %v : tensor<2x8x16xf32>, tensor<2x4x16xf32>) outs(%zp : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ij, #i], iterator_types = ["parallel", "parallel", "reduction"]} ins(%dp, %p : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%zeros : tensor<2x8xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    %r = arith.addf %o, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(b, i, d, e) -> (b, i, d)>, affine_map<(b, i, d, e) -> (b, i, e)>, affine_map<(b, i, d, e) -> (d, e)>] {remat.backward} ins(%out, %do : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%zw : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %out, %sum, %dw : tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<16x16xf32>
}
