// The batch is followed from the arguments through all operations: into what
// is written, through reshapes that join it with other dimensions, and into
// constants. Equal constants of other readers keep their size.

// RUN: split-file %s %t
// RUN: remat-opt %t/good.mlir --remat-resize-batch="size=6 wrt=1" | FileCheck %s
// RUN: remat-opt %t/gradients.mlir --remat-resize-batch="size=6 wrt=1 arguments=0,2" | FileCheck %s --check-prefix=GRADIENTS
// RUN: not remat-opt %t/weight.mlir --remat-resize-batch="size=6 wrt=1" 2>&1 | FileCheck %s --check-prefix=WEIGHT
// RUN: not remat-opt %t/slice.mlir --remat-resize-batch="size=6 wrt=1" 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not remat-opt %t/good.mlir --remat-resize-batch="size=0 wrt=1" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not remat-opt %t/good.mlir --remat-resize-batch="size=6" 2>&1 | FileCheck %s --check-prefix=NONE

//--- good.mlir
// CHECK: func.func @main(%{{.*}}: tensor<6x4x8xf32>, %{{.*}}: tensor<8x2xf32>) -> (tensor<6x4x2xf32>, tensor<2x4xf32>)
// CHECK-DAG: tensor.collapse_shape %{{.*}} : tensor<6x4x8xf32> into tensor<24x8xf32>
// CHECK-DAG: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<24x2xf32>)
// CHECK-DAG: arith.constant dense<1.000000e+00> : tensor<24x2xf32>
// CHECK: tensor.expand_shape %{{.*}} output_shape [6, 4, 2] : tensor<24x2xf32> into tensor<6x4x2xf32>
// CHECK: tensor.empty() : tensor<2x4xf32>
func.func @main(%x: tensor<2x4x8xf32>, %w: tensor<8x2xf32>)
    -> (tensor<2x4x2xf32>, tensor<2x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %ones = arith.constant dense<1.0> : tensor<8x2xf32>
  %rows = tensor.collapse_shape %x [[0, 1], [2]]
      : tensor<2x4x8xf32> into tensor<8x8xf32>
  %empty = tensor.empty() : tensor<8x2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x2xf32>)
      -> tensor<8x2xf32>
  // Of the size of the weight, which the batch is not in.
  %scaled = arith.mulf %w, %ones : tensor<8x2xf32>
  %y = linalg.matmul ins(%rows, %scaled : tensor<8x8xf32>, tensor<8x2xf32>)
      outs(%init : tensor<8x2xf32>) -> tensor<8x2xf32>
  %shifted = arith.addf %y, %ones : tensor<8x2xf32>
  %result = tensor.expand_shape %shifted [[0, 1], [2]] output_shape [2, 4, 2]
      : tensor<8x2xf32> into tensor<2x4x2xf32>
  %other = tensor.empty() : tensor<2x4xf32>
  %heads = linalg.fill ins(%zero : f32) outs(%other : tensor<2x4xf32>)
      -> tensor<2x4xf32>
  return %result, %heads : tensor<2x4x2xf32>, tensor<2x4xf32>
}

// ZERO: cannot have a batch of 0, expected 1 or more
// NONE: has no batch: expected data, which nothing is differentiated by

//--- weight.mlir
// A table with a row for each member of the batch is no batch.
// WEIGHT: argument #1, a 'tensor<2x8xf32>', has the size of the batch, 2, in one of its dimensions, but is differentiated by; expected the batch in arguments #0 and other data only
func.func @main(%x: tensor<2x8xf32>, %w: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %y = arith.addf %x, %w : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

//--- slice.mlir
// SLICE: 'tensor.extract_slice' op takes a part of the batch, cannot resize it
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<1x8xf32> {
  %first = tensor.extract_slice %x[0, 0] [1, 8] [1, 1]
      : tensor<2x8xf32> to tensor<1x8xf32>
  return %first : tensor<1x8xf32>
}

//--- gradients.mlir
// Of a convolution's gradients, that by the input has the batch, and that by the
// filter adds it up.
// GRADIENTS: func.func @main(%{{.*}}: tensor<6x3x8x8xf32>, %{{.*}}: tensor<4x3x3x3xf32>, %{{.*}}: tensor<6x4x8x8xf32>) -> (tensor<6x3x8x8xf32>, tensor<4x3x3x3xf32>)
// GRADIENTS: remat.conv input_grad{{.*}} : (tensor<6x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<6x3x8x8xf32>
// GRADIENTS: remat.conv filter_grad{{.*}} : (tensor<6x3x8x8xf32>, tensor<6x4x8x8xf32>) -> tensor<4x3x3x3xf32>
func.func @main(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>,
    %dy: tensor<2x4x8x8xf32>)
    -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) {
  %dx = remat.conv input_grad(%dy, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64,
      input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  %dw = remat.conv filter_grad(%x, %dy) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64,
      input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<2x3x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4x3x3x3xf32>
  return %dx, %dw : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>
}
