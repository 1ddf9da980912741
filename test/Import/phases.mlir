// RUN: remat-opt %s -split-input-file --remat-import-pipeline | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-import-pipeline --mlir-print-debuginfo | FileCheck %s --check-prefix=PLACES

// What import makes of operations of the backward phase is of that phase,
// whatever rewrites them, and what it makes of others is not. Equal operations
// of both are one of the first.

// CHECK-LABEL: func.func @main
// CHECK: linalg.contract indexing_maps = [{{[^]]*}}] ins(%arg0, %arg1
// CHECK: linalg.generic {{.*}} outs(%{{[0-9]+}} : tensor<4x4xf32>) {
// CHECK: math.tanh
// CHECK: linalg.contract {{.*}} {remat.backward} ins(%{{[0-9]+}}, %arg1
// CHECK: linalg.generic {{.*}} attrs = {remat.backward} {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.exp %{{[a-z0-9_]+}} : f32
// CHECK: tensor.concat dim(0) {{.*}} {remat.backward}
// CHECK: linalg.generic {{.*}} ins(%arg3 : tensor<f32>) {{.*}} attrs = {remat.backward} {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
// CHECK: linalg.generic {{.*}} outs(%{{[0-9]+}} : tensor<6x6xf32>) attrs = {remat.backward} {
// CHECK: linalg.generic {{.*}} ins(%arg4 : tensor<i64>) {{.*}} attrs = {remat.backward} {
// CHECK: remat.conv forward(%arg5, %arg6) {{.*}}remat.backward
// CHECK: linalg.generic {{.*}} attrs = {remat.backward} {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sin
// CHECK: tensor.collapse_shape %arg7 {{\[\[0, 1\]\]}} {remat.backward}
// CHECK-NEXT: linalg.generic {{.*}} attrs = {remat.backward} {
// CHECK: linalg.generic {{.*}} attrs = {remat.backward} {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.log

// TOSA too.
// CHECK-LABEL: func.func @tosa
// CHECK: linalg.generic
// CHECK-NOT: remat.backward
// CHECK: math.tanh
// CHECK: linalg.generic {{.*}} attrs = {remat.backward} {
// CHECK: math.exp

// Locations are what they were.
// PLACES-NOT: loc("remat.backward"

#back = loc("remat:phase=backward"("model.py":2:0))
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %i: tensor<6xf32>, %s: tensor<f32>, %n: tensor<i64>, %img: tensor<1x2x5x5xf32>, %k: tensor<2x2x3x3xf32>, %u: tensor<1x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<6x6xf32>, tensor<4xf32>, tensor<1x2x3x3xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4x4xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  // Equal in both phases.
  %t1 = linalg.transpose ins(%w : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  %t2 = linalg.transpose ins(%w : tensor<4x4xf32>) outs(%e2 : tensor<4x4xf32>) permutation = [1, 0] {remat.backward}
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m1 = linalg.matmul ins(%x, %t1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a1 = math.tanh %m1 : tensor<4x4xf32>
  %m2 = linalg.matmul {remat.backward} ins(%a1, %t2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a2 = math.exp %m2 {remat.backward} : tensor<4x4xf32>
  %cat = tensor.concat dim(0) %a1, %a2 {remat.backward} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // A scalar.
  %sv = tensor.extract %s[] {remat.backward} : tensor<f32>
  %sq = arith.mulf %sv, %sv {remat.backward} : f32
  %ee = tensor.empty() : tensor<6x6xf32>
  %fill = linalg.fill {remat.backward} ins(%sq : f32) outs(%ee : tensor<6x6xf32>) -> tensor<6x6xf32>
  // A slice at a computed place.
  %nv = tensor.extract %n[] : tensor<i64>
  %ni = arith.index_cast %nv : i64 to index
  %sl = tensor.extract_slice %i[%ni] [4] [1] {remat.backward} : tensor<6xf32> to tensor<4xf32>
  // A convolution.
  %ec = tensor.empty() : tensor<1x2x3x3xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%ec : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %conv = linalg.conv_2d_nchw_fchw {remat.backward, dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%img, %k : tensor<1x2x5x5xf32>, tensor<2x2x3x3xf32>) outs(%fc : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  // A loop.
  %loop = scf.for %it = %c0 to %c3 step %c1 iter_args(%acc = %a2) -> tensor<4x4xf32> {
    %next = math.sin %acc {remat.backward} : tensor<4x4xf32>
    scf.yield %next : tensor<4x4xf32>
  }
  // Unit dimensions.
  %eu = tensor.empty() : tensor<1x4xf32>
  %ue = linalg.exp {remat.backward} ins(%u : tensor<1x4xf32>) outs(%eu : tensor<1x4xf32>) -> tensor<1x4xf32>
  %uc = tensor.collapse_shape %ue [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
  // By the location.
  %ll = math.log %a1 : tensor<4x4xf32> loc(#back)
  return %m1, %m2, %a2, %cat, %fill, %sl, %conv, %loop, %uc, %ll : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<6x6xf32>, tensor<4xf32>, tensor<1x2x3x3xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// -----

func.func @tosa(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tosa.tanh %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tosa.exp %x {remat.backward} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
