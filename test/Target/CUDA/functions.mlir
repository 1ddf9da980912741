// Functions of f32 need no library: powers with constant exponents are products,
// square roots are rounded to nearest, exp and tanh are the powers of two and the
// reciprocals that there are instructions for, and others are polynomials.
// RUN: remat-compile %s --no-gradients --target=cuda --mcpu=sm_90 -S -o - | FileCheck %s --implicit-check-not=__nv_ --implicit-check-not=call

// CHECK: .target sm_90
// CHECK: .visible .entry {{[a-z_]+}}_0(
// CHECK-NOT: approx
// CHECK: mul.rn.f32
// CHECK-NOT: approx
// CHECK: sqrt.rn.f32
// CHECK-NOT: approx
// CHECK: ex2.approx.ftz.f32
// CHECK: rcp.approx.ftz.f32
// CHECK: copysign.f32
// CHECK: fma.rm.f32
// CHECK: ex2.approx.ftz.f32
func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %three = arith.constant dense<3> : tensor<1024xi32>
  %0 = math.fpowi %x, %three : tensor<1024xf32>, tensor<1024xi32>
  %1 = math.sqrt %0 : tensor<1024xf32>
  %2 = math.tanh %1 : tensor<1024xf32>
  %3 = math.exp %2 : tensor<1024xf32>
  %4 = math.log %3 : tensor<1024xf32>
  return %4 : tensor<1024xf32>
}
