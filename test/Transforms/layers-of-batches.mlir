// RUN: remat-opt %s --split-input-file --remat-joint-pipeline="wrt=1,2 cotangents" --remat-tasks-pipeline | FileCheck %s

// Layers may have rows of several dimensions, as programs of JAX write them: all
// rows share one matrix. Each is one call of the library for all rows, forward
// and backward, and no kernel that works row by row has it or makes it again.

// CHECK-LABEL: remat.graph @main
// CHECK: remat.task {{[0-9]+}} @[[F:matmul[_0-9]*]](%arg0, %arg1)
// CHECK-NEXT: remat.task {{[0-9]+}} @tanh
// CHECK-NEXT: remat.task {{[0-9]+}} @[[S:matmul[_0-9]*]]
// CHECK-NOT: matmul{{.*}}rows
// CHECK-COUNT-3: @matmul{{[_0-9]*}}(
// CHECK-NOT: @matmul{{[_0-9]*}}(
// CHECK: remat.return
#x = affine_map<(b, s, f, k) -> (b, s, k)>
#w = affine_map<(b, s, f, k) -> (k, f)>
#y = affine_map<(b, s, f, k) -> (b, s, f)>
#id = affine_map<(b, s, f) -> (b, s, f)>
func.func @main(%x: tensor<2x64x16xf32>, %w: tensor<16x32xf32>, %v: tensor<32x16xf32>) -> tensor<2x64x16xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<2x64x32xf32>
  %narrow = tensor.empty() : tensor<2x64x16xf32>
  %wideZeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %narrowZeros = linalg.fill ins(%zero : f32) outs(%narrow : tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  %h = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<2x64x16xf32>, tensor<16x32xf32>) outs(%wideZeros : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h : tensor<2x64x32xf32>) outs(%wide : tensor<2x64x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  } -> tensor<2x64x32xf32>
  %r = linalg.contract indexing_maps = [#x, #w, #y] ins(%t, %v : tensor<2x64x32xf32>, tensor<32x16xf32>) outs(%narrowZeros : tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  return %r : tensor<2x64x16xf32>
}

// -----

// A batch of one is none, whatever wrote it: PyTorch's einsum has one in each
// contraction of two factors.

// CHECK-LABEL: remat.graph @main
// CHECK: remat.task {{[0-9]+}} @[[F:batch_matmul[_0-9]*]]({{.*}}arg0, %arg1)
// CHECK-NEXT: remat.task {{[0-9]+}} @tanh
// CHECK-NOT: matmul{{.*}}rows
// CHECK-COUNT-4: @batch_matmul{{[_0-9]*}}(
// CHECK-NOT: @batch_matmul{{[_0-9]*}}(
// CHECK: remat.return
#x = affine_map<(b, s, f, k) -> (b, s, k)>
#w = affine_map<(b, s, f, k) -> (b, k, f)>
#y = affine_map<(b, s, f, k) -> (b, s, f)>
#id = affine_map<(b, s, f) -> (b, s, f)>
func.func @main(%x: tensor<1x64x16xf32>, %w: tensor<1x16x32xf32>, %v: tensor<1x32x16xf32>) -> tensor<1x64x16xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<1x64x32xf32>
  %narrow = tensor.empty() : tensor<1x64x16xf32>
  %wideZeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  %narrowZeros = linalg.fill ins(%zero : f32) outs(%narrow : tensor<1x64x16xf32>) -> tensor<1x64x16xf32>
  %h = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<1x64x16xf32>, tensor<1x16x32xf32>) outs(%wideZeros : tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h : tensor<1x64x32xf32>) outs(%wide : tensor<1x64x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  } -> tensor<1x64x32xf32>
  %r = linalg.contract indexing_maps = [#x, #w, #y] ins(%t, %v : tensor<1x64x32xf32>, tensor<1x32x16xf32>) outs(%narrowZeros : tensor<1x64x16xf32>) -> tensor<1x64x16xf32>
  return %r : tensor<1x64x16xf32>
}
