// The batch is followed from the arguments through all operations: into what
// is written, through reshapes that join it with other dimensions, and into
// constants. Equal constants of other readers keep their size.

// RUN: split-file %s %t
// RUN: remat-opt %t/good.mlir --remat-resize-batch="size=6 wrt=1" | FileCheck %s
// RUN: remat-opt %t/gradients.mlir --remat-resize-batch="size=6 wrt=1 arguments=0,2" | FileCheck %s --check-prefix=GRADIENTS
// RUN: remat-opt %t/windows.mlir --remat-resize-batch="size=6 wrt=1" | FileCheck %s --check-prefix=WINDOWS
// RUN: remat-opt %t/regions.mlir --remat-resize-batch="size=6 wrt=1" | FileCheck %s --check-prefix=REGIONS
// RUN: remat-opt %t/loop.mlir --remat-resize-batch="size=6 wrt=1" | FileCheck %s --check-prefix=LOOP
// RUN: remat-opt %t/unsaid.mlir --remat-resize-batch="size=6" | FileCheck %s --check-prefix=UNSAID
// RUN: not remat-opt %t/rows.mlir --remat-resize-batch="size=6 wrt=1" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not remat-opt %t/flat.mlir --remat-resize-batch="size=6 wrt=1" 2>&1 | FileCheck %s --check-prefix=FLAT
// RUN: not remat-opt %t/joined.mlir --remat-resize-batch="size=6 wrt=1" 2>&1 | FileCheck %s --check-prefix=JOINED
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
// NONE: has no batch: expected data, which the function is not differentiated with respect to, with

//--- weight.mlir
// A table with a row for each member of the batch is no batch.
// WEIGHT: argument #1, a 'tensor<2x8xf32>', has the size of the batch, 2, in one of its dimensions, but the function is differentiated with respect to it; expected the batch in arguments #0 and other data only
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

//--- windows.mlir
// The derivative of a maximum over windows adds up where the maximum was, and
// what reads elements by themselves reads those of its own row.
// WINDOWS: func.func @main(%{{.*}}: tensor<6x3x4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<6x3x4xi64>) -> (tensor<6x3x8xf32>, tensor<6xf32>)
// WINDOWS: remat.scatter {{.*}}sizes = array<i64: 6, 3, 4>
// WINDOWS-SAME: outs(%{{.*}} : tensor<6x3x8xf32>)
// WINDOWS: linalg.generic {{.*}} outs(%{{.*}} : tensor<6xf32>)
func.func @main(%dy: tensor<2x3x4xf32>, %w: tensor<4xf32>,
    %at: tensor<2x3x4xi64>) -> (tensor<2x3x8xf32>, tensor<2xf32>) {
  %zero = arith.constant dense<0.0> : tensor<2x3x8xf32>
  %dx = remat.scatter {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], sizes = array<i64: 2, 3, 4>}
      ins(%at, %dy : tensor<2x3x4xi64>, tensor<2x3x4xf32>) outs(%zero : tensor<2x3x8xf32>) {
  ^bb0(%p0: index, %p1: index, %p2: index, %i: i64, %v: f32):
    %place = arith.index_cast %i : i64 to index
    remat.yield %p0, %p1, %place, %v : index, index, index, f32
  } -> tensor<2x3x8xf32>
  %empty = tensor.empty() : tensor<2xf32>
  %firsts = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<2xf32>) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %row = linalg.index 0 : index
    %first = tensor.extract %dy[%row, %c0, %c0] : tensor<2x3x4xf32>
    linalg.yield %first : f32
  } -> tensor<2xf32>
  return %dx, %firsts : tensor<2x3x8xf32>, tensor<2xf32>
}

