// RUN: remat-opt %s --remat-plan --remat-assign-buffers --remat-place -split-input-file -verify-diagnostics | FileCheck %s

#id = affine_map<(d0) -> (d0)>

func.func private @exp(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @sum(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// Each task overwrites what only it reads; the first has only an argument, the
// third an operand that is read again.
// CHECK-LABEL: remat.graph @step
// CHECK-SAME: arena_bytes = 256
remat.graph @step(%x: tensor<32xf32>) -> tensor<1xf32> {
  // CHECK: remat.task 0 @exp(%{{.*}}) at [arena
  %0 = remat.task 0 @exp(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 1 @exp(%{{.*}}) at [operand 0]
  %1 = remat.task 1 @exp(%0) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 2 @exp(%{{.*}}) at [arena
  %2 = remat.task 2 @exp(%1) : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @sum(%1, %2) : (tensor<32xf32>, tensor<32xf32>) -> tensor<1xf32>
  remat.return %3 : tensor<1xf32>
}

// -----

// Of two results only the one that is made of the operand may be written over
// it: the other's loads of the operand may come after the stores of the first.

#id = affine_map<(d0) -> (d0)>

func.func private @exp(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @two(%a: tensor<32xf32>, %x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]} ins(%a, %x : tensor<32xf32>, tensor<32xf32>) outs(%e, %e : tensor<32xf32>, tensor<32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32, %p: f32):
    %r = math.exp %j : f32
    %s = math.sin %i : f32
    linalg.yield %r, %s : f32, f32
  } -> (tensor<32xf32>, tensor<32xf32>)
  return %0#0, %0#1 : tensor<32xf32>, tensor<32xf32>
}
func.func private @sum(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// CHECK-LABEL: remat.graph @step
remat.graph @step(%x: tensor<32xf32>) -> tensor<1xf32> {
  %0 = remat.task 0 @exp(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 1 @two(%{{.*}}) at [arena {{[0-9]+}}, operand 0]
  %1:2 = remat.task 1 @two(%0, %x) : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
  %2 = remat.task 2 @sum(%1#0, %1#1) : (tensor<32xf32>, tensor<32xf32>) -> tensor<1xf32>
  remat.return %2 : tensor<1xf32>
}

// -----

// Nor may one be that is made of it or not, as the same condition says for all
// elements: where not, code may write all of the result before the other is read.

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

func.func private @make(%x: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @split(%a: tensor<32xf32>, %c: tensor<i1>) -> (tensor<32xf32>, tensor<32xf32>) attributes {remat.kernel} {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #all, #id, #id], iterator_types = ["parallel"]} ins(%a, %c : tensor<32xf32>, tensor<i1>) outs(%e, %e : tensor<32xf32>, tensor<32xf32>) {
  ^bb0(%i: f32, %s: i1, %o: f32, %p: f32):
    %r = arith.select %s, %i, %z : f32
    %t = arith.select %s, %z, %i : f32
    linalg.yield %r, %t : f32, f32
  } -> (tensor<32xf32>, tensor<32xf32>)
  return %0#0, %0#1 : tensor<32xf32>, tensor<32xf32>
}
func.func private @add(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// CHECK-LABEL: remat.graph @choice
remat.graph @choice(%x: tensor<32xf32>, %c: tensor<i1>) -> tensor<1xf32> {
  %0 = remat.task 0 @make(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 1 @split
  // CHECK-NOT: operand 0
  // CHECK: remat.task 2 @add
  %1:2 = remat.task 1 @split(%0, %c) : (tensor<32xf32>, tensor<i1>) -> (tensor<32xf32>, tensor<32xf32>)
  %2 = remat.task 2 @add(%1#0, %1#1) : (tensor<32xf32>, tensor<32xf32>) -> tensor<1xf32>
  remat.return %2 : tensor<1xf32>
}

// -----

// One may be where it is made of it whatever the condition says, also where it is
// the operand itself then, as a weight is that an optimizer leaves as it is. So
// may one that is not made of it where no other result is, as the first step of
// an optimizer begins with the weight what it updates later.

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

func.func private @make(%x: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.exp %i : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @update(%a: tensor<32xf32>, %b: tensor<32xf32>, %c: tensor<i1>) -> (tensor<32xf32>, tensor<32xf32>) attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #all, #id, #id], iterator_types = ["parallel"]} ins(%a, %b, %c : tensor<32xf32>, tensor<32xf32>, tensor<i1>) outs(%e, %e : tensor<32xf32>, tensor<32xf32>) {
  ^bb0(%i: f32, %j: f32, %s: i1, %o: f32, %p: f32):
    %r = arith.addf %i, %i : f32
    %u = arith.addf %j, %r : f32
    %v = arith.select %s, %r, %i : f32
    %w = arith.select %s, %u, %j : f32
    linalg.yield %v, %w : f32, f32
  } -> (tensor<32xf32>, tensor<32xf32>)
  return %0#0, %0#1 : tensor<32xf32>, tensor<32xf32>
}
func.func private @add(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
func.func private @begin(%a: tensor<32xf32>, %b: tensor<32xf32>, %c: tensor<i1>) -> (tensor<32xf32>, tensor<32xf32>) attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #all, #id, #id], iterator_types = ["parallel"]} ins(%a, %b, %c : tensor<32xf32>, tensor<32xf32>, tensor<i1>) outs(%e, %e : tensor<32xf32>, tensor<32xf32>) {
  ^bb0(%i: f32, %j: f32, %s: i1, %o: f32, %p: f32):
    %u = arith.select %s, %i, %j : f32
    %v = arith.addf %u, %u : f32
    %w = math.exp %v : f32
    linalg.yield %w, %v : f32, f32
  } -> (tensor<32xf32>, tensor<32xf32>)
  return %0#0, %0#1 : tensor<32xf32>, tensor<32xf32>
}
// CHECK-LABEL: remat.graph @chosen
remat.graph @chosen(%x: tensor<32xf32>, %c: tensor<i1>) -> tensor<1xf32> {
  %0 = remat.task 0 @make(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @make(%0) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 2 @update({{.*}}) at [operand 0, operand 1]
  %2:2 = remat.task 2 @update(%0, %1, %c) : (tensor<32xf32>, tensor<32xf32>, tensor<i1>) -> (tensor<32xf32>, tensor<32xf32>)
  // CHECK: remat.task 3 @begin({{.*}}) at [operand 0, operand 1]
  %3:2 = remat.task 3 @begin(%2#0, %2#1, %c) : (tensor<32xf32>, tensor<32xf32>, tensor<i1>) -> (tensor<32xf32>, tensor<32xf32>)
  %4 = remat.task 4 @add(%3#0, %3#1) : (tensor<32xf32>, tensor<32xf32>) -> tensor<1xf32>
  remat.return %4 : tensor<1xf32>
}

// -----

// A contraction is added to its init where that lies, and so is the next; what is
// returned then is in the caller's buffer from the beginning.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @start(%x: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32x32xf32>
  return %e : tensor<32x32xf32>
}
func.func private @add(%x: tensor<32x32xf32>, %s: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {remat.kernel} {
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %x : tensor<32x32xf32>, tensor<32x32xf32>) outs(%s : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}
func.func private @square(%s: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {remat.kernel} {
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%s, %s : tensor<32x32xf32>, tensor<32x32xf32>) outs(%s : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}
// CHECK-LABEL: remat.graph @sums
// CHECK-SAME: arena_bytes = 4096
remat.graph @sums(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK: remat.task 0 @start(%{{.*}}) at [arena
  %0 = remat.task 0 @start(%x) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  // Its factors are still read when the first sums are written.
  // CHECK: remat.task 1 @square(%{{.*}}) at [result 0]
  %1 = remat.task 1 @square(%0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  // CHECK: remat.task {{[23]}} @add(%{{.*}}) at [operand 1]
  %2 = remat.task 2 @add(%x, %1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  // CHECK: remat.task {{[23]}} @add(%{{.*}}) at [operand 1]
  %3 = remat.task 3 @add(%x, %2) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  remat.return %3 : tensor<32x32xf32>
}

// -----

// The first result is zero, whatever its element is made of by its text: code
// may write all of it before the second one has read the operand.
func.func private @conj(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e, %e : tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %c = complex.create %zero, %a : complex<f32>
    %d = complex.conj %c : complex<f32>
    %re = complex.re %d : complex<f32>
    %im = complex.im %d : complex<f32>
    linalg.yield %re, %im : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
}
func.func private @start(%x: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @end(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<1xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// CHECK-LABEL: remat.graph @parts
remat.graph @parts(%x: tensor<64xf32>) -> tensor<1xf32> {
  %0 = remat.task 0 @start(%x) : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: remat.task 1 @conj(%{{.*}}) at [arena {{[0-9]+}}, {{arena|operand}}
  %1:2 = remat.task 1 @conj(%0) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %2 = remat.task 2 @end(%1#0, %1#1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<1xf32>
  remat.return %2 : tensor<1xf32>
}

// -----

// What is only checked of an operand may be read after the write: the number of
// a place of which there is one says nothing more.

#id = affine_map<(d0) -> (d0)>

func.func private @make() -> tensor<32xi64> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<32xi64>
  return %0 : tensor<32xi64>
}
func.func private @gather(%a: tensor<32xi64>, %b: tensor<32x1xi64>) -> tensor<32xi64> attributes {remat.kernel} {
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<32xi64>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<32xi64>) outs(%e : tensor<32xi64>) {
  ^bb0(%i: i64, %o: i64):
    %row = linalg.index 0 : index
    %number = arith.index_cast %i : i64 to index
    %place = remat.check_index %number, %c1 : index
    %r = tensor.extract %b[%row, %place] : tensor<32x1xi64>
    linalg.yield %r : i64
  } -> tensor<32xi64>
  return %0 : tensor<32xi64>
}
// CHECK-LABEL: remat.graph @step
remat.graph @step(%x: tensor<32x1xi64>) -> tensor<32xi64> {
  %0 = remat.task 0 @make() : () -> tensor<32xi64>
  // CHECK: remat.task 1 @gather(%{{.*}}, %{{.*}}) at [result 0]
  %1 = remat.task 1 @gather(%0, %x) : (tensor<32xi64>, tensor<32x1xi64>) -> tensor<32xi64>
  remat.return %1 : tensor<32xi64>
}
