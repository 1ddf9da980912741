// Tensors that are too large for a buffer are refused before anything is
// computed of their sizes, also if no buffer holds them.
// RUN: split-file %s %t
// RUN: not remat-opt %t/codec.mlir --remat-import-pipeline 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not remat-opt %t/plain.mlir --remat-joint-pipeline=cotangents 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not remat-opt %t/plain.mlir --remat-pipeline=cotangents 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not remat-compile %t/plain.mlir -o %t/step.o 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not remat-opt %t/slice.mlir --remat-import-pipeline 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not remat-opt %t/window.mlir --remat-import-pipeline 2>&1 | FileCheck %s --check-prefix=WINDOW
// RUN: not remat-opt %t/sort.mlir --remat-import-pipeline 2>&1 | FileCheck %s --check-prefix=SORT

// SCOPE: codec.mlir:2:8: error: 'remat.scope' op has a codec for a value of type 'tensor<9223372036854775807xf32>', expected at most 281474976710656 bytes
// PLAIN: plain.mlir:1:1: error: 'func.func' op has a value of type 'tensor<9223372036854775807xf32>', expected at most 281474976710656 bytes
// SLICE: slice.mlir:2:8: error: 'stablehlo.broadcast_in_dim' op has a value of type 'tensor<4294967296x4294967296xf32>'
// WINDOW: window.mlir:2:8: error: 'arith.constant' op has a value of type 'tensor<4398046511105x4398046511105xf32>'
// SORT: sort.mlir:1:1: error: 'func.func' op has a value of type 'tensor<9223372036854775807xf32>'

//--- codec.mlir
func.func @main(%x: tensor<9223372036854775807xf32>) -> tensor<9223372036854775807xf32> {
  %y = remat.scope attributes {codec = "bf16"} {
    %z = remat.scope attributes {codec = "int8"} {
      %0 = math.sin %x : tensor<9223372036854775807xf32>
      remat.yield %0 : tensor<9223372036854775807xf32>
    } : tensor<9223372036854775807xf32>
    %1 = math.exp %z : tensor<9223372036854775807xf32>
    remat.yield %1 : tensor<9223372036854775807xf32>
  } : tensor<9223372036854775807xf32>
  return %y : tensor<9223372036854775807xf32>
}

//--- plain.mlir
func.func @main(%x: tensor<9223372036854775807xf32>) -> tensor<9223372036854775807xf32> {
  %0 = math.sin %x : tensor<9223372036854775807xf32>
  return %0 : tensor<9223372036854775807xf32>
}

//--- slice.mlir
func.func @main(%x: tensor<f32>) -> tensor<1x1xf32> {
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4294967296x4294967296xf32>
  %1 = "stablehlo.slice"(%0) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<4294967296x4294967296xf32>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

//--- window.mlir
func.func @main(%x: tensor<5x5xf32>, %z: tensor<f32>) -> tensor<5x5xf32> {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 1099511627776, 1099511627776>, window_strides = array<i64: 1099511627776, 1099511627776>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<5x5xf32>, tensor<f32>) -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32>
}

//--- sort.mlir
func.func @main(%x: tensor<9223372036854775807xf32>) -> tensor<9223372036854775807xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.sine"(%a) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.compare"(%s, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }) : (tensor<9223372036854775807xf32>) -> tensor<9223372036854775807xf32>
  return %0 : tensor<9223372036854775807xf32>
}
