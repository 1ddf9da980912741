// RUN: remat-opt %s --remat-lower-checkpoints | FileCheck %s

// The hidden value is tagged, the yielded one is not.
// CHECK-LABEL: func.func @hidden_values_are_tagged
// CHECK-NOT:     remat.checkpoint
// CHECK:         %[[H:.*]] = math.exp
// CHECK:         %[[T:.*]] = remat.tag %[[H]] {of_region, policy = #remat.policy<must_recompute>}
// CHECK:         %[[Y:.*]] = math.tanh %[[T]]
// CHECK-NOT:     remat.tag
// CHECK:         return %[[Y]]
func.func @hidden_values_are_tagged(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint {
    %h = math.exp %x : tensor<4xf32>
    %o = math.tanh %h : tensor<4xf32>
    remat.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// Without early stop the last value is recomputed too.
// CHECK-LABEL: func.func @without_early_stop
// CHECK:         %[[Y:.*]] = math.tanh
// CHECK:         %[[T:.*]] = remat.tag %[[Y]] {of_region, policy = #remat.policy<must_recompute>, whole_region = 0 : i64}
// CHECK:         return %[[T]]
func.func @without_early_stop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint attributes {early_stop = false} {
    %o = math.tanh %x : tensor<4xf32>
    remat.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// Selective checkpointing: what has a policy of its own keeps it, whether from
// an attribute or from a tag.
// CHECK-LABEL: func.func @own_policies_stay
// CHECK:         %[[A:.*]] = math.exp %{{.*}} {remat.policy = #remat.policy<must_save>}
// CHECK:         %[[B:.*]] = math.sin %[[A]] :
// CHECK:         %[[C:.*]] = remat.tag %[[B]] {policy = #remat.policy<prefer_save>}
// CHECK:         %[[D:.*]] = math.cos %[[C]]
// CHECK:         remat.tag %[[D]] {of_region, policy = #remat.policy<prefer_recompute>}
func.func @own_policies_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint attributes {policy = #remat.policy<prefer_recompute>} {
    %a = math.exp %x {remat.policy = #remat.policy<must_save>} : tensor<4xf32>
    %b = math.sin %a : tensor<4xf32>
    %c = remat.tag %b {policy = #remat.policy<prefer_save>} : tensor<4xf32>
    %d = math.cos %c : tensor<4xf32>
    %o = math.tanh %d : tensor<4xf32>
    remat.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// A named region names all that it hides.
// CHECK-LABEL: func.func @names
// CHECK:         %[[A:.*]] = math.exp %{{.*}} {remat.policy = #remat.policy<must_save>}
// CHECK:         %[[B:.*]] = remat.tag %[[A]] {name = "block"} :
// CHECK:         %[[C:.*]] = math.sin %[[B]]
// CHECK:         %[[D:.*]] = remat.tag %[[C]] {name = "block", of_region, policy = #remat.policy<must_recompute>}
// CHECK:         %[[E:.*]] = math.tanh %[[D]]
// CHECK:         return %[[E]]
func.func @names(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint attributes {name = "block"} {
    %a = math.exp %x {remat.policy = #remat.policy<must_save>} : tensor<4xf32>
    %b = math.sin %a : tensor<4xf32>
    %o = math.tanh %b : tensor<4xf32>
    remat.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// The innermost region decides; what it yields belongs to the outer one.
// CHECK-LABEL: func.func @nested
// CHECK:         %[[A:.*]] = math.exp
// CHECK:         %[[TA:.*]] = remat.tag %[[A]] {policy = #remat.policy<must_save>}
// CHECK:         %[[B:.*]] = math.sin %[[TA]]
// CHECK:         %[[TB:.*]] = remat.tag %[[B]] {of_region, policy = #remat.policy<must_recompute>}
// CHECK:         math.cos %[[TB]]
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint {
    %i = remat.checkpoint attributes {policy = #remat.policy<must_save>} {
      %a = math.exp %x : tensor<4xf32>
      %b = math.sin %a : tensor<4xf32>
      remat.yield %b : tensor<4xf32>
    } : tensor<4xf32>
    %o = math.cos %i : tensor<4xf32>
    remat.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @empty_region
// CHECK-NEXT:    return %arg0
func.func @empty_region(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint {
    remat.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// A value is yielded through stop_gradient, too.
// CHECK-LABEL: func.func @yielded_through_stop_gradient
// CHECK:         %[[A:.*]] = math.exp
// CHECK-NEXT:    %[[S:.*]] = remat.stop_gradient %[[A]]
// CHECK-NEXT:    return %[[S]]
func.func @yielded_through_stop_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint {
    %a = math.exp %x : tensor<4xf32>
    %s = remat.stop_gradient %a : tensor<4xf32>
    remat.yield %s : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// What a derivative inside of the region computes is hidden from the next one:
// its level is above that of the backward operation.
// CHECK-LABEL: func.func @around_a_derivative
// CHECK:         %[[A:.*]] = math.exp
// CHECK:         %[[TA:.*]] = remat.tag %[[A]] {level = 2 : i64, of_region, policy = #remat.policy<must_recompute>}
// CHECK:         %[[B:.*]] = arith.mulf %[[TA]], %{{.*}} {remat.backward}
// CHECK:         remat.tag %[[B]] {of_region, policy = #remat.policy<must_recompute>}
func.func @around_a_derivative(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.checkpoint {
    %a = math.exp %x : tensor<4xf32>
    %b = arith.mulf %a, %g {remat.backward} : tensor<4xf32>
    %c = math.sin %b : tensor<4xf32>
    remat.yield %c : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}
