// RUN: remat-opt %s --remat-separate-copies 2>&1 | FileCheck %s

// Only a clone whose kernel reads the number of the copy gets another kernel.
// CHECK: remark: is run again with fresh random numbers
// CHECK-NOT: remark

// CHECK: func.func private @draw(
// CHECK:   remat.copy_number
// CHECK: func.func private @draw.copy2(
// CHECK-NOT: remat.copy_number
// CHECK:   arith.constant 2 : i32
func.func private @draw(%a: tensor<16xi32>) -> tensor<16xi32> attributes {remat.kernel} {
  %n = remat.copy_number : i32
  %e = tensor.empty() : tensor<16xi32>
  %0 = linalg.fill ins(%n : i32) outs(%e : tensor<16xi32>) -> tensor<16xi32>
  return %0 : tensor<16xi32>
}
func.func private @keep(%a: tensor<16xi32>) -> tensor<16xi32> attributes {remat.kernel} {
  return %a : tensor<16xi32>
}
// CHECK: remat.graph @step
remat.graph @step(%x: tensor<16xi32>) {
  // CHECK: remat.task 0 @draw(
  %0 = remat.task 0 @draw(%x) : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: remat.task 1 @keep(
  %1 = remat.task 1 @keep(%0) : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: remat.task 0 copy 2 @draw.copy2(
  %2 = remat.task 0 copy 2 @draw(%x) : (tensor<16xi32>) -> tensor<16xi32>
  // CHECK: remat.task 1 copy 1 @keep(
  %3 = remat.task 1 copy 1 @keep(%2) : (tensor<16xi32>) -> tensor<16xi32>
  remat.return
}
