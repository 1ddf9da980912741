// RUN: remat-opt %s --remat-apply-optimizer=optimizer=sgd:lr=0.5,momentum=0.9 -split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-apply-optimizer=optimizer=sgd:lr=0.5,clip_norm=1 -split-input-file | FileCheck %s --check-prefix=ALL

// Iterations of a reverse loop make the gradients of two weights, so they
// update them: weights, which the loop reads already, and their momentum are
// slices, and what becomes of them lies in their place. Where the norm of all
// gradients is needed first, they are updated behind the loop.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  (%[[X:.*]]: tensor<2xf32>, %[[W0:.*]]: tensor<2xf32> {remat.donated = 0 : i64}, %[[W1:.*]]: tensor<2xf32> {remat.donated = 2 : i64}
// CHECK-SAME:   %[[M0:.*]]: tensor<2xf32> {remat.donated = 1 : i64, {{.*}}}, %[[M1:.*]]: tensor<2xf32> {remat.donated = 3 : i64, {{.*}}})
// CHECK-DAG:   %[[RATE:.*]] = arith.constant {{.*}}dense<5.000000e-01> : tensor<f64>
// CHECK-DAG:   %[[WEIGHTS:.*]] = remat.stack %[[W0]], %[[W1]]
// CHECK-DAG:   %[[STATE:.*]] = remat.stack %[[M0]], %[[M1]]
// CHECK:       %[[LOOP:.*]]:3 = remat.loop @reverse count 2 reverse carried(%[[X]]) invariant(%[[RATE]]) sliced(%[[WEIGHTS]], %[[STATE]]) {remat.backward}
// CHECK:       %[[MOMENTUM:.*]]:2 = remat.unstack %[[LOOP]]#2
// CHECK:       %[[NEXT:.*]]:2 = remat.unstack %[[LOOP]]#1
// CHECK:       return %[[NEXT]]#0, %[[MOMENTUM]]#0, %[[NEXT]]#1, %[[MOMENTUM]]#1
// CHECK:       func.func private @reverse(%[[D:.*]]: tensor<2xf32>, %[[LR:.*]]: tensor<f64>, %[[W:.*]]: tensor<2xf32> {remat.donated = 1 : i64}, %[[M:.*]]: tensor<2xf32> {remat.donated = 2 : i64})
// CHECK:         %[[SLOPE:.*]] = math.sin %[[D]]
// CHECK:         %[[NEW:.*]]:2 = linalg.generic {{.*}} ins(%[[W]], %[[SLOPE]], %[[M]], %{{.*}}) {{.*}} attrs = {remat.backward}
// CHECK:         return %{{.*}}, %[[NEW]]#0, %[[NEW]]#1

// ALL-LABEL: func.func @main
// ALL:         remat.loop {{.*}} invariant() sliced(%{{[^,]*}})
// ALL:         remat.unstack
// ALL:         linalg.generic
func.func @main(%x: tensor<2xf32>, %w0: tensor<2xf32>, %w1: tensor<2xf32>)
    -> (tensor<2xf32> {remat.gradient = 1 : i64}, tensor<2xf32> {remat.gradient = 2 : i64}) {
  %w = remat.stack %w0, %w1 : tensor<2x2xf32>
  %dx, %dw = remat.loop @reverse count 2 reverse carried(%x) invariant() sliced(%w) {remat.backward}
      : (tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>)
  %g0, %g1 = remat.unstack %dw : tensor<2x2xf32>
  return %g0, %g1 : tensor<2xf32>, tensor<2xf32>
}
func.func private @reverse(%d: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %g = math.sin %d {remat.backward} : tensor<2xf32>
  %e = arith.mulf %d, %w {remat.backward} : tensor<2xf32>
  return %e, %g : tensor<2xf32>, tensor<2xf32>
}

// -----

// An iteration that reads another weight than its own cannot update it.
// CHECK-LABEL: func.func @main
// CHECK:       remat.loop {{.*}} invariant(%{{[^,]*}}) sliced(%{{[^,]*}})
// CHECK:       remat.unstack
// CHECK:       linalg.generic
func.func @main(%x: tensor<2xf32>, %w0: tensor<2xf32>, %w1: tensor<2xf32>)
    -> (tensor<2xf32> {remat.gradient = 1 : i64}, tensor<2xf32> {remat.gradient = 2 : i64}) {
  %w = remat.stack %w0, %w1 : tensor<2x2xf32>
  %dx, %dw = remat.loop @reverse count 2 reverse carried(%x) invariant(%w0) sliced(%w) {remat.backward}
      : (tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>)
  %g0, %g1 = remat.unstack %dw : tensor<2x2xf32>
  return %g0, %g1 : tensor<2xf32>, tensor<2xf32>
}
func.func private @reverse(%d: tensor<2xf32>, %v: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %g = math.sin %v {remat.backward} : tensor<2xf32>
  %e = arith.mulf %d, %w {remat.backward} : tensor<2xf32>
  return %e, %g : tensor<2xf32>, tensor<2xf32>
}
