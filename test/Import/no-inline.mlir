// RUN: remat-opt %s --remat-import-calls --remat-import-entry | FileCheck %s

// Tasks have no calls: that a function is better not inlined is a hint only.
// CHECK: func.func @main
// CHECK-NEXT: math.exp
// CHECK-NEXT: math.exp
// CHECK-NEXT: return
func.func private @exponential(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline} {
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @exponential(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @exponential(%0) {no_inline} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
