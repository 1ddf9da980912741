// RUN: remat-opt %s -split-input-file --remat-form-tasks=function=sum | FileCheck %s

// Kernels are called by what they compute. Equal ones are one; others of the
// same name get a number, and so does what would be called like the function.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: remat.graph @sum
func.func @sum(%x: tensor<64x64xf32> {remat.name = "x"}, %w: tensor<64x64xf32> {remat.name = "h.0.fc.weight"}, %v: tensor<64x32xf32> {remat.name = "h.1.fc.weight"}) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  // The layer is all of a parameter's name but what it is to the layer.
  // CHECK: remat.task 0 @matmul(%arg0, %arg1) {layers = ["h.0.fc"]} :
  %0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: remat.task 1 @matmul(%{{.*}}, %arg1) {layers = ["h.0.fc"]} :
  %1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%0, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  // Scopes in a location are layers, too.
  // CHECK: remat.task 2 @sigmoid(%{{.*}}) {layers = ["main/block0/act"]} :
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %n = arith.negf %i : f32
    %x0 = math.exp %n : f32
    %x1 = arith.addf %x0, %one : f32
    %x2 = arith.divf %one, %x1 : f32
    linalg.yield %x2 : f32
  } -> tensor<64x64xf32> loc(fused["model.mlir":3:4, "main/block0/act/logistic"])
  // CHECK: remat.task 3 @transpose(
  %3 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<64x64xf32>
  %g = tensor.empty() : tensor<64x32xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<64x32xf32>) -> tensor<64x32xf32>
  // CHECK: remat.task 4 @matmul_1(%{{.*}}, %arg2) {layers = ["h.1.fc"]} :
  %4 = linalg.contract indexing_maps = [#a, #b, #c] ins(%3, %v : tensor<64x64xf32>, tensor<64x32xf32>) outs(%h : tensor<64x32xf32>) -> tensor<64x32xf32>
  %er = tensor.empty() : tensor<64xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  // CHECK: remat.task 5 @sum_1(
  %5 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%4 : tensor<64x32xf32>) outs(%fr : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %eh = tensor.empty() : tensor<64x64xf16>
  // CHECK: remat.task 6 @cast(
  %6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<64x64xf32>) outs(%eh : tensor<64x64xf16>) {
  ^bb0(%i: f32, %o: f16):
    %r = arith.truncf %i : f32 to f16
    linalg.yield %r : f16
  } -> tensor<64x64xf16>
  return %4, %5, %6 : tensor<64x32xf32>, tensor<64xf32>, tensor<64x64xf16>
}

// -----

// A name has an end, at a word; ten additions are one word.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: remat.graph @sum
// CHECK: remat.task 0 @add_sub_mul_div_sqrt_sin_cos_tan(%arg0) :
func.func @sum(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %i : f32
    %1 = arith.addf %0, %i : f32
    %2 = arith.subf %1, %i : f32
    %3 = arith.mulf %2, %i : f32
    %4 = arith.divf %3, %i : f32
    %5 = math.sqrt %4 : f32
    %6 = math.sin %5 : f32
    %7 = math.cos %6 : f32
    %8 = math.tan %7 : f32
    %9 = math.log %8 : f32
    linalg.yield %9 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A softmax by rows.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: remat.graph @sum
// CHECK: remat.task 0 @softmax_rows(%arg0) :
func.func @sum(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %er = tensor.empty() : tensor<64xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x64xf32>) outs(%f1 : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.maximumf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<64x64xf32>, tensor<64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %d = arith.subf %i, %j : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<64x64xf32>) outs(%f0 : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %q = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<64x64xf32>, tensor<64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %r = arith.divf %i, %j : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  return %q : tensor<64x64xf32>
}

// -----

// What is written without reading anything: one number, or where an element is.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: remat.graph @sum
// CHECK: remat.task 0 @fill() :
// CHECK: remat.task 1 @iota() :
func.func @sum() -> (tensor<64xf32>, tensor<64xi32>) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
  } -> tensor<64xf32>
  %i = tensor.empty() : tensor<64xi32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%i : tensor<64xi32>) {
  ^bb0(%o: i32):
    %n = linalg.index 0 : index
    %r = arith.index_cast %n : index to i32
    linalg.yield %r : i32
  } -> tensor<64xi32>
  return %0, %1 : tensor<64xf32>, tensor<64xi32>
}
