// RUN: remat-opt %s -split-input-file --remat-lower-checkpoints --remat-differentiate=mode=reverse --remat-simplify-loops --canonicalize --cse | FileCheck %s

// The derivative of a loop runs the loops in its body again. What these must
// keep is in the stack of the outer loop, an element of which is the stack of
// an inner one. The inner loop that runs again reads it: it makes no tanh.

// CHECK-LABEL: func.func private @inner(
// CHECK:         %[[A:.*]] = math.tanh
// CHECK:         return %{{.*}}, %[[A]] : tensor<4xf32>, tensor<4xf32>
// CHECK-LABEL: func.func private @inner_again(
// CHECK-NOT:     math.tanh
// CHECK-LABEL: func.func private @inner_again_reverse(
// CHECK-NOT:     math.tanh
// CHECK-LABEL: func.func private @outer(
// CHECK:         %[[L:.*]]:2 = remat.loop @inner count 20
// CHECK:         return %{{.*}}, %[[L]]#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<20x4xf32>
// CHECK-LABEL: func.func private @outer_reverse(
// CHECK-SAME:      %[[K:[^:]*]]: tensor<20x4xf32>)
// CHECK:         %[[T:.*]] = remat.tag %[[K]]
// CHECK:         %[[S:.*]] = remat.loop @inner_again count 20 {{.*}} sliced(%[[T]]) {remat.backward}
// CHECK:         remat.loop @inner_again_reverse count 20 reverse {{.*}} sliced(%[[T]], %[[S]]) {remat.backward}
// CHECK-LABEL: func.func @nested(
// CHECK:         %[[F:.*]]:4 = remat.loop @outer count 5
// CHECK:         remat.tag %[[F]]#3 {name = "a", policy = #remat.policy<must_save>} : tensor<5x20x4xf32>
func.func private @inner(%h: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.tanh %h : tensor<4xf32>
  %at = remat.tag %a {name = "a", policy = #remat.policy<must_save>} : tensor<4xf32>
  %b = math.sin %at : tensor<4xf32>
  %c = math.exp %b : tensor<4xf32>
  return %c : tensor<4xf32>
}
func.func private @outer(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 20 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  %s = math.sin %r : tensor<4xf32>
  return %s : tensor<4xf32>
}
func.func @nested(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @outer count 5 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Of three loops, the middle one runs again as well. What the inner one makes
// for it is made of the stack, too. A preference counts for as much as long as
// nothing is planned.

// CHECK-LABEL: func.func private @inner(
// CHECK:         math.tanh
// CHECK-NOT:   math.tanh
// CHECK-LABEL: func.func private @middle_again(
// CHECK-SAME:      %[[K:[^:]*]]: tensor<20x4xf32>)
// CHECK:         remat.loop @inner_again{{[_0-9]*}} count 20 {{.*}} sliced(%[[K]])
// CHECK-NOT:   math.tanh
// CHECK-LABEL: func.func @nested(
// CHECK:         remat.tag {{.*}} {policy = #remat.policy<prefer_cpu_offload>} : tensor<5x7x20x4xf32>
func.func private @inner(%h: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.tanh %h : tensor<4xf32>
  %at = remat.tag %a {policy = #remat.policy<prefer_cpu_offload>} : tensor<4xf32>
  %b = math.sin %at : tensor<4xf32>
  %c = math.exp %b : tensor<4xf32>
  return %c : tensor<4xf32>
}
func.func private @middle(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 20 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  %s = math.sin %r : tensor<4xf32>
  return %s : tensor<4xf32>
}
func.func private @outer(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @middle count 7 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @nested(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @outer count 5 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A region that keeps what is in it keeps all that the loops in it make.

// CHECK-LABEL: func.func @region(
// CHECK-COUNT-2: remat.tag {{.*}} {policy = #remat.policy<must_save>} : tensor<5x20x4xf32>
func.func private @inner(%h: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.tanh %h : tensor<4xf32>
  %b = math.sin %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @outer(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 20 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @region(%h: tensor<4xf32>) -> tensor<4xf32> {
  %q = remat.checkpoint attributes {policy = #remat.policy<must_save>} {
    %r = remat.loop @outer count 5 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
    %s = math.sin %r : tensor<4xf32>
    remat.yield %s : tensor<4xf32>
  } : tensor<4xf32>
  return %q : tensor<4xf32>
}

// -----

// What is made again of the result of a loop, and that the loop must keep: it
// runs again and reads what it kept.

// CHECK-LABEL: func.func private @outer_reverse(
// CHECK-NOT:     math.exp
// CHECK:         %[[R:.*]] = remat.loop @inner_again{{.*}} sliced(
// CHECK-NOT:     math.exp
// CHECK:         remat.tag %[[R]]
// CHECK-LABEL: func.func @both(
func.func private @inner(%h: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.exp %h : tensor<4xf32>
  %at = remat.tag %a {policy = #remat.policy<must_save>} : tensor<4xf32>
  %b = math.sin %at : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @outer(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 20 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  %rt = remat.tag %r {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  %s = math.sin %rt : tensor<4xf32>
  return %s : tensor<4xf32>
}
func.func @both(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @outer count 5 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
