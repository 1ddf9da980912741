// RUN: remat-opt %s -split-input-file --remat-simplify-loops | FileCheck %s

// What nobody reads is neither stacked nor carried, and what is only for it is
// not computed; what one loop does not read, the loop before does not make.

// CHECK-LABEL: func.func private @cell(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     math.exp
// CHECK-NOT:     arith.addf
// CHECK:         %[[C:.*]] = math.tanh
// CHECK-NEXT:    return %[[C]], %[[H]] :
// CHECK-LABEL: func.func private @reader(
// CHECK-SAME:      %[[D:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>,
// CHECK-NEXT:    %[[F:.*]]:2 = remat.loop @cell count 20 carried(%[[H]]) invariant(%[[W]]) sliced() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<20x4xf32>)
// CHECK-NEXT:    %[[R:.*]] = remat.loop @reader count 20 reverse carried(%[[F]]#0) invariant() sliced(%[[F]]#1)
// CHECK-NEXT:    return %[[R]]
func.func private @cell(%h: tensor<4xf32>, %s: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = arith.mulf %h, %w : tensor<4xf32>
  %c = math.tanh %a : tensor<4xf32>
  %e = math.exp %x : tensor<4xf32>
  %t = arith.addf %s, %e : tensor<4xf32>
  return %c, %t, %h, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @reader(%d: tensor<4xf32>, %h: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %e = arith.mulf %d, %h : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func @chain(%h: tensor<4xf32>, %s: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<20x4xf32>) -> tensor<4xf32> {
  %r:4 = remat.loop @cell count 20 carried(%h, %s) invariant(%w) sliced(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<20x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<20x4xf32>, tensor<20x4xf32>)
  %q = remat.loop @reader count 20 reverse carried(%r#0) invariant() sliced(%r#2, %r#3) : (tensor<4xf32>, tensor<20x4xf32>, tensor<20x4xf32>) -> tensor<4xf32>
  return %q : tensor<4xf32>
}

// -----

// What is carried unchanged is an invariant, and the same behind the loop as
// before it. Places of buffers that are given away move with the results.

// CHECK-LABEL: func.func private @sum(
// CHECK-SAME:      %[[S:[^:]*]]: tensor<4xf32> {remat.donated = 0 : i64}, %[[A:[^:]*]]: tensor<4xf32>, %[[B:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK-NEXT:    %[[Q:.*]] = arith.mulf %[[P]], %[[X]]
// CHECK-NEXT:    %[[T:.*]] = arith.addf %[[S]], %[[Q]]
// CHECK-NEXT:    return %[[T]]
// CHECK-LABEL: func.func @unchanged(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[B:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<9x4xf32>)
// CHECK-NEXT:    %[[R:.*]] = remat.loop @sum count 9 carried(%[[S]]) invariant(%[[A]], %[[B]]) sliced(%[[X]])
// CHECK-NEXT:    return %[[R]], %[[A]]
func.func private @sum(%a: tensor<4xf32>, %s: tensor<4xf32> {remat.donated = 1 : i64}, %b: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %p = arith.mulf %a, %b : tensor<4xf32>
  %q = arith.mulf %p, %x : tensor<4xf32>
  %t = arith.addf %s, %q : tensor<4xf32>
  return %a, %t, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func @unchanged(%a: tensor<4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<9x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:3 = remat.loop @sum count 9 carried(%a, %s, %b) invariant() sliced(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<9x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#1, %r#0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop that nobody reads goes, and its body with it, unless another loop runs
// that. A body of several loops stays as it is, and what asserts something.

// CHECK-NOT:   @gone
// CHECK-LABEL: func.func private @shared(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-LABEL: func.func private @asserts(
// CHECK:         cf.assert
// CHECK-LABEL: func.func @several
// CHECK:         remat.loop @shared
// CHECK:         remat.loop @shared
// CHECK:         remat.loop @asserts
// CHECK-NOT:     remat.loop
func.func private @gone(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func private @shared(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = math.tanh %a : tensor<4xf32>
  %u = math.exp %b : tensor<4xf32>
  return %t, %u : tensor<4xf32>, tensor<4xf32>
}
func.func private @asserts(%a: tensor<4xf32>, %i: tensor<1xi64>) -> tensor<4xf32> {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<1xi64>) {
  ^bb0(%e: i64):
    %c10 = arith.constant 10 : i64
    %ok = arith.cmpi slt, %e, %c10 : i64
    cf.assert %ok, "out of bounds"
    linalg.yield
  }
  %t = math.tanh %a : tensor<4xf32>
  return %t : tensor<4xf32>
}
func.func @several(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: tensor<7x1xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = remat.loop @gone count 9 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  %r:2 = remat.loop @shared count 9 carried(%a, %b) invariant() sliced() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %q:2 = remat.loop @shared count 7 carried(%r#0, %b) invariant() sliced() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %s = remat.loop @asserts count 7 carried(%q#1) invariant() sliced(%i) : (tensor<4xf32>, tensor<7x1xi64>) -> tensor<4xf32>
  return %q#0, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// The body of a loop that was erased before goes, and no longer counts as one
// that runs the loop's in it.

// CHECK-LABEL: func.func @main
// CHECK:         remat.loop @inner count 3
// CHECK-NOT:   @gone
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 3 carried(%x) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @gone(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 5 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = math.sin %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
