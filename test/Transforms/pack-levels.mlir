// Values packed where derivatives are nested. What packs a value is a part of
// the derivative that makes it, and each derivative that reads it unpacks it for
// itself: what the inner one unpacked is not kept for the outer one.

// RUN: remat-opt %s --remat-pack-saved | FileCheck %s

// CHECK-LABEL: func.func @forward_value
// CHECK: %[[A:.*]] = math.exp
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<64xf32>) outs(%{{.*}} : tensor<64xbf16>) {
// CHECK: %[[T:.*]] = remat.tag %[[P]] {policy = #remat.policy<prefer_save>} : tensor<64xbf16>
// CHECK: %[[INNER:.*]] = linalg.generic {{.*}} ins(%[[T]] : {{.*}}) outs({{.*}}) attrs = {remat.backward} {
// CHECK: %[[B:.*]] = math.sin %[[INNER]] {remat.backward}
// CHECK: %[[OUTER:.*]] = linalg.generic {{.*}} ins(%[[T]] : {{.*}}) outs({{.*}}) attrs = {remat.backward = 2 : i64} {
// CHECK: arith.mulf %[[B]], %[[OUTER]] {remat.backward = 2 : i64}
func.func @forward_value(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = math.exp %x : tensor<64xf32>
  %t = remat.tag %a {codec = "bf16"} : tensor<64xf32>
  %b = math.sin %t {remat.backward} : tensor<64xf32>
  %c = arith.mulf %b, %t {remat.backward = 2 : i64} : tensor<64xf32>
  return %c : tensor<64xf32>
}

// CHECK-LABEL: func.func @value_of_a_derivative
// CHECK: %[[B:.*]] = math.sin %{{.*}} {remat.backward}
// CHECK: linalg.generic {{.*}} ins(%[[B]] : {{.*}}) outs({{.*}}) attrs = {remat.backward} {
// CHECK: linalg.generic {{.*}} attrs = {remat.backward = 2 : i64} {
func.func @value_of_a_derivative(%x: tensor<64xf32>) -> tensor<64xf32> {
  %b = math.sin %x {remat.backward} : tensor<64xf32>
  %t = remat.tag %b {codec = "bf16"} : tensor<64xf32>
  %c = math.exp %t {remat.backward = 2 : i64} : tensor<64xf32>
  return %c : tensor<64xf32>
}
