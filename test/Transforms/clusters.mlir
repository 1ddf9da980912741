// RUN: remat-opt %s --remat-joint-pipeline="wrt=0,1 cotangents" --remat-tasks-pipeline | FileCheck %s

// A layer normalization is one kernel forward: means and deviations are kept,
// the centered values are in no buffer. Backward it is one for the gradient of
// the input, which is written row by row.

// CHECK-LABEL: remat.graph @main
// CHECK: %[[F:.*]]:3 = remat.task {{[0-9]+}} @mean_rstd_sub_mul_rows(%arg0, %arg1)
// CHECK-SAME: -> (tensor<32xf32>, tensor<32xf32>, tensor<32x64xf32>)
// CHECK-NEXT: remat.task {{[0-9]+}} @{{[a-z_]+}}(
// CHECK-SAME: -> tensor<64xf32>
// CHECK-NEXT: remat.task {{[0-9]+}} @{{[a-z_]+}}_rows(
// CHECK-SAME: -> tensor<32x64xf32>
// CHECK-NEXT: remat.return
// CHECK: func.func private @mean_rstd_sub_mul_rows
// CHECK: remat.rows = array<i64: 0>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<32x64xf32>, %g: tensor<64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<32xf32>
  %big = tensor.empty() : tensor<32x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<32x64xf32>) outs(%f : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %mean = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%s : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %n : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %c = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %mean : tensor<32x64xf32>, tensor<32xf32>) outs(%big : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<32x64xf32>
  %v = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<32x64xf32>) outs(%f : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.mulf %a, %a : f32
    %r = arith.addf %p, %o : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %d = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%v : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.divf %a, %n : f32
    %p = arith.addf %q, %eps : f32
    %r = math.rsqrt %p : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %d, %g : tensor<32x64xf32>, tensor<32xf32>, tensor<64xf32>) outs(%big : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %w: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.mulf %p, %w : f32
    linalg.yield %r : f32
  } -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}
