// Orders become structured operations: keys above numbers, runs whose pairs are
// all compared, and merges of two runs.
// RUN: remat-opt %s --split-input-file --remat-import-orders -verify-diagnostics | FileCheck %s

// Three runs of 201 elements, two of which there are not, are merged to two and
// to one. Only 300 elements are asked for.
// CHECK-LABEL: @runs
// CHECK-NOT: remat.order
// CHECK: arith.extsi {{.*}} : i16 to i64
// CHECK: tensor.pad {{.*}} high[0, 2]
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: tensor.expand_shape {{.*}} : tensor<2x603xi64> into tensor<2x3x201xi64>
// CHECK: arith.cmpi slt
// CHECK: remat.scatter {{.*}} sizes = array<i64: 2, 3, 201>
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<2x2x300xi64>)
// CHECK: arith.minsi
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<2x1x300xi64>)
// CHECK: return {{.*}} : tensor<2x300xi64>
func.func @runs(%keys: tensor<2x601xi16>) -> tensor<2x300xi64> {
  %0 = remat.order %keys along 1 : tensor<2x601xi16> -> tensor<2x300xi64>
  return %0 : tensor<2x300xi64>
}

// -----

// Of runs, only the first ten elements are merged.
// CHECK-LABEL: @few
// CHECK: remat.scatter {{.*}} sizes = array<i64: 5, 60>
// CHECK: tensor.extract_slice {{.*}} : tensor<5x60xi64> to tensor<5x10xi64>
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<3x10xi64>)
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<2x10xi64>)
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<1x10xi64>)
func.func @few(%keys: tensor<300xi32>) -> tensor<10xi64> {
  %0 = remat.order %keys along 0 : tensor<300xi32> -> tensor<10xi64>
  return %0 : tensor<10xi64>
}

// -----

// One pass for the low 32 bits of the last key, one for its high bits, and one
// for the first key. The dimension that is sorted is not the last one.
// CHECK-LABEL: @passes
// CHECK-COUNT-3: remat.scatter {{.*}} sizes = array<i64: 4, 1, 8>
// CHECK-NOT: remat.scatter
// CHECK: return {{.*}} : tensor<2x4xi64>
func.func @passes(%first: tensor<8x4xi8>, %second: tensor<8x4xi64>) -> tensor<2x4xi64> {
  %0 = remat.order %first, %second along 0 : tensor<8x4xi8>, tensor<8x4xi64> -> tensor<2x4xi64>
  return %0 : tensor<2x4xi64>
}

// -----

// CHECK-LABEL: @trivial
// CHECK-NOT: remat.scatter
// CHECK: return
func.func @trivial(%one: tensor<4x1xi32>, %none: tensor<4x0xi32>, %keys: tensor<4x9xi32>)
    -> (tensor<4x1xi64>, tensor<4x0xi64>, tensor<4x0xi64>) {
  %0 = remat.order %one along 1 : tensor<4x1xi32> -> tensor<4x1xi64>
  %1 = remat.order %none along 1 : tensor<4x0xi32> -> tensor<4x0xi64>
  %2 = remat.order %keys along 1 : tensor<4x9xi32> -> tensor<4x0xi64>
  return %0, %1, %2 : tensor<4x1xi64>, tensor<4x0xi64>, tensor<4x0xi64>
}

// -----

func.func @dynamic(%keys: tensor<?xi32>) -> tensor<?xi64> {
  // expected-error @+1 {{has keys of type 'tensor<?xi32>', expected static shapes}}
  %0 = remat.order %keys along 0 : tensor<?xi32> -> tensor<?xi64>
  return %0 : tensor<?xi64>
}
