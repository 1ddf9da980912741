// The product of scores in f32 and values that are widened from 16 bits: scores are rounded first where all that reads
// the product rounds it.

// RUN: remat-opt %s -split-input-file --remat-round-factors | FileCheck %s
// RUN: sed 's/epilogues = true/alignment = 64/' %s | remat-opt -split-input-file --remat-round-factors | FileCheck %s --check-prefix=OFF
// OFF-NOT: arith.truncf %{{.*}} : f32 to bf16
// OFF: linalg.contract
// OFF: linalg.contract

#all = affine_map<(h, i, j) -> (h, i, j)>
#s = affine_map<(h, i, j, k) -> (h, i, k)>
#v = affine_map<(h, i, j, k) -> (h, k, j)>
#o = affine_map<(h, i, j, k) -> (h, i, j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// Both products read the same rounded scores; one reader scales before it rounds.
// CHECK-LABEL: func.func @both(
// CHECK: %[[E:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<2x4x8xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[N:.*]] = arith.truncf %[[X]] : f32 to bf16
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
// CHECK-NEXT: linalg.yield %[[W]] : f32
// CHECK: linalg.contract {{.*}} ins(%[[R]], %{{.*}} : tensor<2x4x8xf32>, tensor<2x8x6xf32>)
// CHECK: linalg.contract {{.*}} ins(%[[R]], %{{.*}} : tensor<2x4x8xf32>, tensor<2x8x6xf32>)
func.func @both(%x: tensor<2x4x8xf32>, %v: tensor<2x8x6xbf16>, %u: tensor<2x8x6xbf16>) -> (tensor<2x4x6xbf16>, tensor<2x4x6xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<2x4x6xf32>
  %scale = arith.constant 0.5 : f32
  %es = tensor.empty() : tensor<2x4x8xf32>
  %ev = tensor.empty() : tensor<2x8x6xf32>
  %eo = tensor.empty() : tensor<2x4x6xbf16>
  %e = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x4x8xf32>) outs(%es : tensor<2x4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<2x4x8xf32>
  %w = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<2x8x6xbf16>) outs(%ev : tensor<2x8x6xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %r = arith.extf %a : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<2x8x6xf32>
  %w2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%u : tensor<2x8x6xbf16>) outs(%ev : tensor<2x8x6xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %r = arith.extf %a : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<2x8x6xf32>
  %p = linalg.contract indexing_maps = [#s, #v, #o] ins(%e, %w : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%zeros : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %q = linalg.contract indexing_maps = [#s, #v, #o] ins(%e, %w2 : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%zeros : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p : tensor<2x4x6xf32>) outs(%eo : tensor<2x4x6xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %m = arith.mulf %a, %scale : f32
    %r = arith.truncf %m : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<2x4x6xbf16>
  %z = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<2x4x6xf32>) outs(%eo : tensor<2x4x6xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<2x4x6xbf16>
  return %y, %z : tensor<2x4x6xbf16>, tensor<2x4x6xbf16>
}
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#s = affine_map<(h, i, j, k) -> (h, i, k)>
#v = affine_map<(h, i, j, k) -> (h, k, j)>
#o = affine_map<(h, i, j, k) -> (h, i, j)>
#ij = affine_map<(i, j) -> (i, j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// The result in f32, scores of the caller, a policy, and a product of a library: nothing is rounded.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: arith.extf %{{.*}} : bf16 to f32
// CHECK-COUNT-3: linalg.contract
// CHECK: return
func.func @none(%x: tensor<2x4x8xf32>, %v: tensor<2x8x6xbf16>) -> (tensor<2x4x6xf32>, tensor<2x4x6xbf16>, tensor<2x4x6xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<2x4x6xf32>
  %es = tensor.empty() : tensor<2x4x8xf32>
  %eo = tensor.empty() : tensor<2x4x6xbf16>
  %e = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x4x8xf32>) outs(%es : tensor<2x4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<2x4x8xf32>
  %p = linalg.contract indexing_maps = [#s, #v, #o] ins(%e, %v : tensor<2x4x8xf32>, tensor<2x8x6xbf16>) outs(%zeros : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %q = linalg.contract indexing_maps = [#s, #v, #o] ins(%x, %v : tensor<2x4x8xf32>, tensor<2x8x6xbf16>) outs(%zeros : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = linalg.contract indexing_maps = [#s, #v, #o] {remat.policy = #remat.policy<must_save>} ins(%e, %v : tensor<2x4x8xf32>, tensor<2x8x6xbf16>) outs(%zeros : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<2x4x6xf32>) outs(%eo : tensor<2x4x6xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %n = arith.truncf %a : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<2x4x6xbf16>
  %z = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<2x4x6xf32>) outs(%eo : tensor<2x4x6xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %n = arith.truncf %a : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<2x4x6xbf16>
  return %p, %y, %z : tensor<2x4x6xf32>, tensor<2x4x6xbf16>, tensor<2x4x6xbf16>
}

// CHECK-LABEL: func.func @matmul(
// CHECK-NOT: arith.extf
// CHECK: linalg.contract
func.func @matmul(%x: tensor<4x8xf32>, %w: tensor<8x6xbf16>) -> tensor<4x6xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<4x6xf32>
  %es = tensor.empty() : tensor<4x8xf32>
  %eo = tensor.empty() : tensor<4x6xbf16>
  %e = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%es : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%e, %w : tensor<4x8xf32>, tensor<8x6xbf16>) outs(%zeros : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x6xf32>) outs(%eo : tensor<4x6xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %n = arith.truncf %a : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<4x6xbf16>
  return %y : tensor<4x6xbf16>
}
}
