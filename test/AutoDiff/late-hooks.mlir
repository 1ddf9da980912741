// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-differentiate='mode=gradient accumulate=true' --canonicalize --cse | FileCheck %s

// A hook with `accumulated` sees the whole gradient, uses of the argument apart
// from the hook included, and what earlier steps left; the other does not.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:.*]]: tensor<f32>, %[[SUM:.*]]: tensor<f32> {remat.donated = 1 : i64})
// CHECK:         %[[EARLY:.*]] = math.absf %{{.*}} {remat.backward}
// CHECK:         %[[TERM:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[EARLY]]
// CHECK:         %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %
// CHECK:         %[[LATE:.*]] = math.absf %[[ALL]] {remat.backward}
// CHECK:         return %{{.*}}, %[[LATE]]
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %late = remat.gradient_hook(%x : tensor<f32>) accumulated {
  ^bb0(%g: tensor<f32>):
    %h = math.absf %g : tensor<f32>
    remat.yield %h : tensor<f32>
  }
  %early = remat.gradient_hook(%late : tensor<f32>) {
  ^bb0(%g: tensor<f32>):
    %h = math.absf %g : tensor<f32>
    remat.yield %h : tensor<f32>
  }
  %0 = math.sin %early : tensor<f32>
  %1 = arith.mulf %0, %x : tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = math.sin %x : tensor<f32>
  // expected-error @+1 {{sees a gradient after it was accumulated, expected the operand to be an argument}}
  %1 = remat.gradient_hook(%0 : tensor<f32>) accumulated {
  ^bb0(%g: tensor<f32>):
    remat.yield %g : tensor<f32>
  }
  return %1 : tensor<f32>
}
