// RUN: remat-opt %s --remat-differentiate=mode=reverse -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s
// RUN: remat-opt %s --remat-differentiate=mode=forward -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=TANGENT

// Behaviour 108: an operation of a derivative tells which forward operation it
// belongs to, with all that its location says.

// CHECK: linalg.exp {{.*}} loc("block"("model.py":7:3))
// CHECK: linalg.yield {{.*}} loc("backward"("block"("model.py":7:3)))
// TANGENT: linalg.yield {{.*}} loc("tangent"("block"("model.py":7:3)))
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("block"("model.py":7:3))
  return %y : tensor<4xf32>
}
