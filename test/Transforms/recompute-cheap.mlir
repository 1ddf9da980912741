// RUN: remat-opt %s --remat-recompute-cheap | FileCheck %s
// RUN: remat-opt %s --remat-recompute-cheap=max-depth=1 | FileCheck %s --check-prefix=SHORT

#id = affine_map<(d0) -> (d0)>

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
