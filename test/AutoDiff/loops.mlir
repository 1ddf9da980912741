// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=reverse --canonicalize --cse | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=forward --canonicalize --cse | FileCheck %s --check-prefix=FORWARD

// In reverse a loop runs from the last iteration to the first, on what the loop
// stacks: its states, and of what iterations make what the derivative reads. The
// cotangents of an invariant are summed where they lie; those of a slice are
// stacked.

// CHECK-LABEL: func.func private @cell(
// CHECK-SAME:      %[[H:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>)
// CHECK:         %[[C:.*]] = math.tanh
// CHECK:         return %[[C]], %{{.*}}, %{{.*}}, %[[H]], %[[S]], %[[C]] :
// CHECK-LABEL: func.func private @cell_reverse(
// CHECK-SAME:      %[[DH:[^:]*]]: tensor<4xf32>, %[[DS:[^:]*]]: tensor<4xf32>, %[[DW:[^:]*]]: tensor<4xf32> {remat.donated = 2 : i64},
// CHECK-SAME:      %[[W:[^:]*]]: tensor<4xf32>, %{{[^:]*}}: tensor<4xf32>, %[[H:[^:]*]]: tensor<4xf32>, %{{[^:]*}}: tensor<4xf32>, %[[C:[^:]*]]: tensor<4xf32>, %{{[^:]*}}: tensor<4xf32>, %[[DB:[^:]*]]: tensor<4xf32>)
// CHECK-NOT:     math.tanh
// CHECK:         ins(%[[DH]], %[[DS]] :
// CHECK:         arith.mulf %[[C]], %[[C]] {remat.backward}
// CHECK:         %[[DX:.*]] = linalg.generic {{.*}} ins(%[[DB]],
// CHECK:         %[[DHNEXT:.*]] = arith.mulf %[[DX]], %[[W]] {remat.backward}
// CHECK:         %[[TERM:.*]] = arith.mulf %[[DX]], %[[H]] {remat.backward}
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[DW]], %[[TERM]] :
// CHECK:         return %[[DHNEXT]], %[[DS]], %[[SUM]], %[[DX]] :
// CHECK-LABEL: func.func @main(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<20x4xf32>, %[[DS:[^:]*]]: tensor<4xf32>, %[[DB:[^:]*]]: tensor<20x4xf32>)
// CHECK:         %[[F:.*]]:6 = remat.loop @cell count 20 carried(%[[H]], %[[S]]) invariant(%[[W]]) sliced(%[[X]])
// CHECK:         %[[ZERO:.*]] = linalg.fill {remat.backward}
// CHECK:         %[[R:.*]]:4 = remat.loop @cell_reverse count 20 reverse carried(%[[ZERO]], %[[DS]], %[[ZERO]]) invariant(%[[W]]) sliced(%[[F]]#2, %[[F]]#3, %[[F]]#4, %[[F]]#5, %[[X]], %[[DB]]) {remat.backward}
// CHECK:         return %[[F]]#1, %[[F]]#2, %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3

// Forwards it carries tangents beside what it carries.

// FORWARD-LABEL: func.func private @cell_tangent(
// FORWARD-LABEL: func.func @main(
// FORWARD-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<20x4xf32>,
// FORWARD-SAME:      %[[TH:[^:]*]]: tensor<4xf32>, %[[TS:[^:]*]]: tensor<4xf32>, %[[TW:[^:]*]]: tensor<4xf32>, %[[TX:[^:]*]]: tensor<20x4xf32>)
// FORWARD-NEXT:    %[[T:.*]]:6 = remat.loop @cell_tangent count 20 carried(%[[H]], %[[S]], %[[TH]], %[[TS]]) invariant(%[[W]], %[[TW]]) sliced(%[[X]], %[[TX]])
// FORWARD-NEXT:    return %[[T]]#1, %[[T]]#4, %[[T]]#3, %[[T]]#5
func.func private @cell(%h: tensor<4xf32>, %s: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = arith.mulf %h, %w : tensor<4xf32>
  %b = arith.addf %a, %x : tensor<4xf32>
  %c = math.tanh %b : tensor<4xf32>
  %t = arith.addf %s, %c : tensor<4xf32>
  return %c, %t, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func @main(%h: tensor<4xf32>, %s: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<20x4xf32>) -> (tensor<4xf32>, tensor<20x4xf32>) {
  %r:3 = remat.loop @cell count 20 carried(%h, %s) invariant(%w) sliced(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<20x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<20x4xf32>)
  return %r#1, %r#2 : tensor<4xf32>, tensor<20x4xf32>
}

// -----

// A loop whose body another loop runs stacks what is saved in a body of its own.
// The derivative of a reverse loop is one from the first iteration to the last.
// Counters have no derivative, and sums of bf16 are made in f32.

// CHECK-LABEL: func.func private @step(
// CHECK:       func.func private @step_saving(
// CHECK-LABEL: func.func @main(
// CHECK:         %[[P:.*]]:4 = remat.loop @step_saving count 8 carried
// CHECK:         %[[Q:.*]]:4 = remat.loop @step count 8 reverse carried(%[[P]]#0, %[[P]]#1)
// CHECK:         %[[R:.*]]:2 = remat.loop @step_reverse count 8 carried(%{{.*}}, %{{.*}}) invariant(%{{.*}}) sliced(%[[Q]]#2, %[[Q]]#3) {remat.backward} : (tensor<4xbf16>, tensor<4xf32>, tensor<4xbf16>, tensor<8x4xbf16>, tensor<8xi64>) -> (tensor<4xbf16>, tensor<4xf32>)
// CHECK:         remat.loop @step_saving_reverse count 8 reverse carried(%[[R]]#0, %{{.*}}) invariant(%{{.*}}) sliced(%[[P]]#2, %[[P]]#3)
func.func private @step(%h: tensor<4xbf16>, %i: tensor<i64>, %w: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<i64>) {
  %one = arith.constant dense<1> : tensor<i64>
  %a = arith.mulf %h, %w : tensor<4xbf16>
  %j = arith.addi %i, %one : tensor<i64>
  return %a, %j : tensor<4xbf16>, tensor<i64>
}
func.func @main(%h: tensor<4xbf16>, %i: tensor<i64>, %w: tensor<4xbf16>) -> tensor<4xbf16> {
  %r:2 = remat.loop @step count 8 carried(%h, %i) invariant(%w) sliced() : (tensor<4xbf16>, tensor<i64>, tensor<4xbf16>) -> (tensor<4xbf16>, tensor<i64>)
  %q:2 = remat.loop @step count 8 reverse carried(%r#0, %r#1) invariant(%w) sliced() : (tensor<4xbf16>, tensor<i64>, tensor<4xbf16>) -> (tensor<4xbf16>, tensor<i64>)
  return %q#0 : tensor<4xbf16>
}
