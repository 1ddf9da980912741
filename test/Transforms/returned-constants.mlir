// A result of equal numbers is filled, with no buffer beside it: one that the
// program returns, and the gradient of an argument that is not used.
// RUN: remat-opt %s --remat-pipeline="cotangents emit=placed" | FileCheck %s
// RUN: remat-opt %s --remat-form-tasks | FileCheck %s --check-prefix=TASKS
// RUN: remat-run %s --gradcheck

// CHECK: remat.graph @main({{.*}}arena_bytes = 0
// CHECK-NOT: workspace
// CHECK: remat.return
// CHECK-NOT: linalg.copy
// TASKS-NOT: linalg.copy
// TASKS: linalg.fill
func.func @main(%x: tensor<4xf64>, %w: tensor<64x64xf64>) -> (tensor<4xf64>, tensor<64x64xf64>, tensor<8x4xcomplex<f32>>) {
  %c = arith.constant dense<2.0> : tensor<64x64xf64>
  %z = arith.constant dense<(1.0,-2.0)> : tensor<8x4xcomplex<f32>>
  %a = math.sin %x : tensor<4xf64>
  return %a, %c, %z : tensor<4xf64>, tensor<64x64xf64>, tensor<8x4xcomplex<f32>>
}