//--- regions.mlir
// REGIONS: remat.checkpoint
// REGIONS: math.exp %{{.*}} : tensor<6x8xf32>
// REGIONS: tensor.concat dim(1) {{.*}} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x16xf32>
// REGIONS: tensor.insert_slice %{{.*}} into %{{.*}}[0, 4] [6, 8] [1, 1] : tensor<6x8xf32> into tensor<6x16xf32>
// REGIONS: } : tensor<6x16xf32>
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<2x16xf32> {
  %y = remat.checkpoint {
    %e = math.exp %x : tensor<2x8xf32>
    %both = tensor.concat dim(1) %x, %e : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x16xf32>
    %set = tensor.insert_slice %e into %both[0, 4] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<2x16xf32>
    remat.yield %set : tensor<2x16xf32>
  } : tensor<2x16xf32>
  return %y : tensor<2x16xf32>
}

//--- loop.mlir
// Into the body of a loop, and out again.
// LOOP: func.func private @cell(%{{.*}}: tensor<6x8xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>)
// LOOP: linalg.generic {{.*}} outs(%{{.*}} : tensor<6x8xf32>)
// LOOP: func.func @main(%{{.*}}: tensor<6x8xf32>, %{{.*}}: tensor<8xf32>) -> (tensor<6x8xf32>, tensor<5x6x8xf32>)
// LOOP: remat.loop @cell count 5 {{.*}} : (tensor<6x8xf32>, tensor<8xf32>, tensor<5x6x8xf32>) -> (tensor<6x8xf32>, tensor<5x6x8xf32>)
func.func private @cell(%h: tensor<2x8xf32>, %w: tensor<8xf32>, %x: tensor<2x8xf32>)
    -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %sum = arith.addf %h, %x : tensor<2x8xf32>
  %empty = tensor.empty() : tensor<2x8xf32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %w : tensor<2x8xf32>, tensor<8xf32>) outs(%empty : tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %product = arith.mulf %a, %b : f32
    linalg.yield %product : f32
  } -> tensor<2x8xf32>
  return %scaled, %sum : tensor<2x8xf32>, tensor<2x8xf32>
}
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  %xs = arith.constant dense<1.0> : tensor<5x2x8xf32>
  %h, %sums = remat.loop @cell count 5 carried(%x) invariant(%w) sliced(%xs)
      : (tensor<2x8xf32>, tensor<8xf32>, tensor<5x2x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>)
  return %h, %sums : tensor<2x8xf32>, tensor<5x2x8xf32>
}

//--- rows.mlir
// ROWS: 'remat.loop' op has an iteration for each row of the batch, cannot resize it
func.func private @cell(%h: tensor<8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %sum = arith.addf %h, %x : tensor<8xf32>
  return %sum : tensor<8xf32>
}
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %h = remat.loop @cell count 2 carried(%w) invariant() sliced(%x)
      : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<8xf32>
  return %h : tensor<8xf32>
}

//--- flat.mlir
// FLAT: 'linalg.generic' op computes positions in the batch, cannot resize it
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<16xf32> {
  %empty = tensor.empty() : tensor<16xf32>
  %flat = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<16xf32>) {
  ^bb0(%out: f32):
    %c8 = arith.constant 8 : index
    %at = linalg.index 0 : index
    %row = arith.divui %at, %c8 : index
    %column = arith.remui %at, %c8 : index
    %element = tensor.extract %x[%row, %column] : tensor<2x8xf32>
    linalg.yield %element : f32
  } -> tensor<16xf32>
  return %flat : tensor<16xf32>
}

//--- joined.mlir
// JOINED: 'tensor.concat' op joins parts of the batch, cannot resize it
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %both = tensor.concat dim(0) %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return %both : tensor<4x8xf32>
}

//--- unsaid.mlir
// Nobody says what has a gradient: floats that meet the batch have it, too.
// UNSAID: func.func @main(%{{.*}}: tensor<6x8xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: tensor<6xi64>) -> tensor<6xf32>
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %labels: tensor<2xi64>)
    -> tensor<2xf32> {
  %empty = tensor.empty() : tensor<2xf32>
  %picked = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%labels : tensor<2xi64>) outs(%empty : tensor<2xf32>) {
  ^bb0(%label: i64, %out: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %label : i64 to index
    %element = tensor.extract %x[%row, %column] : tensor<2x8xf32>
    linalg.yield %element : f32
  } -> tensor<2xf32>
  return %picked : tensor<2xf32>
}
