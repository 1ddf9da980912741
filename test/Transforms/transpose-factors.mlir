// RUN: remat-opt %s --remat-transpose-factors | FileCheck %s

#rows = affine_map<(f, h, k, b, n) -> (b, n, f)>
#heads = affine_map<(f, h, k, b, n) -> (b, h, k, n)>
#between = affine_map<(f, h, k, b, n) -> (b, h, n, k)>
#apart = affine_map<(f, h, k, b, n) -> (b, f, n)>
#weight = affine_map<(f, h, k, b, n) -> (f, h, k)>

// The gradient of a weight that multiplies heads, which are in memory as
// attention has made them. What walks memory walks it in the copy, too.

// CHECK-LABEL: @innermost
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%arg1 {{.*}}outs({{.*}} : tensor<4x16x2x64xf32>)
// CHECK: linalg.contract {{.*}} ins(%arg0, %[[COPY]] : tensor<2x64x8xf32>, tensor<4x16x2x64xf32>)
func.func @innermost(%y: tensor<2x64x8xf32>, %o: tensor<2x4x16x64xf32>) -> tensor<8x4x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4x16xf32>
  %0 = linalg.contract indexing_maps = [#rows, #heads, #weight] ins(%y, %o : tensor<2x64x8xf32>, tensor<2x4x16x64xf32>) outs(%zero : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
  return %0 : tensor<8x4x16xf32>
}

// CHECK-LABEL: @outermost
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%arg1 {{.*}}outs({{.*}} : tensor<2x64x4x16xf32>)
// CHECK-SAME: remat.backward
// CHECK: linalg.contract {{.*}} ins(%arg0, %[[COPY]] : tensor<2x64x8xf32>, tensor<2x64x4x16xf32>)
func.func @outermost(%y: tensor<2x64x8xf32>, %o: tensor<2x4x64x16xf32>) -> tensor<8x4x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4x16xf32>
  %0 = linalg.contract indexing_maps = [#rows, #between, #weight] ins(%y, %o : tensor<2x64x8xf32>, tensor<2x4x64x16xf32>) outs(%zero : tensor<8x4x16xf32>) {remat.backward} -> tensor<8x4x16xf32>
  return %0 : tensor<8x4x16xf32>
}

// Both, where neither has one dimension to sum over.

// CHECK-LABEL: @both
// CHECK: %[[SMALL:.*]] = linalg.generic {{.*}} ins(%arg0 {{.*}}outs({{.*}} : tensor<8x2x64xf32>)
// CHECK: %[[LARGE:.*]] = linalg.generic {{.*}} ins(%arg1 {{.*}}outs({{.*}} : tensor<4x16x2x64xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[SMALL]], %[[LARGE]]
func.func @both(%y: tensor<2x8x64xf32>, %o: tensor<2x4x16x64xf32>) -> tensor<8x4x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4x16xf32>
  %0 = linalg.contract indexing_maps = [#apart, #heads, #weight] ins(%y, %o : tensor<2x8x64xf32>, tensor<2x4x16x64xf32>) outs(%zero : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
  return %0 : tensor<8x4x16xf32>
}

// Of two orders, the smaller factor gets that of the larger one.

#small = affine_map<(f, k, a, b) -> (b, a, f)>
#large = affine_map<(f, k, a, b) -> (a, b, k)>
#matrix = affine_map<(f, k, a, b) -> (f, k)>
// CHECK-LABEL: @orders
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%arg0 {{.*}}outs({{.*}} : tensor<32x16x8xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[COPY]], %arg1
func.func @orders(%x: tensor<16x32x8xf32>, %y: tensor<32x16x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = linalg.contract indexing_maps = [#small, #large, #matrix] ins(%x, %y : tensor<16x32x8xf32>, tensor<32x16x64xf32>) outs(%zero : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// Left alone: sums that follow each other, batches, and what is small.

// CHECK-LABEL: @left_alone
// CHECK-NOT: linalg.generic
// CHECK: return
#joined = affine_map<(f, k, a, b) -> (a, b, f)>
#x = affine_map<(c, i, j, a, b) -> (c, a, i, b)>
#y = affine_map<(c, i, j, a, b) -> (c, b, a, j)>
#z = affine_map<(c, i, j, a, b) -> (c, i, j)>
func.func @left_alone(%x: tensor<32x16x8xf32>, %y: tensor<32x16x64xf32>, %s: tensor<2x3x2xf32>, %t: tensor<3x2x2xf32>, %u: tensor<2x8x32x8xf32>, %v: tensor<2x8x8x32xf32>) -> (tensor<8x64xf32>, tensor<2x2xf32>, tensor<2x32x32xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = linalg.contract indexing_maps = [#joined, #large, #matrix] ins(%x, %y : tensor<32x16x8xf32>, tensor<32x16x64xf32>) outs(%zero : tensor<8x64xf32>) -> tensor<8x64xf32>
  %few = arith.constant dense<0.0> : tensor<2x2xf32>
  %1 = linalg.contract indexing_maps = [#small, #large, #matrix] ins(%s, %t : tensor<2x3x2xf32>, tensor<3x2x2xf32>) outs(%few : tensor<2x2xf32>) -> tensor<2x2xf32>
  %batch = arith.constant dense<0.0> : tensor<2x32x32xf32>
  %2 = linalg.contract indexing_maps = [#x, #y, #z] ins(%u, %v : tensor<2x8x32x8xf32>, tensor<2x8x8x32xf32>) outs(%batch : tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  return %0, %1, %2 : tensor<8x64xf32>, tensor<2x2xf32>, tensor<2x32x32xf32>
}
