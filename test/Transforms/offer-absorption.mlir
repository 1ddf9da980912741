// A task whose kernel is one elementwise operation is offered kernels that make
// themselves what other such tasks make for it: one for each set of these.

// RUN: split-file %s %t
// RUN: remat-opt %t/graph.mlir --remat-offer-absorption --remat-annotate-costs=threads=1 | FileCheck %s
// RUN: sed -e 's/@exp(%%x) :/@exp(%%x) {policies = [#remat.policy<must_save>]} :/' %t/graph.mlir | remat-opt --remat-offer-absorption | FileCheck %s --check-prefix=SAVED --implicit-check-not='tasks = array<i64: 0'
// RUN: sed -e 's/@exp(%%x) :/@exp(%%x) pinned :/' %t/graph.mlir | remat-opt --remat-offer-absorption | FileCheck %s --check-prefix=SAVED --implicit-check-not='tasks = array<i64: 0'
// RUN: sed -e 's/64x32/16x32/g' %t/graph.mlir | remat-opt --remat-offer-absorption | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.absorptions
// RUN: remat-opt %t/sums.mlir --remat-offer-absorption | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.absorptions
// RUN: remat-opt %t/narrow.mlir --remat-offer-absorption | FileCheck %s --check-prefix=NARROW

// The difference reads the exponential, and a product that is made of that.
// Neither is read by nobody.
// CHECK: remat.task 2 @sub(%{{.*}}) cost {{[1-9].*}} {remat.absorptions = [
// CHECK-SAME: {cost = {{[1-9][0-9]*}} : i64, kernel = @[[EXP:[a-z_]+]], operands = array<i64: 0, 0, 2, 1>, tasks = array<i64: 0>, workspace = 0 : i64}
// CHECK-SAME: kernel = @[[MUL:[a-z_]+]], operands = array<i64: 1, 0, 1, 1>, tasks = array<i64: 1>
// CHECK-SAME: kernel = @[[BOTH:[a-z_]+]], operands = array<i64: 0, 0, 1, 1>, tasks = array<i64: 0, 1>
// CHECK: func.func private @[[EXP]](
// CHECK: math.exp
// CHECK-NEXT: arith.subf
// CHECK-NOT: linalg.generic
// CHECK: func.func private @[[MUL]](
// CHECK: arith.mulf
// CHECK-NEXT: arith.subf
// SAVED: remat.task 2
// NONE: remat.graph

// A value of a narrow type is rounded to it where it is not stored, too.
// NARROW: remat.task 1 @use({{.*}}remat.absorptions
// NARROW: func.func private @half_use(
// NARROW: arith.truncf %{{.*}} : f32 to bf16
// NARROW-NEXT: arith.extf %{{.*}} : bf16 to f32

//--- graph.mlir
#id = affine_map<(d0, d1) -> (d0, d1)>
remat.graph @main(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = remat.task 0 @exp(%x) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = remat.task 1 @mul(%0, %y) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = remat.task 2 @sub(%0, %1) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  remat.return %2 : tensor<64x32xf32>
}
func.func private @exp(%a: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
func.func private @mul(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %1 = arith.mulf %in, %in1 : f32
    linalg.yield %1 : f32
  } -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
func.func private @sub(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<64x32xf32>, tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %1 = arith.subf %in, %in1 : f32
    linalg.yield %1 : f32
  } -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

//--- sums.mlir
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
remat.graph @main(%x: tensor<64x32xf32>) -> tensor<64xf32> {
  %0 = remat.task 0 @exp(%x) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = remat.task 1 @sum(%0) : (tensor<64x32xf32>) -> tensor<64xf32>
  remat.return %1 : tensor<64xf32>
}
func.func private @exp(%a: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
func.func private @sum(%a: tensor<64x32xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x32xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %out : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- narrow.mlir
#id = affine_map<(d0, d1) -> (d0, d1)>
remat.graph @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = remat.task 0 @half(%x) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %1 = remat.task 1 @use(%0) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  remat.return %1 : tensor<64x64xf32>
}
func.func private @half(%a: tensor<64x64xf32>) -> tensor<64x64xbf16> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x64xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x64xf32>) outs(%e : tensor<64x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %1 = math.exp %in : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}
func.func private @use(%a: tensor<64x64xbf16>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x64xbf16>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %1 = arith.extf %in : bf16 to f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
