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

// A state that is carried may be returned as it came, too: the layer that
// carries it stacks what each part found. And weights that are made of one
// another by many paths take no longer than by one.
// CHECK-LABEL: func.func @main
// CHECK:       %[[FIRST:.*]]:3 = remat.loop @{{.*}} count 4 carried(%{{.*}}) invariant({{.*}}) sliced({{.*}}) {remat.stacks_nothing}
// CHECK-SAME:  -> (tensor<f32>, tensor<4xf32>, tensor<4x1x2xf32>)
func.func @main(%w: tensor<16xf32>, %v: tensor<16xf32>, %state: tensor<f32> {remat.donated = 1 : i64}, %x: tensor<1x2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
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
  %t0 = math.tanh %v : tensor<16xf32>
  %a0 = arith.addf %v, %t0 : tensor<16xf32>
  %t1 = math.tanh %a0 : tensor<16xf32>
  %a1 = arith.addf %a0, %t1 : tensor<16xf32>
  %t2 = math.tanh %a1 : tensor<16xf32>
  %a2 = arith.addf %a1, %t2 : tensor<16xf32>
  %t3 = math.tanh %a2 : tensor<16xf32>
  %a3 = arith.addf %a2, %t3 : tensor<16xf32>
  %t4 = math.tanh %a3 : tensor<16xf32>
  %a4 = arith.addf %a3, %t4 : tensor<16xf32>
  %t5 = math.tanh %a4 : tensor<16xf32>
  %a5 = arith.addf %a4, %t5 : tensor<16xf32>
  %t6 = math.tanh %a5 : tensor<16xf32>
  %a6 = arith.addf %a5, %t6 : tensor<16xf32>
  %t7 = math.tanh %a6 : tensor<16xf32>
  %a7 = arith.addf %a6, %t7 : tensor<16xf32>
  %t8 = math.tanh %a7 : tensor<16xf32>
  %a8 = arith.addf %a7, %t8 : tensor<16xf32>
  %t9 = math.tanh %a8 : tensor<16xf32>
  %a9 = arith.addf %a8, %t9 : tensor<16xf32>
  %t10 = math.tanh %a9 : tensor<16xf32>
  %a10 = arith.addf %a9, %t10 : tensor<16xf32>
  %t11 = math.tanh %a10 : tensor<16xf32>
  %a11 = arith.addf %a10, %t11 : tensor<16xf32>
  %t12 = math.tanh %a11 : tensor<16xf32>
  %a12 = arith.addf %a11, %t12 : tensor<16xf32>
  %t13 = math.tanh %a12 : tensor<16xf32>
  %a13 = arith.addf %a12, %t13 : tensor<16xf32>
  %t14 = math.tanh %a13 : tensor<16xf32>
  %a14 = arith.addf %a13, %t14 : tensor<16xf32>
  %t15 = math.tanh %a14 : tensor<16xf32>
  %a15 = arith.addf %a14, %t15 : tensor<16xf32>
  %t16 = math.tanh %a15 : tensor<16xf32>
  %a16 = arith.addf %a15, %t16 : tensor<16xf32>
  %t17 = math.tanh %a16 : tensor<16xf32>
  %a17 = arith.addf %a16, %t17 : tensor<16xf32>
  %t18 = math.tanh %a17 : tensor<16xf32>
  %a18 = arith.addf %a17, %t18 : tensor<16xf32>
  %t19 = math.tanh %a18 : tensor<16xf32>
  %a19 = arith.addf %a18, %t19 : tensor<16xf32>
  %t20 = math.tanh %a19 : tensor<16xf32>
  %a20 = arith.addf %a19, %t20 : tensor<16xf32>
  %t21 = math.tanh %a20 : tensor<16xf32>
  %a21 = arith.addf %a20, %t21 : tensor<16xf32>
  %t22 = math.tanh %a21 : tensor<16xf32>
  %a22 = arith.addf %a21, %t22 : tensor<16xf32>
  %t23 = math.tanh %a22 : tensor<16xf32>
  %a23 = arith.addf %a22, %t23 : tensor<16xf32>
  %t24 = math.tanh %a23 : tensor<16xf32>
  %a24 = arith.addf %a23, %t24 : tensor<16xf32>
  %t25 = math.tanh %a24 : tensor<16xf32>
  %a25 = arith.addf %a24, %t25 : tensor<16xf32>
  %t26 = math.tanh %a25 : tensor<16xf32>
  %a26 = arith.addf %a25, %t26 : tensor<16xf32>
  %t27 = math.tanh %a26 : tensor<16xf32>
  %a27 = arith.addf %a26, %t27 : tensor<16xf32>
  %t28 = math.tanh %a27 : tensor<16xf32>
  %a28 = arith.addf %a27, %t28 : tensor<16xf32>
  %t29 = math.tanh %a28 : tensor<16xf32>
  %a29 = arith.addf %a28, %t29 : tensor<16xf32>
  %t30 = math.tanh %a29 : tensor<16xf32>
  %a30 = arith.addf %a29, %t30 : tensor<16xf32>
  %t31 = math.tanh %a30 : tensor<16xf32>
  %a31 = arith.addf %a30, %t31 : tensor<16xf32>
  %t32 = math.tanh %a31 : tensor<16xf32>
  %a32 = arith.addf %a31, %t32 : tensor<16xf32>
  %t33 = math.tanh %a32 : tensor<16xf32>
  %a33 = arith.addf %a32, %t33 : tensor<16xf32>
  %t34 = math.tanh %a33 : tensor<16xf32>
  %a34 = arith.addf %a33, %t34 : tensor<16xf32>
  %t35 = math.tanh %a34 : tensor<16xf32>
  %a35 = arith.addf %a34, %t35 : tensor<16xf32>
  %t36 = math.tanh %a35 : tensor<16xf32>
  %a36 = arith.addf %a35, %t36 : tensor<16xf32>
  %t37 = math.tanh %a36 : tensor<16xf32>
  %a37 = arith.addf %a36, %t37 : tensor<16xf32>
  %t38 = math.tanh %a37 : tensor<16xf32>
  %a38 = arith.addf %a37, %t38 : tensor<16xf32>
  %t39 = math.tanh %a38 : tensor<16xf32>
  %a39 = arith.addf %a38, %t39 : tensor<16xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %a39 : tensor<1x2xf32>, tensor<16xf32>) outs(%e : tensor<1x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<1x2x16xf32>
  %u = math.tanh %b : tensor<1x2x16xf32>
  %l = linalg.reduce { arith.addf } ins(%u : tensor<1x2x16xf32>) outs(%z0 : tensor<f32>) dimensions = [0, 1, 2]
  return %l, %next, %state : tensor<f32>, tensor<f32>, tensor<f32>
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

// -----

// A gradient that the function has itself is the mean of those of the parts.
// CHECK-LABEL: func.func @main
// CHECK:       linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<4x16xf32>)
// CHECK:       arith.mulf
// CHECK:       arith.addf
// CHECK:       return %{{.*}}, %{{.*}} : tensor<f32>, tensor<16xf32>
func.func @main(%w: tensor<16xf32>, %v: tensor<16xf32>, %u0: tensor<f32>, %x: tensor<1x2xf32>) -> (tensor<f32>, tensor<16xf32> {remat.gradient = 0 : i64}) {
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
  %e16 = tensor.empty() : tensor<16xf32>
  %z16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<16xf32>) -> tensor<16xf32>
  %g = linalg.reduce { arith.addf } ins(%t : tensor<1x2x16xf32>) outs(%z16 : tensor<16xf32>) dimensions = [0, 1]
  %ev = math.exp %v : tensor<16xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %ev : tensor<1x2xf32>, tensor<16xf32>) outs(%e : tensor<1x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<1x2x16xf32>
  %u = math.tanh %b : tensor<1x2x16xf32>
  %l = linalg.reduce { arith.addf } ins(%u : tensor<1x2x16xf32>) outs(%z0 : tensor<f32>) dimensions = [0, 1, 2]
  return %l, %g : tensor<f32>, tensor<16xf32>
}
