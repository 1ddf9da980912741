// RUN: remat-opt %s --remat-fuse-elementwise | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Bias, activation and the sum that reads it are one operation.
// CHECK-LABEL: @chain
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: arith.addf
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %acc: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %wide = linalg.generic {indexing_maps = [#col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %wide : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.addf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %act = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.tanh %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%act : tensor<4x8xf32>) outs(%acc : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Not fused: exp would be evaluated 8 times for each of its 4 points.
// CHECK-LABEL: @evaluated_once
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.exp
// CHECK-NEXT: linalg.yield
// CHECK: linalg.generic
func.func @evaluated_once(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  %e1 = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %exp = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%v : tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %exp : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A forward operation may join a backward one, which is then backward; the
// tag keeps its operand, and backward never joins forward.
// CHECK-LABEL: @barriers
// CHECK: math.exp
// CHECK: remat.tag
// CHECK: linalg.generic {{.*}} attrs = {remat.backward}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: math.log
// CHECK-NEXT: math.sqrt
// CHECK: linalg.generic
// CHECK-NOT: remat.backward
// CHECK: math.absf
func.func @barriers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %exp = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %tag = remat.tag %exp {name = "e"} : tensor<4xf32>
  %log = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%tag : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.log %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %sqrt = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%log : tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {remat.backward} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sqrt %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %abs = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%sqrt : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.absf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %abs : tensor<4xf32>
}

// A reshape between the two is moved to the operand.
// CHECK-LABEL: @reshape
// CHECK: tensor.expand_shape
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: math.exp
// CHECK-NEXT: math.log
// CHECK: return %[[R]] : tensor<2x2x8xf32>
func.func @reshape(%x: tensor<4x8xf32>) -> tensor<2x2x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %e3 = tensor.empty() : tensor<2x2x8xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %wide = tensor.expand_shape %exp [[0, 1], [2]] output_shape [2, 2, 8]
      : tensor<4x8xf32> into tensor<2x2x8xf32>
  %log = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide : tensor<2x2x8xf32>) outs(%e3 : tensor<2x2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.log %in : f32
    linalg.yield %0 : f32
  } -> tensor<2x2x8xf32>
  return %log : tensor<2x2x8xf32>
}

// The columns whose numbers the producer reads stay what they are, as in the
// gradient of a loss of sequences.
// CHECK-LABEL: @reshape_of_rows_with_indices
// CHECK: %[[P:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<2x2xi64>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]], %arg1 : tensor<2x2xi64>, tensor<2x2x8xf32>)
// CHECK: linalg.index 2
// CHECK: arith.subf
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]] : tensor<2x2x8xf32>
func.func @reshape_of_rows_with_indices(%p: tensor<4xi64>, %x: tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %e3 = tensor.empty() : tensor<2x2x8xf32>
  %hot = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %is = arith.cmpi eq, %in, %k : i64
    %0 = arith.select %is, %one, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %wide = tensor.expand_shape %hot [[0, 1], [2]] output_shape [2, 2, 8]
      : tensor<4x8xf32> into tensor<2x2x8xf32>
  %r = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide, %x : tensor<2x2x8xf32>, tensor<2x2x8xf32>) outs(%e3 : tensor<2x2x8xf32>) {
  ^bb0(%in: f32, %y: f32, %out: f32):
    %0 = arith.subf %in, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x2x8xf32>
  return %r : tensor<2x2x8xf32>
}

// Here the reshape splits what is numbered.
// CHECK-LABEL: @reshape_of_indices
// CHECK: linalg.generic
// CHECK: linalg.index 1
// CHECK: tensor.expand_shape
// CHECK: linalg.generic
// CHECK: math.log
func.func @reshape_of_indices(%x: tensor<4x8xf32>) -> tensor<4x2x4xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %e3 = tensor.empty() : tensor<4x2x4xf32>
  %far = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %f = arith.sitofp %k : i64 to f32
    %0 = arith.addf %in, %f : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %wide = tensor.expand_shape %far [[0], [1, 2]] output_shape [4, 2, 4]
      : tensor<4x8xf32> into tensor<4x2x4xf32>
  %log = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide : tensor<4x2x4xf32>) outs(%e3 : tensor<4x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.log %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x2x4xf32>
  return %log : tensor<4x2x4xf32>
}

