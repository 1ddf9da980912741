// RUN: remat-opt %s --remat-layer-microbatches="parts=4 wrt=0,1,2" -split-input-file -verify-diagnostics | FileCheck %s
// RUN: remat-opt %s --remat-layer-microbatches="parts=4 wrt=0,1,2 alternative" -split-input-file | FileCheck %s --check-prefix=OTHER

// All parts pass a layer before the next one. The cut is where one small tensor
// is live, and not where something is carried from part to part. Weights and
// what is made of them alone are read by layers, parts are sliced, losses are
// stacked for their mean.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[W:.*]]: tensor<16xf32>, %[[V:.*]]: tensor<16xf32>, %[[STATE:.*]]: tensor<f32> {remat.donated = 1 : i64}, %[[X:.*]]: tensor<4x2xf32>)
// CHECK-SAME:  attributes {remat.microbatch_order = "layers"}
// CHECK-DAG:   %[[PARTS:.*]] = tensor.expand_shape %[[X]] {{\[}}[0, 1], [2]] output_shape [4, 1, 2]
// CHECK:       %[[FIRST:.*]]:2 = remat.loop @[[A:.*]] count 4 carried(%[[STATE]]) invariant(%[[W]]) sliced(%[[PARTS]]) {remat.stacks_nothing}
// CHECK-SAME:  -> (tensor<f32>, tensor<4x1x2xf32>)
// CHECK:       %[[SECOND:.*]] = remat.loop @[[B:.*]] count 4 carried() invariant(%[[V]]) sliced(%[[FIRST]]#1) {remat.stacks_nothing}
// CHECK-SAME:  -> tensor<4xf32>
// CHECK:       %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SECOND]] : tensor<4xf32>)
// CHECK:       return %[[MEAN]], %[[FIRST]]#0
// CHECK:       func.func private @[[A]](%{{.*}}: tensor<f32>, %{{.*}}: tensor<16xf32>, %{{.*}}: tensor<1x2xf32>) -> (tensor<f32>, tensor<1x2xf32>)
// CHECK:       func.func private @[[B]](%{{.*}}: tensor<16xf32>, %{{.*}}: tensor<1x2xf32>) -> tensor<f32>
// CHECK:       math.exp %{{.*}} : tensor<16xf32>

// OTHER-LABEL: func.func @main
// OTHER-SAME:  tensor<1x2xf32>
// OTHER-SAME:  attributes {remat.alternative = @main_layers}
// OTHER-NOT:   remat.loop
// OTHER:       func.func private @main_layers
// OTHER-SAME:  tensor<4x2xf32>
// OTHER:       remat.loop
func.func @main(%w: tensor<16xf32>, %v: tensor<16xf32>, %state: tensor<f32> {remat.donated = 1 : i64}, %x: tensor<1x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %e = tensor.empty() : tensor<1x2x16xf32>
  %zero = arith.constant 0.0 : f32
  %a = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %w : tensor<1x2xf32>, tensor<16xf32>) outs(%e : tensor<1x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<1x2x16xf32>
  %t = math.tanh %a : tensor<1x2x16xf32>
  %e2 = tensor.empty() : tensor<1x2xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = linalg.reduce { arith.addf } ins(%t : tensor<1x2x16xf32>) outs(%z2 : tensor<1x2xf32>) dimensions = [2]
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<1x2x16xf32>) outs(%z0 : tensor<f32>) dimensions = [0, 1, 2]
  %next = arith.addf %state, %s : tensor<f32>
  %ev = math.exp %v : tensor<16xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %ev : tensor<1x2xf32>, tensor<16xf32>) outs(%e : tensor<1x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<1x2x16xf32>
  %u = math.tanh %b : tensor<1x2x16xf32>
  %l = linalg.reduce { arith.addf } ins(%u : tensor<1x2x16xf32>) outs(%z0 : tensor<f32>) dimensions = [0, 1, 2]
  return %l, %next : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{has no place between two operations where all parts of a batch can wait: expected layers}}
func.func @main(%w: tensor<2xf32>, %v: tensor<2xf32>, %u: tensor<2xf32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = arith.addf %x, %w : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @main(%w: tensor<2xf32>, %v: tensor<2xf32>, %u: tensor<2xf32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{must run once for each part, expected none such for parts that pass layer after layer}}
  %y = remat.gradient_hook(%x : tensor<2xf32>) {
  ^bb0(%g: tensor<2xf32>):
    remat.yield %g : tensor<2xf32>
  }
  %z = arith.addf %y, %w : tensor<2xf32>
  return %z : tensor<2xf32>
}
