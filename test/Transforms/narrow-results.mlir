// RUN: remat-opt %s --remat-fuse-elementwise | FileCheck %s --check-prefixes=CHECK,LATE
// RUN: remat-opt %s --remat-fuse-elementwise=keep-narrow | FileCheck %s --check-prefixes=CHECK,EARLY

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// A contraction with its bias, rounded and read twice: what is rounded is what its
// readers read, so that nobody keeps the contraction for them. The cast back joins
// its readers.
// CHECK-LABEL: @twice
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<16x8xf32>, tensor<8xf32>)
// CHECK: arith.truncf
// CHECK: linalg.generic {{.*}} ins(%[[N]] : tensor<16x8xbf16>)
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%[[N]] : tensor<16x8xbf16>)
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func @twice(%a: tensor<16x2xf32>, %b: tensor<2x8xf32>, %bias: tensor<8xf32>) -> (tensor<16x8xf32>, tensor<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %er = tensor.empty() : tensor<16xf32>
  %n = tensor.empty() : tensor<16x8xbf16>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %p = linalg.matmul ins(%a, %b : tensor<16x2xf32>, tensor<2x8xf32>) outs(%z : tensor<16x8xf32>) -> tensor<16x8xf32>
  %narrow = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<16x8xf32>, tensor<8xf32>) outs(%n : tensor<16x8xbf16>) {
  ^bb0(%x: f32, %y: f32, %o: bf16):
    %s = arith.addf %x, %y : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x8xbf16>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%narrow : tensor<16x8xbf16>) outs(%e : tensor<16x8xf32>) {
  ^bb0(%x: bf16, %o: f32):
    %t = arith.extf %x : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<16x8xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%wide : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = math.exp %x : f32
    linalg.yield %t : f32
  } -> tensor<16x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<16x8xf32>) outs(%zr : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  return %exp, %sum : tensor<16x8xf32>, tensor<16xf32>
}

// With one reader it is a part of that, unless more may come.
// CHECK-LABEL: @once
// LATE: linalg.generic
// LATE: arith.truncf
// LATE: math.exp
// LATE-NOT: linalg.generic
// EARLY: linalg.generic
// EARLY: arith.truncf
// EARLY: linalg.generic
// EARLY: math.exp
func.func @once(%a: tensor<16x2xf32>, %b: tensor<2x8xf32>) -> tensor<16x8xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %n = tensor.empty() : tensor<16x8xbf16>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %p = linalg.matmul ins(%a, %b : tensor<16x2xf32>, tensor<2x8xf32>) outs(%z : tensor<16x8xf32>) -> tensor<16x8xf32>
  %narrow = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<16x8xf32>) outs(%n : tensor<16x8xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x8xbf16>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%narrow : tensor<16x8xbf16>) outs(%n : tensor<16x8xbf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %t = math.exp %x : bf16
    linalg.yield %t : bf16
  } -> tensor<16x8xbf16>
  return %exp : tensor<16x8xbf16>
}
