// RUN: remat-opt %s --remat-differentiate=mode=reverse -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s
// RUN: remat-opt %s --remat-differentiate=mode=forward -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=TANGENT

// An operation of a derivative names the forward operation that it belongs to,
// with everything that the location of that operation says.

// CHECK: linalg.exp {{.*}} loc("block"("model.py":7:3))
// CHECK: linalg.yield {{.*}} loc("backward"("block"("model.py":7:3)))
// TANGENT: linalg.yield {{.*}} loc("tangent"("block"("model.py":7:3)))
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("block"("model.py":7:3))
  return %y : tensor<4xf32>
}
