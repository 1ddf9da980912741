// RUN: remat-opt %s --remat-fuse-loops -split-input-file | FileCheck %s

// The later loop reads all that the first one reads, and does not wait for it:
// it stacks what the first one stacks, and what reads that comes behind it.
// CHECK-LABEL: func.func @known
// CHECK-NOT:   remat.loop @layer
// CHECK:       %[[BOTH:.*]]:2 = remat.loop @reverse count 4 carried(%{{.*}}) invariant(%{{.*}}, %[[W:.*]]) sliced(%{{.*}}) {remat.backward}
// CHECK-SAME:  -> (tensor<f32>, tensor<4xf32>)
// CHECK:       %[[SIN:.*]] = math.sin %[[BOTH]]#1 {remat.backward}
// CHECK:       return %[[SIN]], %[[BOTH]]#0
// CHECK:       func.func private @reverse(%[[SUM:.*]]: tensor<f32>, %[[V:.*]]: tensor<f32>, %[[U:.*]]: tensor<f32>, %[[X:.*]]: tensor<f32>)
// CHECK:         %[[Y:.*]] = arith.mulf %[[X]], %[[U]]
// CHECK:         return %{{.*}}, %[[Y]]
func.func @known(%w: tensor<f32>, %v: tensor<f32>, %xs: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %ys = remat.loop @layer count 4 carried() invariant(%w) sliced(%xs) {remat.stacks_nothing} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %sin = math.sin %ys : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %dw = remat.loop @reverse count 4 carried(%zero) invariant(%v, %w) sliced(%xs) {remat.backward} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return %sin, %dw : tensor<4xf32>, tensor<f32>
}
func.func private @layer(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = arith.mulf %x, %w : tensor<f32>
  return %y : tensor<f32>
}
func.func private @reverse(%sum: tensor<f32>, %v: tensor<f32>, %w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = arith.mulf %x, %w : tensor<f32>
  %z = arith.mulf %y, %v : tensor<f32>
  %next = arith.addf %sum, %z : tensor<f32>
  return %next : tensor<f32>
}

// -----

// One that waits for the first loop, one in the other direction, and one that
// does not read all that it reads stay.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-4: remat.loop
func.func @stay(%w: tensor<f32>, %v: tensor<f32>, %xs: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %ys = remat.loop @layer count 4 carried() invariant(%w) sliced(%xs) {remat.stacks_nothing} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %a = remat.loop @waits count 4 carried(%zero) invariant(%w) sliced(%xs, %ys) {remat.backward} : (tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %b = remat.loop @turned count 4 reverse carried(%zero) invariant(%w) sliced(%xs) {remat.backward} : (tensor<f32>, tensor<f32>, tensor<4xf32>) -> tensor<f32>
  %c = remat.loop @other count 4 carried(%zero) invariant(%v) sliced(%xs) {remat.backward} : (tensor<f32>, tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}
func.func private @layer(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = arith.mulf %x, %w : tensor<f32>
  return %y : tensor<f32>
}
func.func private @waits(%sum: tensor<f32>, %w: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %z = arith.mulf %x, %y : tensor<f32>
  %next = arith.addf %sum, %z : tensor<f32>
  return %next : tensor<f32>
}
func.func private @turned(%sum: tensor<f32>, %w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %next = arith.addf %sum, %x : tensor<f32>
  return %next : tensor<f32>
}
func.func private @other(%sum: tensor<f32>, %v: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %next = arith.addf %sum, %x : tensor<f32>
  return %next : tensor<f32>
}
