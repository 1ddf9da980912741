// RUN: remat-opt %s --remat-import-foreign | FileCheck %s

// A bound that is a constant other than nan takes one comparison.

// CHECK-LABEL: func.func @clamp
// CHECK:         arith.cmpf ogt
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    arith.cmpf olt
// CHECK-NEXT:    arith.cmpf uno
// CHECK-NEXT:    arith.ori
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    return
func.func @clamp(%x: tensor<4xf32>, %high: tensor<4xf32>) -> tensor<4xf32> {
  %low = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.clamp"(%low, %x, %high) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// As many bits as there are change nothing, and bf16 is a conversion.

// CHECK-LABEL: func.func @precision
// CHECK-SAME:    (%[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[N:.*]] = arith.truncf %[[Y]] : tensor<4xf32> to tensor<4xbf16>
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[N]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT:    return %[[X]], %[[W]]
func.func @precision(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 8 : i32, mantissa_bits = 23 : i32}> : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = "stablehlo.reduce_precision"(%y) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xbf16>, tensor<4xf32>
}
