// RUN: split-file %s %t
// RUN: remat-opt %t/scaled.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=8 | FileCheck %t/scaled.mlir --check-prefixes=BOTH,NUMBER
// RUN: remat-opt %t/scaled.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=argument | FileCheck %t/scaled.mlir --check-prefixes=BOTH,ARGUMENT
// RUN: not remat-opt %t/unscaled.mlir --remat-apply-optimizer=optimizer=adam:loss_scale=8 2>&1 | FileCheck %t/unscaled.mlir

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
