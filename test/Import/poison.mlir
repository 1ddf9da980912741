// What a program leaves open is zero, wherever a poison stands.
// RUN: remat-opt %s --remat-import-clean-up | FileCheck %s
// RUN: remat-compile %s --function=result --no-gradients -o %t.o
// RUN: remat-compile %s --function=pad --no-gradients -o %t.o
// RUN: remat-compile %s --function=complex --no-gradients -o %t.o

// CHECK-LABEL: @result
// CHECK: arith.constant dense<0.000000e+00> : tensor<4xf32>
func.func @result(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = ub.poison : tensor<4xf32>
  return %p : tensor<4xf32>
}

// CHECK-LABEL: @pad
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: tensor.yield %[[ZERO]]
func.func @pad(%x: tensor<4xf32>) -> tensor<6xf32> {
  %p = ub.poison : f32
  %y = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %p : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %y : tensor<6xf32>
}

// CHECK-LABEL: @complex
// CHECK-NOT: ub.poison
// CHECK: return
func.func @complex(%x: tensor<4xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<2xcomplex<f32>>) {
  %p = ub.poison : tensor<2xcomplex<f32>>
  return %x, %p : tensor<4xcomplex<f32>>, tensor<2xcomplex<f32>>
}
