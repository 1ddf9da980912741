// Contractions that are added up become one of concatenated factors, where these are small beside the result.

// RUN: remat-opt %s -split-input-file --remat-merge-contractions | FileCheck %s

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// The gradient of a weight that four steps read, one of them with more rows, and a gradient of another kind.
// CHECK-LABEL: func @steps(
// CHECK-SAME: %[[A0:.*]]: tensor<2x64xf32>, %[[A1:.*]]: tensor<2x64xf32>, %[[A2:.*]]: tensor<3x64xf32>, %[[A3:.*]]: tensor<2x64xf32>, %[[B:.*]]: tensor<2x32xf32>, %[[B2:.*]]: tensor<3x32xf32>, %[[R:.*]]: tensor<64x32xf32>)
// CHECK: %[[A:.*]] = tensor.concat dim(0) %[[A0]], %[[A1]], %[[A2]], %[[A3]] {remat.backward} {{.*}} -> tensor<9x64xf32>
// CHECK: %[[BB:.*]] = tensor.concat dim(0) %[[B]], %[[B]], %[[B2]], %[[B]] {remat.backward} {{.*}} -> tensor<9x32xf32>
// CHECK: %[[P:.*]] = linalg.contract {{.*}} {remat.backward} ins(%[[A]], %[[BB]]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[P]] : {{.*}}) {{.*}}{remat.backward}
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[Z:.*]] = arith.addf %[[X]], %[[Y]]
// CHECK-NEXT: linalg.yield %[[Z]]
// CHECK-NOT: linalg.contract
// CHECK: return %[[S]]
func.func @steps(%a0: tensor<2x64xf32>, %a1: tensor<2x64xf32>, %a2: tensor<3x64xf32>, %a3: tensor<2x64xf32>,
    %b: tensor<2x32xf32>, %b2: tensor<3x32xf32>, %r: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.contract indexing_maps = [#a, #b, #c] {remat.backward} ins(%a0, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] {remat.backward} ins(%a1, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %r, %1 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %z: f32, %o: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.addf %v, %z : f32
    linalg.yield %w : f32
  } -> tensor<64x32xf32>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] {remat.backward} ins(%a2, %b2 : tensor<3x64xf32>, tensor<3x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = linalg.contract indexing_maps = [#a, #b, #c] {remat.backward} ins(%a3, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %2, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) attrs = {remat.backward} {
  ^bb0(%x: f32, %y: f32, %z: f32, %o: f32):
    %v = arith.addf %z, %y : f32
    %w = arith.addf %x, %v : f32
    linalg.yield %w : f32
  } -> tensor<64x32xf32>
  return %t : tensor<64x32xf32>
}

// Three are too few, and four of a batch that is done in parts stay apart.
// CHECK-LABEL: func @few(
// CHECK-COUNT-3: linalg.contract
// CHECK-NOT: tensor.concat
func.func @few(%a: tensor<2x64xf32>, %b: tensor<2x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1, %2 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %o: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.addf %v, %z : f32
    linalg.yield %w : f32
  } -> tensor<64x32xf32>
  return %s : tensor<64x32xf32>
}

// CHECK-LABEL: func @parts(
// CHECK-COUNT-4: linalg.contract
// CHECK-NOT: tensor.concat
func.func @parts(%a: tensor<2x64xf32>, %b: tensor<2x32xf32>) -> tensor<64x32xf32> attributes {remat.batch_parts = 4 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1, %2, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %u: f32, %o: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.addf %v, %z : f32
    %t = arith.addf %w, %u : f32
    linalg.yield %t : f32
  } -> tensor<64x32xf32>
  return %s : tensor<64x32xf32>
}

// -----

// Factors as large as the result would take more memory.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @large(
// CHECK-COUNT-4: linalg.contract
// CHECK-NOT: tensor.concat
func.func @large(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %e = tensor.empty() : tensor<32x32xf32>
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
  %3 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1, %2, %3 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %u: f32, %o: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.addf %v, %z : f32
    %t = arith.addf %w, %u : f32
    linalg.yield %t : f32
  } -> tensor<32x32xf32>
  return %s : tensor<32x32xf32>
}

// -----

