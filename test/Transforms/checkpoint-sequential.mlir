// RUN: remat-opt %s --remat-checkpoint-sequential=segments=3 -split-input-file | FileCheck %s
// RUN: not remat-opt %s --remat-checkpoint-sequential=segments=8 -split-input-file 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not remat-opt %s --remat-checkpoint-sequential=segments=0 -split-input-file 2>&1 | FileCheck %s --check-prefix=FEW

// Seven links in three segments: two, two, and three that are not in a region.
// MANY: error: 'func.func' op has 7 links to cut, expected from 1 to as many segments, got 8
// FEW: error: 'func.func' op has 7 links to cut, expected from 1 to as many segments, got 0

// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = remat.checkpoint {
// CHECK-NEXT:      math.sin
// CHECK-NEXT:      %[[V:.*]] = math.exp
// CHECK-NEXT:      remat.yield %[[V]]
// CHECK:         %[[B:.*]] = remat.checkpoint {
// CHECK-NEXT:      %[[C:.*]] = math.cos %[[A]]
// CHECK-NEXT:      %[[W:.*]] = arith.mulf %[[C]]
// CHECK-NEXT:      remat.yield %[[W]]
// CHECK:         math.sin %[[B]]
// CHECK-NEXT:    math.exp
// CHECK-NEXT:    math.tanh
// CHECK-NEXT:    return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = math.cos %1 : tensor<4xf32>
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %3 = arith.mulf %2, %c : tensor<4xf32>
  %4 = math.sin %3 : tensor<4xf32>
  %5 = math.exp %4 : tensor<4xf32>
  %6 = math.tanh %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// -----

// The links of a chain of calls are the calls.
func.func private @layer(tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @calls
// CHECK-COUNT-2: remat.checkpoint
// CHECK-NOT:     remat.checkpoint
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addf %0, %x : tensor<4xf32>
  %2 = call @layer(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @layer(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
