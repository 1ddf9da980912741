// RUN: remat-opt %s --remat-apply-optimizer=optimizer=sgd:lr=0.5 -split-input-file -verify-diagnostics | FileCheck %s

// The update stands behind what makes the gradient; the weight gives its buffer
// to it. A weight that nothing depends on stays as it is.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[W:[a-z0-9]*]]: tensor<2xf32> {remat.donated = 1 : i64, remat.name = "w"}, %[[V:[a-z0-9]*]]: tensor<2xf32>)
// CHECK-SAME:  -> (tensor<2xf32> {remat.name = "y"}, tensor<2xf32> {remat.name = "w"})
func.func @main(%w: tensor<2xf32> {remat.name = "w"}, %v: tensor<2xf32>)
    -> (tensor<2xf32> {remat.name = "y"}, tensor<2xf32> {remat.gradient = 0 : i64}, tensor<2xf32> {remat.gradient = 1 : i64, remat.absent}) {
  // CHECK: %[[Y:.*]] = math.sin %[[W]]
  %y = math.sin %w : tensor<2xf32>
  // CHECK: %[[G:.*]] = math.cos %[[W]] {remat.backward}
  %g = math.cos %w {remat.backward} : tensor<2xf32>
  // CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[W]], %[[G]], %{{.*}}) {{.*}} attrs = {remat.backward}
  // CHECK: ^bb0(%[[OLD:.*]]: f32, %[[SLOPE:.*]]: f32, %[[RATE:.*]]: f32,
  // CHECK: %[[CHANGE:.*]] = arith.mulf %[[RATE]], %[[SLOPE]]
  // CHECK: arith.subf %[[OLD]], %[[CHANGE]]
  // CHECK: %[[OTHER:.*]] = math.exp %[[W]] {remat.backward}
  %o = math.exp %w {remat.backward} : tensor<2xf32>
  // CHECK: return %[[Y]], %[[NEXT]]
  %z = arith.constant dense<0.0> : tensor<2xf32>
  return %y, %g, %z : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{returns no gradient, expected results with 'remat.gradient' to update weights by}}
func.func @main(%w: tensor<2xf32>) -> tensor<2xf32> {
  return %w : tensor<2xf32>
}

// -----

// expected-error @+1 {{result #0 is marked as the gradient of argument #2, but there are 1 arguments}}
func.func @main(%w: tensor<2xf32>) -> (tensor<2xf32> {remat.gradient = 2 : i64}) {
  return %w : tensor<2xf32>
}

// -----

// expected-error @+1 {{result #0 is marked as the gradient of argument #0, which has another type: 'tensor<3xf32>' and 'tensor<2xf32>'}}
func.func @main(%w: tensor<2xf32>, %g: tensor<3xf32>) -> (tensor<3xf32> {remat.gradient = 0 : i64}) {
  return %g : tensor<3xf32>
}

// -----

// expected-error @+1 {{result #0 is marked as the gradient of argument #0 of type 'tensor<2xcomplex<f32>>', expected a tensor of floating point: optimizers update no others}}
func.func @main(%w: tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>> {remat.gradient = 0 : i64}) {
  return %w : tensor<2xcomplex<f32>>
}

// -----

// expected-error @+1 {{result #1 is marked as the gradient of argument #0, which another result is, too}}
func.func @main(%w: tensor<2xf32>, %g: tensor<2xf32>) -> (tensor<2xf32> {remat.gradient = 0 : i64}, tensor<2xf32> {remat.gradient = 0 : i64}) {
  return %g, %g : tensor<2xf32>, tensor<2xf32>
}
