// RUN: remat-opt %s --remat-lower-checkpoints --remat-differentiate=mode=reverse --remat-demand-regions | FileCheck %s

// The backward computation needs the exponential. What nothing in the region
// reads is demanded before that, and brings the rest about. What has a policy of
// its own is not, nor is anything of a region that stops early.
// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = math.exp %arg0
// CHECK:         %[[M:.*]] = arith.mulf
// CHECK:         %[[F:.*]] = math.floor
// CHECK:         %[[C:.*]] = math.ceil
// CHECK-NOT:     whole_region
// CHECK:         remat.demand %[[M]] {{.*}}{remat.backward}
// CHECK-NEXT:    remat.demand %[[F]] {{.*}}{remat.backward}
// CHECK-NEXT:    remat.demand %[[C]] {{.*}}{remat.backward}
// CHECK-NOT:     remat.demand
// CHECK:         return
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y, %z, %u = remat.checkpoint attributes {early_stop = false} {
    %a = math.exp %x : tensor<4xf32>
    %s = math.sin %a {remat.policy = #remat.policy<must_save>} : tensor<4xf32>
    %m = arith.mulf %a, %s : tensor<4xf32>
    %f = math.floor %s : tensor<4xf32>
    %c = math.ceil %a : tensor<4xf32>
    remat.yield %m, %f, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %t = remat.checkpoint {
    %0 = math.cos %y : tensor<4xf32>
    %1 = math.floor %0 : tensor<4xf32>
    %2 = math.exp %0 : tensor<4xf32>
    remat.yield %2 : tensor<4xf32>
  } : tensor<4xf32>
  return %t, %z, %u : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
