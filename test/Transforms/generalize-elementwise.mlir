// RUN: remat-opt %s --remat-generalize-elementwise | FileCheck %s

// Arithmetic on tensors becomes structured operations, and what belongs to the
// backward computation still does. Bodies are arithmetic on scalars.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: remat.backward
  // CHECK: %[[Y:.*]] = linalg.generic
  // CHECK:   arith.addf %{{.*}}, %{{.*}} : f32
  %y = arith.addf %x, %x : tensor<4xf32>
  // CHECK: %[[T:.*]] = linalg.generic {{.*}} attrs = {remat.backward}
  // CHECK:   math.tanh %{{.*}} : f32
  %t = math.tanh %x {remat.backward} : tensor<4xf32>
  // CHECK: %[[D:.*]] = linalg.generic {{.*}} attrs = {remat.backward}
  // CHECK:   arith.mulf %{{.*}}, %{{.*}} : f32
  %d = arith.mulf %g, %t {remat.backward} : tensor<4xf32>
  // CHECK: return %[[Y]], %[[D]]
  return %y, %d : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @none
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return
  return %x : tensor<4xf32>
}