// What a reshape is moved across is made anew, and of the same phase: the
// operation that reads it, and the reshape of what that makes.
// CHECK-LABEL: @reshape_of_backward
// CHECK: %[[R:.*]] = linalg.generic {{.*}} attrs = {remat.backward}
// CHECK: math.exp
// CHECK-NEXT: math.log
// CHECK: tensor.collapse_shape %[[R]] {{.*}} {remat.backward}
// CHECK: linalg.generic
// CHECK-NOT: remat.backward
// CHECK: math.sqrt
func.func @reshape_of_backward(%x: tensor<2x2x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %e3 = tensor.empty() : tensor<2x2x8xf32>
  %exp = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x2x8xf32>) outs(%e3 : tensor<2x2x8xf32>) attrs = {remat.backward} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<2x2x8xf32>
  %flat = tensor.collapse_shape %exp [[0, 1], [2]] {remat.backward} : tensor<2x2x8xf32> into tensor<4x8xf32>
  %log = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%flat : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) attrs = {remat.backward} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.log %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %sqrt = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sqrt %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  return %log, %sqrt : tensor<4x8xf32>, tensor<4x8xf32>
}

// Phases are attributes: a location says nothing, whatever its name is.
// CHECK-LABEL: @location
// CHECK-NOT: remat.backward
// CHECK: math.exp
// CHECK-NEXT: math.log
func.func @location(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %exp = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32> loc("remat.backward"("model.py":1:1))
  %log = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%exp : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.log %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %log : tensor<4xf32>
}

// PyTorch's maximum also computes where it is. Nothing asks for it here.
// CHECK-LABEL: @dead_argmax
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: linalg.yield
func.func @dead_argmax(%x: tensor<4x8xf32>, %m: tensor<4xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %r:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%m, %i : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%in: f32, %max: f32, %arg: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %0 = arith.maximumf %in, %max : f32
    %1 = arith.cmpf ogt, %in, %max : f32
    %2 = arith.select %1, %k, %arg : i64
    linalg.yield %0, %2 : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %r#0 : tensor<4xf32>
}

// A masked gradient is read by a sum and by an operation that reads one of its
// operands. Another sum reads both operands in the same loops: all can do
// without the masked gradient, and it is never written.
// CHECK-LABEL: @spared
// CHECK-SAME: %[[G:.*]]: tensor<64x64xf32>, %[[X:.*]]: tensor<64x64xf32>
// CHECK-COUNT-2: iterator_types = ["reduction", "parallel"]} ins(%[[G]], %[[X]] :
// CHECK: iterator_types = ["parallel", "parallel"]} ins(%[[G]], %[[X]] :
// CHECK-NOT: linalg.generic
func.func @spared(%g: tensor<64x64xf32>, %x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.cmpf ogt, %b, %zero : f32
    %1 = arith.select %0, %a, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<64x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%m : tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %out, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %s, %t, %y : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
}

// Without the other sum, two operands would be read for one.
// CHECK-LABEL: @not_spared
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: linalg.generic {{.*}}ins(%[[M]] :
// CHECK: linalg.generic {{.*}}ins(%[[M]], %{{.*}} :
func.func @not_spared(%g: tensor<64x64xf32>, %x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.cmpf ogt, %b, %zero : f32
    %1 = arith.select %0, %a, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<64x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%m : tensor<64x64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %out, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %s, %y : tensor<64xf32>, tensor<64x64xf32>
}

// A gather whose places the reader computes: upstream gives them as maps.

// CHECK-LABEL: func.func @window_of_gather
// CHECK: linalg.generic
// CHECK:   %[[I:.*]] = linalg.index 1 : index
// CHECK:   %[[J:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-NOT: affine.apply
// CHECK: return
func.func @window_of_gather(%x: tensor<8x6xf32>, %i: tensor<4xi64>) -> tensor<4x3xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: i64, %o: f32):
    %k = arith.index_cast %p : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%k, %j] : tensor<8x6xf32>
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x3xf32>
  %s = tensor.empty() : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b * 2)>, affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} ins(%g, %s : tensor<4x6xf32>, tensor<3xf32>) outs(%f : tensor<4x3xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %n = arith.negf %v : f32
    linalg.yield %n : f32
  } -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// What is cast to more bytes for several readers is in memory with few: each of
