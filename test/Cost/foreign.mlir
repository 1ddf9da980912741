// RUN: remat-test-opt %s --remat-annotate-costs=threads=2 | FileCheck %s

// What an operation of another dialect says of its cost and workspace counts in
// place of what its parts need, or as much as that if it is more.

// CHECK-LABEL: remat.graph @main
module attributes {remat.target = #remat.target<"cpu", contraction_flops = 100000000000, loop_flops = 1000000000, bandwidth = 1000000000, launch_ns = 0>} {
remat.graph @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  // Its parts read and write 4096 bytes each at 1 byte a nanosecond.
  // CHECK: remat.task 0 @counted({{.*}}) cost 8192 :
  %0 = remat.task 0 @counted(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: remat.task 1 @declared({{.*}}) cost 30000 workspace 128 :
  %1 = remat.task 1 @declared(%0) : (tensor<1024xf32>) -> tensor<1024xf32>
  remat.return %1 : tensor<1024xf32>
}
func.func private @counted(%x: tensor<1024xf32>) -> tensor<1024xf32> attributes {remat.kernel} {
  %0 = foreign.whole %x {parts = "whole"} : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
func.func private @declared(%x: tensor<1024xf32>) -> tensor<1024xf32> attributes {remat.kernel} {
  %0 = foreign.whole %x {flops = 30000, workspace = 100} : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
}
