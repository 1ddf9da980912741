// RUN: remat-opt %s --remat-fuse-sibling-reductions --canonicalize --cse | FileCheck %s
// RUN: remat-opt %s --remat-fuse-sibling-reductions | remat-opt | FileCheck %s --check-prefix=ANY

#all = affine_map<(n, c, x) -> (n, c, x)>
#channel = affine_map<(n, c, x) -> (c)>
#vector = affine_map<(c) -> (c)>

// The sums of a batch normalization's backward pass: of the gradient, of its
// product with the centered input, and one that waits for the latter by a
// factor only. One operation reads both tensors once; the factor comes later.
// CHECK-LABEL: @batch_norm
// CHECK-SAME: %[[X:.*]]: tensor<4x8x64xf32>, %[[G:.*]]: tensor<4x8x64xf32>, %[[M:.*]]: tensor<8xf32>
// CHECK: %[[R:.*]]:3 = linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "reduction"]} ins(%[[G]], %[[X]], %[[M]] :
// CHECK: %[[CENTERED:.*]] = arith.subf
// CHECK-NOT: arith.subf
// CHECK: } -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[R]]#1 :
// CHECK: %[[LAST:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[R]]#2, %[[S]] :
// CHECK: ^bb0(%[[SUM:.*]]: f32, %[[FACTOR:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[P:.*]] = arith.mulf %[[SUM]], %[[FACTOR]]
// CHECK: %[[D:.*]] = arith.addf %[[P]], %[[P]]
// CHECK: arith.negf %[[D]]
// CHECK: return %[[R]]#0, %[[S]], %[[LAST]]
func.func @batch_norm(%x: tensor<4x8x64xf32>, %g: tensor<4x8x64xf32>, %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#all, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%g : tensor<4x8x64xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#all, #all, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%g, %x, %m : tensor<4x8x64xf32>, tensor<4x8x64xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %w: f32, %mean: f32, %o: f32):
    %d = arith.subf %w, %mean : f32
    %p = arith.mulf %v, %d : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %f = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %p = arith.mulf %v, %v : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#channel, #all, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%f, %x, %m : tensor<8xf32>, tensor<4x8x64xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%k: f32, %w: f32, %mean: f32, %o: f32):
    %d = arith.subf %w, %mean : f32
    %p = arith.mulf %k, %d : f32
    %t = arith.addf %p, %p : f32
    %n = arith.negf %t : f32
    %s = arith.addf %o, %n : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %a, %f, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Sums that differ by such factors only are one: of the gradient, with and
// without its scale, and of its product with the centered input, where factors
// stand between the two.
// CHECK-LABEL: @factors
// CHECK-SAME: %[[X:.*]]: tensor<4x8x64xf32>, %[[G:.*]]: tensor<4x8x64xf32>, %[[M:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<8xf32>, %[[R:.*]]: tensor<8xf32>
// CHECK: %[[SUMS:.*]]:2 = linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "reduction"]} ins(%[[G]], %[[X]], %[[M]] :
// CHECK-COUNT-1: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: } -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]]#0, %[[S]] :
// CHECK: arith.negf
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]]#1, %[[S]] :
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]]#1, %[[R]] :
// CHECK: arith.divf
// CHECK: return %[[SUMS]]#0
func.func @factors(%x: tensor<4x8x64xf32>, %g: tensor<4x8x64xf32>, %m: tensor<8xf32>, %scale: tensor<8xf32>, %deviation: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#all, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%g : tensor<4x8x64xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#all, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%g, %scale : tensor<4x8x64xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %k: f32, %o: f32):
    %p = arith.mulf %v, %k : f32
    %n = arith.negf %p : f32
    %s = arith.addf %o, %n : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#all, #all, #channel, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%g, %x, %m, %scale : tensor<4x8x64xf32>, tensor<4x8x64xf32>, tensor<8xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %w: f32, %mean: f32, %k: f32, %o: f32):
    %d = arith.subf %w, %mean : f32
    %p = arith.mulf %v, %k : f32
    %q = arith.mulf %p, %d : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %f = linalg.generic {indexing_maps = [#all, #all, #channel, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%g, %x, %m, %deviation : tensor<4x8x64xf32>, tensor<4x8x64xf32>, tensor<8xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %w: f32, %mean: f32, %k: f32, %o: f32):
    %d = arith.subf %w, %mean : f32
    %p = arith.divf %d, %k : f32
    %q = arith.mulf %p, %v : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %a, %b, %c, %f : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A variance waits for the mean, and not by a factor.
// CHECK-LABEL: @variance
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel", "reduction"]
func.func @variance(%x: tensor<4x8x64xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#all, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<4x8x64xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#all, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %a : tensor<4x8x64xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %mean: f32, %o: f32):
    %d = arith.subf %v, %mean : f32
    %p = arith.mulf %d, %d : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// Reductions along rows, of the two phases, or in other loops stay apart.
// CHECK-LABEL: @apart
// CHECK-COUNT-2: iterator_types = ["parallel", "reduction"]
// CHECK-COUNT-3: iterator_types = ["reduction", "parallel"]
func.func @apart(%x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.maximumf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%init : tensor<64xf32>) attrs = {remat.backward} {
  ^bb0(%v: f32, %o: f32):
    %s = arith.maximumf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.mulf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %u = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%d, %f : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %s = arith.addf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %a, %b, %c, %u : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// What one of them reads besides is small and made earlier; what is not small
// is waited for.
// CHECK-LABEL: @operands
// CHECK: %[[SMALL:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "reduction"]{{.*}} ins(%{{.*}}, %[[SMALL]] :
// CHECK: -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "reduction"]
// CHECK: -> tensor<8xf32>
// ANY-LABEL: @operands
func.func @operands(%x: tensor<4x8x64xf32>, %k: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#all, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<4x8x64xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %small = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%k : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %p = math.sqrt %v : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#all, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %small : tensor<4x8x64xf32>, tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %d = arith.subf %v, %w : f32
    %p = arith.mulf %d, %d : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %whole = tensor.empty() : tensor<4x8x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x8x64xf32>) outs(%whole : tensor<4x8x64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %p = math.exp %v : f32
    linalg.yield %p : f32
  } -> tensor<4x8x64xf32>
  %c = linalg.generic {indexing_maps = [#all, #all, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %y : tensor<4x8x64xf32>, tensor<4x8x64xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %p = arith.mulf %v, %w : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %a, %b, %c, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8x64xf32>
}

// What nothing uses is left to others. Reductions of unknown size stay alone.
// CHECK-LABEL: @unused
// CHECK-NEXT: return
// ANY-LABEL: @unused
func.func @unused(%x: tensor<512x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (c)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<512x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.addf %v, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (c)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<512x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.maximumf %v, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return
}

// CHECK-LABEL: @unknown_size
// CHECK: linalg.generic
// CHECK: linalg.generic
// ANY-LABEL: @unknown_size
func.func @unknown_size(%x: tensor<?x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (c)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.addf %v, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (c)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.maximumf %v, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// Inits of its own that a later reduction has move with it: they are as large as
// a result, and take no time.
// CHECK-LABEL: func @own_init(
// CHECK-COUNT-2: linalg.fill
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
// ANY-LABEL: func @own_init(
#in = affine_map<(i, k, j) -> (i, k, j)>
#out = affine_map<(i, k, j) -> (i, j)>
func.func @own_init(%x: tensor<7x7x2xf64>) -> (tensor<7x2xf64>, tensor<7x2xf64>) {
  %zero = arith.constant 0.0 : f64
  %low = arith.constant -1.0 : f64
  %e = tensor.empty() : tensor<7x2xf64>
  %f = linalg.fill ins(%low : f64) outs(%e : tensor<7x2xf64>) -> tensor<7x2xf64>
  %max = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<7x7x2xf64>) outs(%f : tensor<7x2xf64>) {
  ^bb0(%a: f64, %b: f64):
    %m = arith.maximumf %a, %b : f64
    linalg.yield %m : f64
  } -> tensor<7x2xf64>
  %g = linalg.fill ins(%zero : f64) outs(%e : tensor<7x2xf64>) -> tensor<7x2xf64>
  %sum = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<7x7x2xf64>) outs(%g : tensor<7x2xf64>) {
  ^bb0(%a: f64, %b: f64):
    %m = arith.addf %a, %b : f64
    linalg.yield %m : f64
  } -> tensor<7x2xf64>
  return %max, %sum : tensor<7x2xf64>, tensor<7x2xf64>
}
