// RUN: remat-opt %s --remat-plan="region-budget=a:0 link-bandwidth=1GB/s" | FileCheck %s
// RUN: remat-opt %s --remat-plan="region-budget=a:128 link-bandwidth=1GB/s" | FileCheck %s --check-prefix=ROOM

// A value comes back from the host as early as the link needs. Its region has no
// room for it, so it does so when the backward computation begins.

// CHECK:      %[[HOST:.*]] = remat.offload
// CHECK-NOT:  remat.reload
// CHECK:      remat.task 3
// CHECK-NEXT: remat.reload %[[HOST]]
// CHECK-NEXT: remat.task 4

// With room, it comes back before.
// ROOM:      remat.task 2
// ROOM-NEXT: remat.reload
// ROOM-NEXT: remat.task 3

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) cost 1000 {names = [["a"]], policies = [#remat.policy<must_cpu_offload>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @f(%1) cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @f(%2) cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %4 = remat.task 4 @g(%3, %0) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %4 : tensor<32xf32>
}
