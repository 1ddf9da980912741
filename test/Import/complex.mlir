// Folds of upstream that change values of complex numbers find nothing: the
// logarithm of an exponential is wrapped, and sums are rounded.
// RUN: remat-opt %s --remat-import-complex --canonicalize | FileCheck %s

// CHECK-LABEL: @log_of_exp
// CHECK-SAME: (%[[Z:.*]]: complex<f32>)
// CHECK: %[[E:.*]] = complex.exp %[[Z]]
// CHECK: %[[SIZE:.*]] = complex.abs %[[E]]
// CHECK: %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SIZE]]
// CHECK: %[[SECOND:.*]] = arith.select %{{.*}}, %{{.*}}, %[[FIRST]]
// CHECK: %[[LOG:.*]] = math.log %[[SECOND]]
// CHECK: %[[ANGLE:.*]] = complex.angle %[[E]]
// CHECK: complex.create %[[LOG]], %[[ANGLE]]
func.func @log_of_exp(%z: complex<f32>) -> complex<f32> {
  %e = complex.exp %z : complex<f32>
  %l = complex.log %e : complex<f32>
  return %l : complex<f32>
}

// CHECK-LABEL: @difference_and_sum
// CHECK-SAME: (%[[A:.*]]: complex<f32>, %[[B:.*]]: complex<f32>)
// CHECK: %[[MINUS:.*]] = complex.neg %[[B]]
// CHECK: %[[D:.*]] = complex.add %[[A]], %[[MINUS]]
// CHECK: complex.add %[[D]], %[[B]]
func.func @difference_and_sum(%a: complex<f32>, %b: complex<f32>) -> complex<f32> {
  %d = complex.sub %a, %b : complex<f32>
  %s = complex.add %d, %b : complex<f32>
  return %s : complex<f32>
}

// CHECK-LABEL: @sum_and_difference
// CHECK-SAME: (%[[A:.*]]: complex<f32>, %[[B:.*]]: complex<f32>)
// CHECK: %[[S:.*]] = complex.add %[[A]], %[[B]]
// CHECK: %[[MINUS:.*]] = complex.neg %[[B]]
// CHECK: complex.add %[[S]], %[[MINUS]]
func.func @sum_and_difference(%a: complex<f32>, %b: complex<f32>) -> complex<f32> {
  %s = complex.add %a, %b : complex<f32>
  %d = complex.sub %s, %b : complex<f32>
  return %d : complex<f32>
}
