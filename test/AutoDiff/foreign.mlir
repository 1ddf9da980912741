// RUN: remat-test-opt %s -split-input-file --remat-differentiate=mode=reverse | FileCheck %s --check-prefixes=CHECK,REVERSE
// RUN: remat-test-opt %s -split-input-file --remat-differentiate=mode=forward | FileCheck %s --check-prefixes=CHECK,FORWARD

// Rules that a dialect of another project writes with the public headers: one
// formula serves both modes.

// CHECK-LABEL:  func.func @main
// CHECK-SAME:     %[[X:.*]]: tensor<4xf32>, %[[G:.*]]: tensor<4xf32>
// CHECK:          %[[Y:.*]] = foreign.gaussian %[[X]] : tensor<4xf32>
// CHECK-DAG:      %[[TWO:.*]] = arith.constant {{.*}}dense<-2.0
// CHECK:          %[[A:.*]] = arith.mulf %[[X]], %[[TWO]]
// CHECK-NEXT:     %[[B:.*]] = arith.mulf %[[A]], %[[Y]]
// REVERSE-SAME:     {remat.backward}
// CHECK-NEXT:     %[[D:.*]] = arith.mulf %[[G]], %[[B]]
// CHECK-NEXT:     return %[[Y]], %[[D]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = foreign.gaussian %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// In the body of a structured operation; what no formula uses is not read.

// CHECK-LABEL:  func.func @main
// CHECK-SAME:     %[[A:[a-z0-9]*]]: tensor<4xf32>, %[[B:[a-z0-9]*]]: tensor<4xf32>, %[[C:[a-z0-9]*]]: tensor<4xf32>
// CHECK:          foreign.lerp
// REVERSE:        linalg.generic {{.*}} ins(%[[G:[a-z0-9]*]], %[[C]], %[[B]], %[[A]] :
// REVERSE-NEXT:   ^bb0(%[[G0:[a-z0-9_]*]]: f32, %[[C0:[a-z0-9_]*]]: f32, %[[B0:[a-z0-9_]*]]: f32, %[[A0:[a-z0-9_]*]]: f32, {{.*}}):
// REVERSE:          %[[REST:.*]] = arith.subf %{{.*}}, %[[C0]]
// REVERSE-NEXT:     %[[DA:.*]] = arith.mulf %[[G0]], %[[REST]]
// REVERSE-NEXT:     %[[DB:.*]] = arith.mulf %[[G0]], %[[C0]]
// REVERSE-NEXT:     %[[DIFFERENCE:.*]] = arith.subf %[[B0]], %[[A0]]
// REVERSE-NEXT:     %[[DC:.*]] = arith.mulf %[[G0]], %[[DIFFERENCE]]
// REVERSE-NEXT:     linalg.yield %[[DA]], %[[DB]], %[[DC]]
// FORWARD:        linalg.generic
// FORWARD:          %[[TA:.*]] = arith.mulf
// FORWARD-NEXT:     %[[TB:.*]] = arith.mulf
// FORWARD-NEXT:     %[[TAB:.*]] = arith.addf %[[TA]], %[[TB]]
// FORWARD:          %[[TC:.*]] = arith.mulf
// FORWARD-NEXT:     %[[T:.*]] = arith.addf %[[TAB]], %[[TC]]
// FORWARD-NEXT:     linalg.yield %[[T]]
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.map ins(%a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>)
    (%a0: f32, %b0: f32, %c0: f32, %out: f32) {
      %y = foreign.lerp %a0, %b0, %c0 : f32
      linalg.yield %y : f32
    }
  return %0 : tensor<4xf32>
}

// -----

// Nothing passes through what is constant wherever it has a derivative, and
// only the other operand has one.

// CHECK-LABEL:  func.func @main
// CHECK-SAME:     %[[X:[a-z0-9]*]]: tensor<4xf32>, %[[G:[a-z0-9]*]]: tensor<4xf32>
// CHECK-DAG:      %[[STEP:.*]] = foreign.step %[[X]]
// CHECK-DAG:      %[[Y:.*]] = foreign.hypot %[[X]], %[[STEP]]
// CHECK:          %[[Q:.*]] = arith.divf %[[X]], %[[Y]]
// CHECK-NEXT:     %[[D:.*]] = arith.mulf %[[G]], %[[Q]]
// CHECK-NEXT:     return %[[Y]], %[[D]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %step = foreign.step %x : tensor<4xf32>
  %y = foreign.hypot %x, %step : tensor<4xf32>
  return %y : tensor<4xf32>
}