// One operation adds up more terms than lists have room for in place.
#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @terms(
// CHECK-SAME: %[[A:.*]]: tensor<2x64xf32>, %[[B:.*]]: tensor<2x32xf32>, %[[X:.*]]: tensor<64x32xf32>, %[[Y:.*]]: tensor<64x32xf32>, %[[Z:.*]]: tensor<64x32xf32>)
// CHECK: %[[XY:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] :
// CHECK: %[[XYZ:.*]] = linalg.generic {{.*}} ins(%[[XY]], %[[Z]] :
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<8x32xf32>)
// CHECK-NOT: linalg.contract
// CHECK: linalg.generic {{.*}} ins(%[[XYZ]], %[[P]] :
func.func @terms(%a: tensor<2x64xf32>, %b: tensor<2x32xf32>, %x: tensor<64x32xf32>, %y: tensor<64x32xf32>, %z: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1, %2, %3, %x, %y, %z : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
      outs(%e : tensor<64x32xf32>) {
  ^bb0(%t0: f32, %t1: f32, %t2: f32, %t3: f32, %t4: f32, %t5: f32, %t6: f32, %o: f32):
    %s1 = arith.addf %t0, %t1 : f32
    %s2 = arith.addf %s1, %t2 : f32
    %s3 = arith.addf %s2, %t3 : f32
    %s4 = arith.addf %s3, %t4 : f32
    %s5 = arith.addf %s4, %t5 : f32
    %s6 = arith.addf %s5, %t6 : f32
    linalg.yield %s6 : f32
  } -> tensor<64x32xf32>
  return %s : tensor<64x32xf32>
}

// -----

// In a loop, of factors that are an argument which gives its buffer away behind it.
#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @donated(
// CHECK: scf.for
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<8x32xf32>)
// CHECK-NOT: linalg.contract
func.func @donated(%a: tensor<2x64xf32> {remat.donated = 1 : i64}, %b: tensor<2x32xf32>, %n: index) -> (tensor<64x32xf32>, tensor<2x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> tensor<64x32xf32> {
    %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
    %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
    %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
    %3 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xf32>, tensor<2x32xf32>) outs(%zero : tensor<64x32xf32>) -> tensor<64x32xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%before, %0, %1, %2, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
    ^bb0(%p: f32, %x: f32, %y: f32, %z: f32, %u: f32, %o: f32):
      %q = arith.addf %p, %x : f32
      %v = arith.addf %q, %y : f32
      %w = arith.addf %v, %z : f32
      %t = arith.addf %w, %u : f32
      linalg.yield %t : f32
    } -> tensor<64x32xf32>
    scf.yield %s : tensor<64x32xf32>
  }
  %next = math.tanh %a : tensor<2x64xf32>
  return %r, %next : tensor<64x32xf32>, tensor<2x64xf32>
}

// -----

// Sums of bf16 as frameworks make them, in f32 and rounded each time: the products are rounded once, together.
#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @rounded(
// CHECK-SAME: %[[A:.*]]: tensor<2x64xbf16>, %[[B:.*]]: tensor<2x32xbf16>, %[[R:.*]]: tensor<64x32xbf16>)
// CHECK: tensor.concat dim(0) %[[A]], %[[A]], %[[A]], %[[A]]
// CHECK: tensor.concat dim(0) %[[B]], %[[B]], %[[B]], %[[B]]
// CHECK: %[[P:.*]] = linalg.contract
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[P]] :
// CHECK-NEXT: ^bb0(%[[X:.*]]: bf16, %[[Y:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: %[[U:.*]] = arith.extf %[[X]]
// CHECK-NEXT: %[[V:.*]] = arith.extf %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = arith.addf %[[U]], %[[V]] : f32
// CHECK-NEXT: %[[T:.*]] = arith.truncf %[[Z]]
// CHECK-NEXT: linalg.yield %[[T]]
// CHECK-NOT: linalg.contract
// CHECK: return %[[S]]
func.func @rounded(%a: tensor<2x64xbf16>, %b: tensor<2x32xbf16>, %r: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  %e = tensor.empty() : tensor<64x32xbf16>
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xbf16>, tensor<2x32xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xbf16>, tensor<2x32xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xbf16>, tensor<2x32xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %3 = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x64xbf16>, tensor<2x32xbf16>) outs(%zero : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1, %r, %2, %3 : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) outs(%e : tensor<64x32xbf16>) {
  ^bb0(%x0: bf16, %x1: bf16, %x2: bf16, %x3: bf16, %x4: bf16, %o: bf16):
    %f0 = arith.extf %x0 : bf16 to f32
    %f1 = arith.extf %x1 : bf16 to f32
    %g1 = arith.addf %f0, %f1 : f32
    %t1 = arith.truncf %g1 : f32 to bf16
    %w1 = arith.extf %t1 : bf16 to f32
    %f2 = arith.extf %x2 : bf16 to f32
    %g2 = arith.addf %w1, %f2 : f32
    %t2 = arith.truncf %g2 : f32 to bf16
    %w2 = arith.extf %t2 : bf16 to f32
    %f3 = arith.extf %x3 : bf16 to f32
    %g3 = arith.addf %w2, %f3 : f32
    %t3 = arith.truncf %g3 : f32 to bf16
    %w3 = arith.extf %t3 : bf16 to f32
    %f4 = arith.extf %x4 : bf16 to f32
    %g4 = arith.addf %w3, %f4 : f32
    %t4 = arith.truncf %g4 : f32 to bf16
    linalg.yield %t4 : bf16
  } -> tensor<64x32xbf16>
  return %s : tensor<64x32xbf16>
}