// them casts it.
// CHECK-LABEL: @shared_widening
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}) outs({{.*}} : tensor<64x64xbf16>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[G]] : tensor<64x64xbf16>)
// CHECK: arith.extf
// CHECK: linalg.generic {{.*}} ins(%[[G]], %arg2, {{.*}} : tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64xf32>)
// CHECK: arith.extf
func.func @shared_widening(%y: tensor<64x64xbf16>, %x: tensor<64x64xbf16>, %z: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64x64xf32>) {
  %none = arith.constant 0.0 : bf16
  %zeros = arith.constant dense<0.0> : tensor<64xf32>
  %narrow = tensor.empty() : tensor<64x64xbf16>
  %wide = tensor.empty() : tensor<64x64xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %x : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%narrow : tensor<64x64xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %out: bf16):
    %0 = arith.cmpf ole, %a, %none : bf16
    %1 = arith.select %0, %none, %b : bf16
    linalg.yield %1 : bf16
  } -> tensor<64x64xbf16>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<64x64xbf16>) outs(%wide : tensor<64x64xf32>) {
  ^bb0(%a: bf16, %out: f32):
    %0 = arith.extf %a : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<64x64xf32>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %out, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %z, %sum : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>) outs(%wide : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.subf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<64x64xf32>
  return %sum, %p : tensor<64xf32>, tensor<64x64xf32>
}

// The gradient of a ReLU behind a norm is read by two operations that read what
// the norm does, too: both make the mask from that, and the gradient's select
// is no tensor. The activation itself stays, as others read it.
// CHECK-LABEL: @mask_of_activation
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: arith.maximumf
// CHECK: arith.select
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: arith.maximumf
// CHECK: arith.select
// CHECK-NOT: linalg.generic
func.func @mask_of_activation(%x: tensor<64x128xf32>, %s: tensor<64xf32>, %g: tensor<64x128xf32>, %acc: tensor<64xf32>)
    -> (tensor<64x128xf32>, tensor<64xf32>, tensor<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %g : tensor<64x128xf32>, tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.cmpf ole, %a, %zero : f32
    %1 = arith.select %0, %zero, %b : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d, %x : tensor<64x128xf32>, tensor<64x128xf32>) outs(%acc : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d, %x, %sum : tensor<64x128xf32>, tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %0 = arith.mulf %b, %c : f32
    %1 = arith.subf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  return %y, %sum, %r : tensor<64x128xf32>, tensor<64xf32>, tensor<64x128xf32>
}

// What is done with the activation beside that needs it: the product stays.
// CHECK-LABEL: @product_of_activation
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: linalg.generic
func.func @product_of_activation(%x: tensor<64x128xf32>, %s: tensor<64xf32>, %g: tensor<64x128xf32>, %acc: tensor<64xf32>)
    -> (tensor<64x128xf32>, tensor<64xf32>, tensor<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %g : tensor<64x128xf32>, tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.cmpf ole, %a, %zero : f32
    %1 = arith.select %0, %zero, %b : f32
    %2 = arith.mulf %1, %a : f32
    linalg.yield %2 : f32
  } -> tensor<64x128xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d, %x : tensor<64x128xf32>, tensor<64x128xf32>) outs(%acc : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d, %x, %sum : tensor<64x128xf32>, tensor<64x128xf32>, tensor<64xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %0 = arith.mulf %b, %c : f32
    %1 = arith.subf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  return %y, %sum, %r : tensor<64x128xf32>, tensor<64xf32>, tensor<64x128xf32>
}
