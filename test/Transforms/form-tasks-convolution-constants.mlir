// A convolution is a library call, which reads all factors from buffers. So
// constant ones, and views of constants, are put there by tasks of their own.

// RUN: remat-opt %s --remat-form-tasks | FileCheck %s
// RUN: remat-run %s --gradcheck --threads=1

// CHECK:      %[[F:.*]] = remat.task 0 @{{.*}}() {{.*}}-> tensor<2x3x2xf32>
// CHECK:      remat.task 1 @{{.*}}(%{{.*}}, %[[F]])
// CHECK:      func.func private @{{.*}}(%[[X:.*]]: tensor<1x3x5xf32>, %[[K:.*]]: tensor<2x3x2xf32>)
// CHECK-NEXT:   remat.conv forward(%[[X]], %[[K]])
func.func @main(%x: tensor<1x3x5xf32>) -> tensor<1x2x4xf32> {
  %flat = arith.constant dense<[1.0, 0.5, -1.0, 2.0, 0.25, -0.5, 1.5, -2.0, 0.75, 1.25, -0.25, 3.0]> : tensor<12xf32>
  %filter = tensor.expand_shape %flat [[0, 1, 2]] output_shape [2, 3, 2] : tensor<12xf32> into tensor<2x3x2xf32>
  %y = remat.conv forward(%x, %filter) {strides = array<i64: 1>, dilations = array<i64: 1>,
      padding = array<i64: 0, 0>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2>,
      filter_layout = array<i64: 0, 1, 2>, output_layout = array<i64: 0, 1, 2>}
      : (tensor<1x3x5xf32>, tensor<2x3x2xf32>) -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}
