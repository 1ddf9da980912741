// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=reverse --canonicalize --cse | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=forward --canonicalize --cse | FileCheck %s --check-prefix=FORWARD
// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=reverse --canonicalize --cse --remat-simplify-loops | FileCheck %s --check-prefix=SIMPLE

// The derivative in reverse runs as often as the loop did.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[N:[^:]*]]: tensor<i64>,
// CHECK:         %[[F:.*]]:3 = remat.loop @cell count 20 trips(%[[N]]) carried(%[[H]]) invariant() sliced() : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<20x4xf32>, tensor<20x4xf32>)
// CHECK:         remat.loop @cell_reverse count 20 trips(%[[N]]) reverse carried(%{{.*}}) invariant() sliced(%[[F]]#1, %[[F]]#2)
// FORWARD-LABEL: func.func @main(
// FORWARD-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[N:[^:]*]]: tensor<i64>, %[[T:[^:]*]]: tensor<4xf32>)
// FORWARD:         remat.loop @cell_tangent count 20 trips(%[[N]]) carried(%[[H]], %[[T]])
// SIMPLE-LABEL: func.func @main(
// SIMPLE:         remat.loop @cell count 20 trips({{.*}} -> (tensor<4xf32>, tensor<20x4xf32>)
func.func private @cell(%h: tensor<4xf32>) -> tensor<4xf32> {
  %t = math.tanh %h : tensor<4xf32>
  return %t : tensor<4xf32>
}
func.func @main(%h: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %r = remat.loop @cell count 20 trips(%n) carried(%h) invariant() sliced() : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// One that ends when its body says so counts for its derivative; what says so
// stays, whoever reads it. It carries its tangents behind all else.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[F:.*]]:{{[0-9]+}} = remat.loop @step count 9 while carried(
// CHECK:         remat.loop @step_reverse count 9 trips(%[[F]]#1) reverse
// FORWARD-LABEL: func.func @main(
// FORWARD-SAME:      %[[H:[^:]*]]: tensor<4xf32>, %[[T:[^:]*]]: tensor<4xf32>)
// FORWARD:         remat.loop @step_tangent count 9 while carried(%{{[^,]*}}, %{{[^,]*}}, %[[H]], %[[T]]) invariant() sliced() : (tensor<i1>, tensor<i64>, tensor<4xf32>, tensor<4xf32>)
// SIMPLE-LABEL: func.func @main(
// SIMPLE:         %[[F:.*]]:4 = remat.loop @step count 9 while {{.*}} -> (tensor<i1>, tensor<i64>, tensor<4xf32>, tensor<9x4xf32>)
// SIMPLE:         remat.loop @step_reverse count 9 trips(%[[F]]#1) reverse carried(%{{[^,]*}}) invariant() sliced(%[[F]]#3)
func.func private @step(%g: tensor<i1>, %n: tensor<i64>, %h: tensor<4xf32>) -> (tensor<i1>, tensor<i64>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %one = arith.constant dense<1> : tensor<i64>
  %t = math.tanh %h : tensor<4xf32>
  %e = tensor.extract %t[%c0] : tensor<4xf32>
  %more = arith.cmpf ogt, %e, %half : f32
  %again = tensor.from_elements %more : tensor<i1>
  %next = arith.addi %n, %one : tensor<i64>
  return %again, %next, %t : tensor<i1>, tensor<i64>, tensor<4xf32>
}
func.func @main(%h: tensor<4xf32>) -> tensor<4xf32> {
  %true = arith.constant dense<true> : tensor<i1>
  %zero = arith.constant dense<0> : tensor<i64>
  %r:3 = remat.loop @step count 9 while carried(%true, %zero, %h) invariant() sliced() : (tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<i1>, tensor<i64>, tensor<4xf32>)
  return %r#2 : tensor<4xf32>
}
