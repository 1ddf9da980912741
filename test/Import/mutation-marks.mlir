// RUN: remat-opt %s --remat-import-buffers -mlir-print-local-scope | FileCheck %s
// RUN: remat-opt %s --remat-import-buffers=allow-cache-entry-mutation -mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefix=WRITTEN
// RUN: remat-opt %s --remat-import-buffers --remat-check-mutation | FileCheck %s --check-prefix=GONE

// What is overwritten says where. The mark is no name that a policy or a
// gradient could be about.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = linalg.exp
// CHECK-NEXT: %[[MARK:.*]] = remat.tag %[[Y]] {overwritten = loc({{.*}}mutation-marks.mlir":[[@LINE+16]]:3)}
// CHECK-NEXT: linalg.sqrt ins(%[[MARK]]

// Where derivatives read what was written, operations are kept apart, and the
// end of the function tells what is in which memory.
// WRITTEN: linalg.exp
// WRITTEN-NEXT: remat.tag %{{.*}} {keep_apart}
// WRITTEN-NEXT: %[[BEFORE:.*]] = remat.tag %{{.*}} {overwritten = loc(
// WRITTEN: %[[AFTER:.*]] = linalg.fill
// WRITTEN: remat.overwritten %[[BEFORE]] by %[[AFTER]] in buffer 0 : tensor<4xf32>

// GONE-NOT: remat.tag
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.sqrt ins(%y : memref<4xf32>) outs(%z : memref<4xf32>)
  linalg.fill ins(%one : f32) outs(%y : memref<4xf32>)
  return
}
