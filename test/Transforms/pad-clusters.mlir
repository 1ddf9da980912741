// RUN: remat-opt %s --remat-form-tasks --remat-annotate-costs | FileCheck %s

// An elementwise operation that only a pad reads is one kernel with it, and
// writes to the middle of the padded tensor: no workspace.

// CHECK-LABEL: remat.graph @main
// CHECK-NEXT: %[[P:.*]] = remat.task 0 @tanh_pad(%arg0)
// CHECK-NOT: workspace
// CHECK-SAME: (tensor<8x30xf32>) -> tensor<10x32xf32>
// CHECK-NEXT: remat.return %[[P]]
// CHECK: func.func private @tanh_pad
// CHECK: math.tanh
// CHECK: tensor.pad
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<8x30xf32>) -> tensor<10x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x30xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x30xf32>) outs(%e : tensor<8x30xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.tanh %i : f32
    linalg.yield %r : f32
  } -> tensor<8x30xf32>
  %p = tensor.pad %a low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x30xf32> to tensor<10x32xf32>
  return %p : tensor<10x32xf32>
}
