// RUN: remat-opt %s --remat-plan=reorder=false --remat-assign-buffers --remat-place | FileCheck %s

// A copy of 100 ns begins two tasks of 50 ns before its reader, and what it
// brings back stays in the arena for two tasks: there is room for both beside
// the large value, but not while that is live.

func.func private @transfer(%a: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.copy {remat.transfer} ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @small(%a: tensor<1xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  return %a : tensor<1xf32>
}
func.func private @large(%a: tensor<1xf32>) -> tensor<1024xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<1024xf32>
  return %e : tensor<1024xf32>
}
func.func private @shrink(%a: tensor<1024xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<1xf32>
  return %e : tensor<1xf32>
}
func.func private @update(%m: tensor<64xf32>, %a: tensor<1xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  return %m : tensor<64xf32>
}

// CHECK-LABEL: remat.graph @step
// CHECK: remat.task 0 @large
// CHECK-NEXT: remat.task 1 @shrink
// CHECK-NEXT: %[[IN:.*]] = remat.task 4 @transfer(%arg1)
// CHECK-NEXT: remat.task 2 @small
// CHECK-NEXT: remat.task 3 @small
// CHECK-NEXT: %[[NEW:.*]] = remat.task 5 @update(%[[IN]]
// CHECK-NEXT: remat.task 6 @transfer(%[[NEW]])
// CHECK-NEXT: remat.task 7 @small
// CHECK-NEXT: remat.task 8 @small
// CHECK-NEXT: remat.release %[[NEW]]
// CHECK-NEXT: remat.task 9 @small
remat.graph @step(%x: tensor<1xf32>, %m: tensor<64xf32> {remat.donated = 1 : i64, remat.host}) -> (tensor<1xf32>, tensor<64xf32>) {
  %0 = remat.task 0 @large(%x) cost 50 : (tensor<1xf32>) -> tensor<1024xf32>
  %1 = remat.task 1 @shrink(%0) cost 50 : (tensor<1024xf32>) -> tensor<1xf32>
  %2 = remat.task 2 @small(%1) cost 50 : (tensor<1xf32>) -> tensor<1xf32>
  %3 = remat.task 3 @small(%2) cost 50 : (tensor<1xf32>) -> tensor<1xf32>
  %4 = remat.task 4 @transfer(%m) cost 100 : (tensor<64xf32>) -> tensor<64xf32>
  %5 = remat.task 5 @update(%4, %3) cost 50 : (tensor<64xf32>, tensor<1xf32>) -> tensor<64xf32>
  %6 = remat.task 6 @transfer(%5) cost 100 : (tensor<64xf32>) -> tensor<64xf32>
  %7 = remat.task 7 @small(%3) cost 50 : (tensor<1xf32>) -> tensor<1xf32>
  %8 = remat.task 8 @small(%7) cost 50 : (tensor<1xf32>) -> tensor<1xf32>
  %9 = remat.task 9 @small(%8) cost 50 : (tensor<1xf32>) -> tensor<1xf32>
  remat.return %9, %6 : tensor<1xf32>, tensor<64xf32>
}
