// RUN: not remat-opt %s --remat-differentiate -mlir-print-ir-after-failure 2>&1 | FileCheck %s

// A function that cannot be differentiated keeps its signature and its body, so
// that no half-finished derivative is planned after the error.

// CHECK: error: 'math.sincos'
// CHECK: IR Dump After {{.*}} Failed
// CHECK: func.func @main(%{{[^,]*}}: tensor<4xf32>) -> tensor<f32>
// CHECK-NOT: remat.backward
// CHECK: return %{{.*}} : tensor<f32>
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %d, %n = math.sincos %x : tensor<4xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%d : tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.mulf %in, %in : f32
    %y = arith.addf %t, %out : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
