// RUN: remat-opt %s --remat-place | FileCheck %s

// Of what a second call reads, %b dies last, and lies lowest, though %a is live for longer. Once the others are dead, %d
// fits into their place.

// CHECK-LABEL: remat.graph @main
// CHECK-SAME:    arena_bytes = 192 {{.*}}state_bytes = 192
// CHECK:         %[[A:.*]] = remat.task 0 {{.*}} at [arena 128]
// CHECK:         %[[B:.*]] = remat.task 4 {{.*}} at [arena 0]
// CHECK:         %[[C:.*]] = remat.task 7 {{.*}} at [arena 64]
// CHECK:         remat.task 10 @double(%[[B]]) phase 1 at [arena 64]
func.func private @same(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
func.func private @double(%a: tensor<16xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %0 = tensor.concat dim(0) %a, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @both(%a: tensor<16xf32>, %d: tensor<32xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) attributes {planned_peak = 192 : i64} {
  %a = remat.task 0 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task 1 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = remat.task 2 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %3 = remat.task 3 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = remat.task 4 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %5 = remat.task 5 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %6 = remat.task 6 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %c = remat.task 7 @same(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %r = remat.task 8 @same(%a) phase 1 : (tensor<16xf32>) -> tensor<16xf32>
  %s = remat.task 9 @same(%c) phase 1 : (tensor<16xf32>) -> tensor<16xf32>
  %d = remat.task 10 @double(%b) phase 1 : (tensor<16xf32>) -> tensor<32xf32>
  %t = remat.task 11 @both(%b, %d) phase 1 : (tensor<16xf32>, tensor<32xf32>) -> tensor<16xf32>
  remat.return %1, %2, %3, %5, %6, %r, %s, %t : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
