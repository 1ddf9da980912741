// RUN: remat-opt %s -split-input-file --remat-apply-policies=policy=dots_saveable | FileCheck %s --check-prefixes=CHECK,DOTS
// RUN: remat-opt %s -split-input-file --remat-apply-policies=policy=nothing_saveable | FileCheck %s --check-prefixes=CHECK,NOTHING

// What a loop makes that is kept, it makes once: so nothing says that its
// results are made again.

// CHECK-LABEL: func.func @counted(
// CHECK:         scf.for
// CHECK:           linalg.matmul
// DOTS-NEXT:       remat.tag %{{.*}} {policy = #remat.policy<must_save>}
// CHECK:           scf.yield
// CHECK-NEXT:    }
// DOTS-NEXT:     return
// NOTHING-NEXT:  remat.tag %{{.*}} {policy = #remat.policy<must_recompute>}
func.func @counted(%x: tensor<3x3xf64>, %w: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 5000 : index
  %z = arith.constant dense<0.0> : tensor<3x3xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<3x3xf64> {
    %m = linalg.matmul ins(%a, %w : tensor<3x3xf64>, tensor<3x3xf64>) outs(%z : tensor<3x3xf64>) -> tensor<3x3xf64>
    scf.yield %m : tensor<3x3xf64>
  }
  return %r : tensor<3x3xf64>
}

// -----

// Bodies that are functions are looked into.

// CHECK-LABEL: func.func @kept(
// CHECK:         remat.loop @body
// DOTS-NEXT:     return
// NOTHING-NEXT:  remat.tag %{{.*}} {policy = #remat.policy<must_recompute>}
func.func @kept(%x: tensor<3x3xf64>, %w: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %r = remat.loop @body count 9 carried(%x) invariant(%w) sliced() : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %r : tensor<3x3xf64>
}
func.func private @body(%a: tensor<3x3xf64>, %w: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %z = arith.constant dense<0.0> : tensor<3x3xf64>
  %m = linalg.matmul ins(%a, %w : tensor<3x3xf64>, tensor<3x3xf64>) outs(%z : tensor<3x3xf64>) -> tensor<3x3xf64>
  return %m : tensor<3x3xf64>
}
