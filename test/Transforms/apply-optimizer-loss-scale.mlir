// RUN: split-file %s %t
// RUN: remat-opt %t/scaled.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=8 | FileCheck %t/scaled.mlir --check-prefixes=BOTH,NUMBER
// RUN: remat-opt %t/scaled.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=argument | FileCheck %t/scaled.mlir --check-prefixes=BOTH,ARGUMENT
// RUN: not remat-opt %t/unscaled.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=8 2>&1 | FileCheck %t/unscaled.mlir
// RUN: remat-opt %t/narrow.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=2048.5 | FileCheck %t/narrow.mlir --check-prefix=ROUNDED
// RUN: not remat-opt %t/narrow.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=65536 2>&1 | FileCheck %t/narrow.mlir --check-prefix=LARGE
// RUN: not remat-opt %t/narrow.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=1e-30 2>&1 | FileCheck %t/narrow.mlir --check-prefix=SMALL

//--- scaled.mlir

// The cotangent of the loss is the scale. What an update needs besides the
// gradient is forward, so that the backward computation begins where it began.
// BOTH-LABEL: func.func @main
// NUMBER-NOT: cotangent
// NUMBER-DAG: %[[SCALE:.*]] = arith.constant dense<8.000000e+00> : tensor<f32>
// NUMBER-DAG: arith.constant dense<1.250000e-01> : tensor<f64>
// ARGUMENT-SAME: %[[SCALE:[a-z0-9]*]]: tensor<f32> {remat.name = "optimizer.loss_scale"}
// ARGUMENT: %[[WIDE:.*]] = arith.extf %[[SCALE]] : tensor<f32> to tensor<f64>
// ARGUMENT: arith.divf %{{.*}}, %[[WIDE]] : tensor<f64>
// BOTH: arith.addi %{{.*}}, %{{.*}} : tensor<i64>
// BOTH: math.powf %{{.*}}, %{{.*}} : tensor<f64>
// BOTH: arith.mulf %[[SCALE]], %{{.*}} {remat.backward} : tensor<f32>
// BOTH: linalg.generic {{.*}} attrs = {remat.backward}
// BOTH-NEXT: ^bb0(%{{[a-z0-9_]*}}: f32, %[[GRADIENT:[a-z0-9_]*]]: f32, %{{[a-z0-9_]*}}: f32, %{{[a-z0-9_]*}}: f32, %{{[a-z0-9_]*}}: f32, %{{[a-z0-9_]*}}: f32, %[[INVERSE:[a-z0-9_]*]]: f32,
// BOTH-NEXT: arith.mulf %[[GRADIENT]], %[[INVERSE]]
func.func @main(%w: tensor<f32>, %seed: tensor<f32> {remat.name = "loss.cotangent"}) -> (tensor<f32>, tensor<f32> {remat.gradient = 0 : i64}) {
  %y = math.sin %w : tensor<f32>
  %slope = math.cos %w {remat.backward} : tensor<f32>
  %g = arith.mulf %seed, %slope {remat.backward} : tensor<f32>
  return %y, %g : tensor<f32>, tensor<f32>
}

//--- unscaled.mlir

// CHECK: has a last argument of type 'tensor<2xf32>', expected the cotangent of a loss, of one element of floating point, to scale gradients by
func.func @main(%w: tensor<2xf32>) -> (tensor<f32>, tensor<2xf32> {remat.gradient = 0 : i64}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %zero, %w : tensor<f32>, tensor<2xf32>
}

//--- narrow.mlir

// Of a loss in f16 the scale is a number of f16, by which gradients are divided.
// ROUNDED-DAG: arith.constant dense<2.048000e+03> : tensor<f16>
// ROUNDED-DAG: arith.constant dense<4.8828125E-4> : tensor<f64>
// LARGE: has a loss of type 'f16', in which the scale 6.553600e+04 is infinite; expected a 'loss_scale' from {{.*}} to 6.550400e+04
// SMALL: has a loss of type 'f16', in which the scale 1.000000e-30 is 0; expected a 'loss_scale' from
func.func @main(%w: tensor<f16>, %seed: tensor<f16>) -> (tensor<f16>, tensor<f16> {remat.gradient = 0 : i64}) {
  %slope = math.cos %w {remat.backward} : tensor<f16>
  %g = arith.mulf %seed, %slope {remat.backward} : tensor<f16>
  return %w, %g : tensor<f16>, tensor<f16>
}
