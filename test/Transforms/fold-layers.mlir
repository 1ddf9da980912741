// RUN: remat-opt %s --remat-fold-layers -split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-fold-layers=alternative -split-input-file | FileCheck %s --check-prefix=OTHER

// Four layers with weights of their own, one scale for all, a constant of each
// layer and a number of each layer. What layers make for themselves is made in
// the body. The loop carries what lies between layers, and nothing is copied
// but the constants.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  (%[[X:.*]]: tensor<8xf32>, %[[SCALE:.*]]: tensor<8xf32>, %[[W0:.*]]: tensor<8xf32>, %[[W1:.*]]: tensor<8xf32>, %[[W2:.*]]: tensor<8xf32>, %[[W3:.*]]: tensor<8xf32>)
// CHECK-DAG:   %[[WEIGHTS:.*]] = remat.stack %[[W0]], %[[W1]], %[[W2]], %[[W3]] : tensor<4x8xf32>
// CHECK-DAG:   %[[CONSTANTS:.*]] = remat.stack %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>
// CHECK-DAG:   %[[NUMBERS:.*]] = remat.stack %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK:       %[[Y:.*]] = remat.loop @main_layer count 4 carried(%[[X]]) invariant(%[[SCALE]]) sliced(%[[WEIGHTS]], %[[CONSTANTS]], %[[NUMBERS]])
// CHECK-NEXT:  return %[[Y]]
// CHECK:       func.func private @main_layer(%[[H:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<8xf32>, %[[N:.*]]: tensor<f32>) -> tensor<8xf32>
// CHECK:         %[[NUMBER:.*]] = tensor.extract %[[N]][]
// CHECK:         %[[A:.*]] = arith.mulf %[[H]], %[[W]]
// CHECK:         %[[B:.*]] = arith.addf %[[A]], %[[C]]
// CHECK:         %[[D:.*]] = arith.mulf %[[B]], %[[S]]
// CHECK:         linalg.generic
// CHECK:         arith.mulf %{{.*}}, %[[NUMBER]]

// OTHER-LABEL: func.func @main
// OTHER-SAME:  attributes {remat.alternative = @main_folded}
// OTHER-NOT:   remat.loop
// OTHER:       func.func private @main_folded
// OTHER:       remat.loop @main_folded_layer
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<8xf32>, %scale: tensor<8xf32>, %w0: tensor<8xf32>, %w1: tensor<8xf32>, %w2: tensor<8xf32>, %w3: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant dense<0.0> : tensor<8xf32>
  %c1 = arith.constant dense<1.0> : tensor<8xf32>
  %c2 = arith.constant dense<2.0> : tensor<8xf32>
  %c3 = arith.constant dense<3.0> : tensor<8xf32>
  %n0 = arith.constant 0.5 : f32
  %n1 = arith.constant 1.5 : f32
  %n2 = arith.constant 2.5 : f32
  %n3 = arith.constant 3.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %a0 = arith.mulf %x, %w0 : tensor<8xf32>
  %b0 = arith.addf %a0, %c0 : tensor<8xf32>
  %d0 = arith.mulf %b0, %scale : tensor<8xf32>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%d0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.mulf %p, %n0 : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %a1 = arith.mulf %y0, %w1 : tensor<8xf32>
  %b1 = arith.addf %a1, %c1 : tensor<8xf32>
  %d1 = arith.mulf %b1, %scale : tensor<8xf32>
  %y1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%d1 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.mulf %p, %n1 : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %a2 = arith.mulf %y1, %w2 : tensor<8xf32>
  %b2 = arith.addf %a2, %c2 : tensor<8xf32>
  %d2 = arith.mulf %b2, %scale : tensor<8xf32>
  %y2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%d2 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.mulf %p, %n2 : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %a3 = arith.mulf %y2, %w3 : tensor<8xf32>
  %b3 = arith.addf %a3, %c3 : tensor<8xf32>
  %d3 = arith.mulf %b3, %scale : tensor<8xf32>
  %y3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%d3 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.mulf %p, %n3 : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %y3 : tensor<8xf32>
}

// -----

// Two values are carried, which begin as the same one, and all layers' results
// are returned: they are unstacked.
// CHECK-LABEL: func.func @main
// CHECK:       %[[LOOP:.*]]:3 = remat.loop @main_layer count 4 carried(%[[X:.*]], %[[X]]) invariant() sliced()
// CHECK-SAME:  -> (tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>)
// CHECK:       %[[ALL:.*]]:4 = remat.unstack %[[LOOP]]#2 : tensor<4x8xf32>
// CHECK-NEXT:  return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2, %[[ALL]]#3, %[[LOOP]]#1
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a0 = math.tanh %x : tensor<8xf32>
  %b0 = arith.mulf %a0, %x : tensor<8xf32>
  %a1 = math.tanh %a0 : tensor<8xf32>
  %b1 = arith.mulf %a1, %b0 : tensor<8xf32>
  %a2 = math.tanh %a1 : tensor<8xf32>
  %b2 = arith.mulf %a2, %b1 : tensor<8xf32>
  %a3 = math.tanh %a2 : tensor<8xf32>
  %b3 = arith.mulf %a3, %b2 : tensor<8xf32>
  return %a0, %a1, %a2, %a3, %b3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Each layer reads what the layer before the last one made.
