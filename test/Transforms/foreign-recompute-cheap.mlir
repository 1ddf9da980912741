// RUN: remat-test-opt %s --remat-recompute-cheap | FileCheck %s

// An operation of another dialect that says it is cheap is made again in the
// backward computation, where its operand is anyway. Others are kept.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<64x64xf32>, %g: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %empty = tensor.empty() : tensor<64x64xf32>
  // CHECK: %[[CHEAP:.*]] = foreign.whole %arg0 {recomputability = "cheap"}
  %cheap = foreign.whole %x {recomputability = "cheap"} : tensor<64x64xf32>
  // CHECK: %[[OTHER:.*]] = foreign.whole %arg0 : tensor
  %other = foreign.whole %x : tensor<64x64xf32>
  // CHECK: %[[RANDOM:.*]] = foreign.whole %arg0 {recomputability = "random"}
  %random = foreign.whole %x {recomputability = "random"} : tensor<64x64xf32>
  %sum = linalg.add ins(%cheap, %other : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: %[[AGAIN:.*]] = foreign.whole %arg0 {recomputability = "cheap", remat.backward}
  // CHECK-NEXT: linalg.mul {{.*}} ins(%[[AGAIN]], %[[OTHER]]
  %0 = linalg.mul {remat.backward} ins(%cheap, %other : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: linalg.mul {{.*}} ins(%[[RANDOM]], %arg1
  %1 = linalg.mul {remat.backward} ins(%random, %g : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %sum, %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
