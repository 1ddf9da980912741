// RUN: remat-opt %s --remat-annotate-costs=threads=1 | FileCheck %s --check-prefixes=ALL,IEEE
// RUN: remat-opt %s --remat-annotate-costs="threads=1 tf32" | FileCheck %s --check-prefixes=ALL,TF32
// RUN: sed 's/narrow_[a-z]*_flops = [0-9]*, //g; s/tile_flops = [0-9]*, //' %s | remat-opt --remat-annotate-costs=threads=1 | FileCheck %s --check-prefix=SAME

// Contractions have speeds of their own by who multiplies, the library or a
// kernel in the midst of other work, and by the type of the factors. The
// products have 2 * 128^3 flops, at 100 or 1000 per nanosecond by the library.
// In tiles, it is 10 or, if one factor is narrow, 50; 3 * 128^2 flops more are
// at 50. With tf32, f32 is half as fast as f16 and bf16. Rows of 127 bf16 begin
// anywhere, which takes four times as long. Memory is never in the way.
// IEEE: @wide({{.*}}) cost 41943
// TF32: @wide({{.*}}) cost 8389
// ALL:  @narrow({{.*}}) cost 4194
// ALL:  @wide_tile({{.*}}) cost 420413
// ALL:  @narrow_tile({{.*}}) cost 84869
// ALL:  @odd({{.*}}) cost 16646

// Without these facts, all of them are as fast as wide ones by the library.
// SAME: @wide({{.*}}) cost 41943
// SAME: @narrow({{.*}}) cost 41943
// SAME: @wide_tile({{.*}}) cost 42926
// SAME: @narrow_tile({{.*}}) cost 42926
// SAME: @odd({{.*}}) cost 41615

#id = affine_map<(i, j) -> (i, j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
module attributes {remat.target = #remat.target<"cpu", threads = 1, contraction_flops = 100000000000, narrow_contraction_flops = 1000000000000, tile_flops = 10000000000, narrow_tile_flops = 50000000000, loop_flops = 50000000000, bandwidth = 1000000000000000, launch_ns = 0>} {
func.func private @wide(%x: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<128x128xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %r = linalg.matmul ins(%x, %x : tensor<128x128xf32>, tensor<128x128xf32>) outs(%f : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
func.func private @narrow(%x: tensor<128x128xbf16>) -> tensor<128x128xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<128x128xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %r = linalg.matmul ins(%x, %x : tensor<128x128xbf16>, tensor<128x128xbf16>) outs(%f : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
func.func private @odd(%x: tensor<128x127xbf16>, %y: tensor<127x128xbf16>) -> tensor<128x128xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<128x128xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %r = linalg.matmul ins(%x, %y : tensor<128x127xbf16>, tensor<127x128xbf16>) outs(%f : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
func.func private @wide_tile(%x: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<128x128xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<128x128xf32>, tensor<128x128xf32>) outs(%f : tensor<128x128xf32>) attrs = {remat.rows = array<i64: 0>, remat.block = 64 : i64} {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<128x128xf32>
  %g = tensor.empty() : tensor<128x128xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<128x128xf32>) outs(%g : tensor<128x128xf32>) attrs = {remat.rows = array<i64: 0>, remat.block = 64 : i64} {
  ^bb0(%u: f32, %o: f32):
    %s = arith.mulf %u, %u : f32
    %t = arith.mulf %s, %u : f32
    %q = arith.addf %t, %u : f32
    linalg.yield %q : f32
  } -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
func.func private @narrow_tile(%x: tensor<128x128xbf16>, %w: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<128x128xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %x : tensor<128x128xf32>, tensor<128x128xbf16>) outs(%f : tensor<128x128xf32>) attrs = {remat.rows = array<i64: 0>, remat.block = 64 : i64} {
  ^bb0(%u: f32, %v: bf16, %o: f32):
    %y = arith.extf %v : bf16 to f32
    %m = arith.mulf %u, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<128x128xf32>
  %g = tensor.empty() : tensor<128x128xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<128x128xf32>) outs(%g : tensor<128x128xf32>) attrs = {remat.rows = array<i64: 0>, remat.block = 64 : i64} {
  ^bb0(%u: f32, %o: f32):
    %s = arith.mulf %u, %u : f32
    %t = arith.mulf %s, %u : f32
    %q = arith.addf %t, %u : f32
    linalg.yield %q : f32
  } -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
remat.graph @main(%x: tensor<128x128xf32>, %n: tensor<128x128xbf16>, %p: tensor<128x127xbf16>, %q: tensor<127x128xbf16>)
    -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) {
  %0 = remat.task 0 @wide(%x) : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %1 = remat.task 1 @narrow(%n) : (tensor<128x128xbf16>) -> tensor<128x128xf32>
  %2 = remat.task 2 @wide_tile(%x) : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %3 = remat.task 3 @narrow_tile(%n, %x) : (tensor<128x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = remat.task 4 @odd(%p, %q) : (tensor<128x127xbf16>, tensor<127x128xbf16>) -> tensor<128x128xf32>
  remat.return %0, %1, %2, %3, %4 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
}
}