// CHECK-LABEL: func.func @main
// CHECK-NOT:   remat.loop
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a0 = math.tanh %x : tensor<8xf32>
  %b0 = arith.mulf %a0, %x : tensor<8xf32>
  %a1 = math.tanh %b0 : tensor<8xf32>
  %b1 = arith.mulf %a1, %a0 : tensor<8xf32>
  %a2 = math.tanh %b1 : tensor<8xf32>
  %b2 = arith.mulf %a2, %b0 : tensor<8xf32>
  %a3 = math.tanh %b2 : tensor<8xf32>
  %b3 = arith.mulf %a3, %b1 : tensor<8xf32>
  %a4 = math.tanh %b3 : tensor<8xf32>
  %b4 = arith.mulf %a4, %b2 : tensor<8xf32>
  return %b4 : tensor<8xf32>
}

// -----

// One layer's result is read behind the chain: a stack of all would hold what
// nobody reads.
// CHECK-LABEL: func.func @main
// CHECK-NOT:   remat.loop
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a0 = math.tanh %x : tensor<8xf32>
  %b0 = arith.mulf %a0, %a0 : tensor<8xf32>
  %a1 = math.tanh %b0 : tensor<8xf32>
  %b1 = arith.mulf %a1, %a1 : tensor<8xf32>
  %a2 = math.tanh %b1 : tensor<8xf32>
  %b2 = arith.mulf %a2, %a2 : tensor<8xf32>
  %a3 = math.tanh %b2 : tensor<8xf32>
  %b3 = arith.mulf %a3, %a3 : tensor<8xf32>
  return %b1, %b3 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Codecs, and regions that run again as a whole, ask for something of values of
// the step. Layers with them stay as they are.
// CHECK-LABEL: func.func @main
// CHECK-NOT:   remat.loop
func.func @main(%b0: tensor<8xf32>) -> tensor<8xf32> {
  %a0 = math.tanh %b0 : tensor<8xf32>
  %t0 = remat.tag %a0 {codec = "bf16"} : tensor<8xf32>
  %b1 = arith.mulf %t0, %t0 : tensor<8xf32>
  %a1 = math.tanh %b1 : tensor<8xf32>
  %t1 = remat.tag %a1 {codec = "bf16"} : tensor<8xf32>
  %b2 = arith.mulf %t1, %t1 : tensor<8xf32>
  %a2 = math.tanh %b2 : tensor<8xf32>
  %t2 = remat.tag %a2 {codec = "bf16"} : tensor<8xf32>
  %b3 = arith.mulf %t2, %t2 : tensor<8xf32>
  %a3 = math.tanh %b3 : tensor<8xf32>
  %t3 = remat.tag %a3 {codec = "bf16"} : tensor<8xf32>
  %b4 = arith.mulf %t3, %t3 : tensor<8xf32>
  return %b4 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT:   remat.loop
func.func @main(%b0: tensor<8xf32>) -> tensor<8xf32> {
  %b1 = remat.checkpoint attributes {early_stop = false} {
    %a0 = math.tanh %b0 : tensor<8xf32>
    %m0 = arith.mulf %a0, %a0 : tensor<8xf32>
    remat.yield %m0 : tensor<8xf32>
  } : tensor<8xf32>
  %b2 = remat.checkpoint attributes {early_stop = false} {
    %a1 = math.tanh %b1 : tensor<8xf32>
    %m1 = arith.mulf %a1, %a1 : tensor<8xf32>
    remat.yield %m1 : tensor<8xf32>
  } : tensor<8xf32>
  %b3 = remat.checkpoint attributes {early_stop = false} {
    %a2 = math.tanh %b2 : tensor<8xf32>
    %m2 = arith.mulf %a2, %a2 : tensor<8xf32>
    remat.yield %m2 : tensor<8xf32>
  } : tensor<8xf32>
  %b4 = remat.checkpoint attributes {early_stop = false} {
    %a3 = math.tanh %b3 : tensor<8xf32>
    %m3 = arith.mulf %a3, %a3 : tensor<8xf32>
    remat.yield %m3 : tensor<8xf32>
  } : tensor<8xf32>
  return %b4 : tensor<8xf32>
}

// -----

// What layers make is kept, and what the last one hands on is not: no loop has
// both, as it runs once or several times.
// CHECK-LABEL: func.func @main
// CHECK-NOT:   remat.loop
func.func @main(%b0: tensor<8xf32>) -> tensor<8xf32> {
  %t0 = remat.tag %b0 {policy = #remat.policy<must_recompute>} : tensor<8xf32>
  %a0 = math.tanh %t0 : tensor<8xf32>
  %s0 = remat.tag %a0 {policy = #remat.policy<must_save>} : tensor<8xf32>
  %b1 = arith.mulf %s0, %s0 : tensor<8xf32>
  %t1 = remat.tag %b1 {policy = #remat.policy<must_recompute>} : tensor<8xf32>
  %a1 = math.tanh %t1 : tensor<8xf32>
  %s1 = remat.tag %a1 {policy = #remat.policy<must_save>} : tensor<8xf32>
  %b2 = arith.mulf %s1, %s1 : tensor<8xf32>
  %t2 = remat.tag %b2 {policy = #remat.policy<must_recompute>} : tensor<8xf32>
  %a2 = math.tanh %t2 : tensor<8xf32>
  %s2 = remat.tag %a2 {policy = #remat.policy<must_save>} : tensor<8xf32>
  %b3 = arith.mulf %s2, %s2 : tensor<8xf32>
  %t3 = remat.tag %b3 {policy = #remat.policy<must_recompute>} : tensor<8xf32>
  %a3 = math.tanh %t3 : tensor<8xf32>
  %s3 = remat.tag %a3 {policy = #remat.policy<must_save>} : tensor<8xf32>
  %b4 = arith.mulf %s3, %s3 : tensor<8xf32>
  %t4 = remat.tag %b4 {name = "last", policy = #remat.policy<must_recompute>} : tensor<8xf32>
  return %t4 : tensor<8xf32>
}
