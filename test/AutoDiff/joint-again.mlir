// The joint function of a step reads like a forward one when it comes from a
// file: whoever has its derivative made again is told.

// RUN: remat-opt %s --remat-joint-pipeline -o %t.joint.mlir
// RUN: remat-opt %t.joint.mlir --remat-joint-pipeline -o /dev/null 2>&1 | FileCheck %s
// RUN: remat-opt %t.joint.mlir --remat-joint-pipeline=differentiate=false -o /dev/null 2>&1 | count 0
// RUN: remat-opt %s --remat-joint-pipeline=differentiate=false -o %t.forward.mlir
// RUN: remat-opt %t.forward.mlir --remat-joint-pipeline -o /dev/null 2>&1 | count 0

// CHECK: warning: function 'main' has its backward computation already, which is differentiated as well; compile it as it is by 'differentiate=false' ('--no-gradients')

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%1 : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
    (%in: f32, %acc: f32) {
      %2 = arith.addf %in, %acc : f32
      linalg.yield %2 : f32
    }
  return %sum : tensor<f32>
}
