// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-differentiate='mode=gradient tags=hidden accumulate=true' --canonicalize --cse | FileCheck %s

// The gradient of a value inside, by its name (retain_grad), and gradients that
// are added to what is there from earlier steps. What is accumulated into an
// argument that has no gradient stays as it is.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<f32>, %[[U:[a-z0-9]*]]: tensor<f32>, %[[AX:[a-z0-9]*]]: tensor<f32> {remat.donated = 1 : i64}, %[[AU:[a-z0-9]*]]: tensor<f32> {remat.donated = 2 : i64}, %[[AH:[a-z0-9]*]]: tensor<f32> {remat.donated = 3 : i64, remat.name = "hidden.grad"})
// CHECK-SAME:    -> (tensor<f32>, tensor<f32>, tensor<f32> {remat.absent}, tensor<f32> {remat.name = "hidden.grad"})
// CHECK:         %[[H:.*]] = remat.tag %{{.*}} {name = "hidden"}
// CHECK:         %[[Y:.*]] = math.exp %[[H]]
// CHECK:         %[[DX:.*]] = arith.mulf %[[Y]], %{{.*}} {remat.backward}
// CHECK:         %[[SX:.*]] = linalg.generic {{.*}} ins(%[[AX]], %[[DX]]
// CHECK:         %[[SH:.*]] = linalg.generic {{.*}} ins(%[[AH]], %[[Y]]
// CHECK:         return %[[Y]], %[[SX]], %[[AU]], %[[SH]]
func.func @main(%x: tensor<f32>, %unused: tensor<f32>) -> tensor<f32> {
  %0 = math.sin %x : tensor<f32>
  %1 = remat.tag %0 {name = "hidden"} : tensor<f32>
  %2 = math.exp %1 : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// expected-error @+1 {{has no floating-point value named 'hidden' to differentiate with respect to}}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
