// RUN: remat-opt %s -split-input-file --remat-lower-checkpoints --remat-differentiate=mode=reverse --remat-simplify-loops --canonicalize --cse | FileCheck %s

// What iterations must keep is stacked, and the stack has its name and policy.
// What they must not keep is made again from that. (The tanh needs nothing of
// what is to be in host memory.) In the reverse body, policies are about
// derivatives of it.

// CHECK-LABEL: func.func private @cell(
// CHECK:         %[[A:.*]] = arith.mulf
// CHECK:         return %[[D:[0-9a-z]*]], %[[H:[0-9a-z]*]], %[[D]], %[[A]] :
// CHECK-LABEL: func.func private @cell_reverse(
// CHECK-SAME:      %[[A:[^:,]*]]: tensor<4xf32>) ->
// CHECK:         %[[AT:.*]] = remat.tag %[[A]] {level = 2 : i64, name = "a", policy = #remat.policy<must_save>}
// CHECK:         math.exp %[[AT]] : tensor<4xf32>
// CHECK:         remat.tag %{{.*}} {level = 2 : i64, policy = #remat.policy<must_recompute>}
// CHECK-LABEL: func.func @asked(
// CHECK:         %[[F:.*]]:4 = remat.loop @cell count 20
// CHECK:         %[[K:.*]] = remat.tag %[[F]]#3 {name = "a", policy = #remat.policy<must_save>} : tensor<20x4xf32>
// CHECK:         remat.loop @cell_reverse count 20 reverse {{.*}} sliced(%[[F]]#1, %[[F]]#2, %[[K]])
func.func private @cell(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.mulf %h, %w : tensor<4xf32>
  %at = remat.tag %a {name = "a", policy = #remat.policy<must_save>} : tensor<4xf32>
  %b = math.exp %at : tensor<4xf32>
  %bt = remat.tag %b {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  %c = math.sin %bt : tensor<4xf32>
  %ct = remat.tag %c {policy = #remat.policy<must_cpu_offload>} : tensor<4xf32>
  %d = math.tanh %ct : tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func @asked(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @cell count 20 carried(%h) invariant(%w) sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What a region hides is not stacked; only what the loop carries is.

// CHECK-LABEL: func.func private @step_reverse(
// CHECK:         arith.mulf
// CHECK:         math.exp
// CHECK-NOT:     math.sin
// CHECK:         math.cos
// CHECK-LABEL: func.func @region(
// CHECK:         %[[F:.*]]:2 = remat.loop @step count 20
// CHECK:         remat.loop @step_reverse count 20 reverse {{.*}} sliced(%[[F]]#1)
func.func private @step(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %d = remat.checkpoint {
    %a = arith.mulf %h, %w : tensor<4xf32>
    %b = math.exp %a : tensor<4xf32>
    %c = math.sin %b : tensor<4xf32>
    remat.yield %c : tensor<4xf32>
  } : tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func @region(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @step count 20 carried(%h) invariant(%w) sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A loop in a region stacks nothing. Another one makes it again behind it.

// CHECK-LABEL: func.func @around(
// CHECK:         %[[F:.*]] = remat.loop @hidden count 20 {{.*}} {inner_policy = #remat.policy<must_recompute>} : {{.*}} -> tensor<4xf32>
// CHECK:         %[[S:.*]]:3 = remat.loop @hidden_again count 20 {{.*}} {remat.backward}
// CHECK:         %[[R:.*]]:2 = remat.loop @hidden_again_reverse count 20 reverse {{.*}} sliced(%[[S]]#1, %[[S]]#2)
// CHECK:         return %[[F]], %[[R]]#0, %[[R]]#1
func.func private @hidden(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.mulf %h, %w : tensor<4xf32>
  %b = math.exp %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func @around(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %q = remat.checkpoint {
    %r = remat.loop @hidden count 20 carried(%h) invariant(%w) sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    remat.yield %r : tensor<4xf32>
  } : tensor<4xf32>
  return %q : tensor<4xf32>
}

// -----

// The same where what is carried must not be kept. What the loop must keep, the
// other one reads: it does not make it again.

// CHECK-LABEL: func.func private @state_again(
// CHECK-NOT:     arith.mulf
// CHECK:         return
// CHECK-LABEL: func.func @again(
// CHECK:         %[[F:.*]]:2 = remat.loop @state count 20
// CHECK:         %[[K:.*]] = remat.tag %[[F]]#1 {policy = #remat.policy<must_save>}
// CHECK:         %[[S:.*]]:2 = remat.loop @state_again count 20 carried(%{{.*}}) invariant() sliced(%[[K]]) {remat.backward}
// CHECK:         remat.loop @state_again_reverse count 20 reverse {{.*}} sliced(%[[K]], %[[S]]#1)
func.func private @state(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.mulf %h, %w : tensor<4xf32>
  %at = remat.tag %a {policy = #remat.policy<must_save>} : tensor<4xf32>
  %b = math.exp %at : tensor<4xf32>
  %bt = remat.tag %b {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  return %bt : tensor<4xf32>
}
func.func @again(%h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @state count 20 carried(%h) invariant(%w) sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
