// RUN: remat-opt %s --inline --remat-import-random-state --remat-import-entry=function=step | FileCheck %s

// A module with several functions keeps the one that is asked for.
// CHECK: func.func @step
// CHECK-NOT: call
// CHECK-NOT: func.func
// CHECK-NOT: ml_program
ml_program.global private mutable @unread(dense<0> : tensor<i64>) : tensor<i64>

func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @step(%x: tensor<4xf32>, %seed: tensor<i64>) -> tensor<4xf32> {
  ml_program.global_store @unread = %seed : tensor<i64>
  %0 = call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
