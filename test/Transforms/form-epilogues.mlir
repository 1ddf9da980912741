// Readers of a product read what the library makes of it, and task formation makes one kernel of both. What a library
// does not make stays apart.

// RUN: remat-opt %s -split-input-file --remat-form-epilogues | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-form-epilogues --remat-form-tasks | grep -v remat.kernel | FileCheck %s --check-prefix=TASKS
// RUN: sed 's/epilogues = true/alignment = 64/' %s | remat-opt -split-input-file --remat-form-epilogues | FileCheck %s --check-prefix=OFF

// OFF-NOT: :2 = linalg.generic
// OFF: func.func @relu
// OFF: arith.maximumf
// OFF: arith.maximumf
// OFF: func.func @apart

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// The sum of product and bias is a second result of a GELU. Reshapes stand between. A cube is a power, and the halves are
// multiplied in another order than usual.
// CHECK-LABEL: @main
// CHECK: %[[P:.*]] = linalg.contract
// CHECK: %[[V:.*]] = tensor.expand_shape %[[P]]
// CHECK: %[[G:.*]]:2 = linalg.generic {{.*}} ins(%[[V]], %{{.*}} : tensor<2x3x8xf32>, tensor<8xf32>) outs(%{{.*}}, %{{.*}} : tensor<2x3x8xf32>, tensor<2x3x8xf32>)
// CHECK: %[[S:.*]] = arith.addf
// CHECK: linalg.yield %{{.*}}, %[[S]]
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[G]]#1, %{{.*}} : tensor<2x3x8xf32>, tensor<2x3x8xf32>) {{.*}} {remat.backward}
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[C:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: math.tanh %[[X]]
// CHECK-NOT: arith.addf
// CHECK: return %[[G]]#0, %[[D]]
// TASKS-LABEL: remat.graph @main
// TASKS: %[[G:.*]]:2 = remat.task 0 @matmul_add_pow_mul_add_mul_tanh(
// TASKS: remat.task 1 @{{.*}}(%[[G]]#1, %
#bij = affine_map<(b, i, j) -> (b, i, j)>
#bj = affine_map<(b, i, j) -> (j)>
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @main(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %d: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<6x8xf32>
  %e = tensor.empty() : tensor<2x3x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %v = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %three = arith.constant 3.0 : f32
  %cubic = arith.constant 0.044715 : f32
  %half = arith.constant 0.5 : f32
  %scale = arith.constant 0.797884583 : f32
  %g = linalg.generic {indexing_maps = [#bij, #bj, #bij], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %b : tensor<2x3x8xf32>, tensor<8xf32>) outs(%e : tensor<2x3x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %s3 = math.powf %s, %three : f32
    %c = arith.mulf %cubic, %s3 : f32
    %n = arith.addf %c, %s : f32
    %u = arith.mulf %scale, %n : f32
    %t = math.tanh %u : f32
    %h = arith.mulf %s, %half : f32
    %ht = arith.mulf %h, %t : f32
    %y = arith.addf %ht, %h : f32
    linalg.yield %y : f32
  } -> tensor<2x3x8xf32>
  %dp = linalg.generic {indexing_maps = [#bij, #bj, #bij, #bij], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %b, %d : tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) outs(%e : tensor<2x3x8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %r: f32, %f: f32, %o: f32):
    %s = arith.addf %r, %q : f32
    %t = math.tanh %s : f32
    %y = arith.mulf %t, %f : f32
    linalg.yield %y : f32
  } -> tensor<2x3x8xf32>
  return %g, %dp : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>

// Whether a sum is positive is seen of its ReLU, and another ReLU of it is the same.
// CHECK-LABEL: @relu
// CHECK: %[[G:.*]] = linalg.generic
// CHECK: arith.maximumf
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[G]], %{{.*}} : tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[C:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.cmpf ogt, %[[X]]
// CHECK-NOT: linalg.generic
// CHECK: linalg.contract {{.*}} ins(%[[G]], %[[D]]
// TASKS-LABEL: remat.graph @relu
// TASKS: remat.task 0 @matmul_add_max(
// TASKS: remat.task 1 @select(
// TASKS: remat.task 2 @matmul
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @relu(%x: tensor<6x4xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>, %d: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x6xf32>) {
  %none = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : tensor<6x8xf32>
  %square = arith.constant dense<0.0> : tensor<6x6xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<6x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %g = linalg.generic {indexing_maps = [#j, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%b, %p : tensor<8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%r: f32, %q: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %y = arith.maximumf %s, %none : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %dp = linalg.generic {indexing_maps = [#ij, #j, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b, %d : tensor<6x8xf32>, tensor<8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %r: f32, %f: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %is = arith.cmpf ogt, %s, %none : f32
    %y = arith.select %is, %f, %none : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %again = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<6x8xf32>, tensor<8xf32>) outs(%e : tensor<6x8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %y = arith.maximumf %s, %none : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %dw = linalg.contract indexing_maps = [#a, #b, #c] {remat.backward} ins(%again, %dp : tensor<6x8xf32>, tensor<6x8xf32>) outs(%square : tensor<6x6xf32>) -> tensor<6x6xf32>
  return %g, %dw : tensor<6x8xf32>, tensor<6x6xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>

// A bias along the rows; a product that is read as it is; a ReLU whose derivative asks whether the sum is 0, where both
// arguments of the maximum share it; the GELU with erf; and f64.
// TASKS-LABEL: remat.graph @apart
// TASKS-NOT: @matmul_add
// TASKS: remat.task 11
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @apart(%x: tensor<8x4xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>, %xd: tensor<8x4xf64>, %bd: tensor<8xf64>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf64>) {
  %none = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %wide = arith.constant dense<0.0> : tensor<8x8xf64>
  %e = tensor.empty() : tensor<8x8xf32>
  %ed = tensor.empty() : tensor<8x8xf64>
  %p0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %p1 = linalg.contract indexing_maps = [#a, #b, #c] ins(%w, %w : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p1, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %2 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %s = math.exp %q : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %p3 = linalg.contract indexing_maps = [#a, #b, #c] ins(%w, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p3, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %y = arith.maximumf %s, %none : f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  %4 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p3, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %is = arith.cmpf oeq, %s, %none : f32
    %y = arith.uitofp %is : i1 to f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  %p5 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %5 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p5, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %u = arith.mulf %s, %root : f32
    %t = math.erf %u : f32
    %t1 = arith.addf %t, %one : f32
    %h = arith.mulf %s, %half : f32
    %y = arith.mulf %h, %t1 : f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  %p6 = linalg.contract indexing_maps = [#a, #b, #c] ins(%xd, %xd : tensor<8x4xf64>, tensor<8x4xf64>) outs(%wide : tensor<8x8xf64>) -> tensor<8x8xf64>
  %6 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p6, %bd : tensor<8x8xf64>, tensor<8xf64>) outs(%ed : tensor<8x8xf64>) {
  ^bb0(%q: f64, %r: f64, %o: f64):
    %s = arith.addf %q, %r : f64
    linalg.yield %s : f64
  } -> tensor<8x8xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf64>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>

// A reader may have no result, and one that asserts something stays if it has nothing else to do.
// CHECK-LABEL: @assertions
// CHECK: %[[G:.*]] = linalg.generic
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<8x8xf32>) {
// CHECK: cf.assert
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<8x8xf32>)
// CHECK: cf.assert
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @assertions(%x: tensor<8x4xf32>, %b: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %none = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<8x8xf32>, tensor<8xf32>) {
  ^bb0(%q: f32, %r: f32):
    %s = arith.addf %q, %r : f32
    %is = arith.cmpf ogt, %s, %none : f32
    cf.assert %is, "no"
    linalg.yield
  }
  %1 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    %is = arith.cmpf olt, %s, %none : f32
    cf.assert %is, "no"
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>

// A sum that is rounded is not what others would have added up. A value that has a policy keeps it.
// TASKS-LABEL: remat.graph @asked
// TASKS-NOT: @matmul_add
// TASKS: remat.task 4
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @asked(%x: tensor<8x4xbf16>, %b: tensor<8xbf16>, %y: tensor<8x4xf32>, %c: tensor<8xf32>) -> (tensor<8x8xbf16>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %n = tensor.empty() : tensor<8x8xbf16>
  %p0 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %x : tensor<8x4xbf16>, tensor<8x4xbf16>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %b : tensor<8x8xf32>, tensor<8xbf16>) outs(%n : tensor<8x8xbf16>) {
  ^bb0(%q: f32, %r: bf16, %o: bf16):
    %w = arith.extf %r : bf16 to f32
    %s = arith.addf %q, %w : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x8xbf16>
  %1 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %b : tensor<8x8xf32>, tensor<8xbf16>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%q: f32, %r: bf16, %o: f32):
    %w = arith.extf %r : bf16 to f32
    %s = arith.addf %q, %w : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %p2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%y, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p2, %c : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) attrs = {remat.policy = #remat.policy<must_save>} {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %s = arith.addf %q, %r : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<8x8xbf16>, tensor<8x8xf32>, tensor<8x8xf32>
}
}

// -----

#bij = affine_map<(b, i, j) -> (b, i, j)>
#bj = affine_map<(b, i, j) -> (j)>
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#t = affine_map<(i, j, k) -> (k, i)>

// The gradient of a GELU and the sum of its rows are made of the product in one call, and the sums of another factor beside
// the gradient of a weight, although something else stands between. The first sum moves up, and the second one down.
// CHECK-LABEL: @gradients
// CHECK: %[[S:.*]] = linalg.generic {{.*}}"reduction", "parallel"]} ins(%[[Y:.*]] : tensor<6x8xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK-NEXT: } -> tensor<8xf32>
// CHECK: %[[P:.*]] = linalg.contract
// CHECK: %[[V:.*]] = tensor.expand_shape %[[P]]
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[V]], %{{.*}} : tensor<2x3x8xf32>, tensor<2x3x8xf32>)
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[G]] : tensor<2x3x8xf32>) outs(%{{.*}} : tensor<8xf32>)
// CHECK: linalg.contract
// CHECK: return %{{.*}}, %[[B]], %{{.*}}, %[[S]]
// OFF-LABEL: @gradients
// TASKS-LABEL: remat.graph @gradients
// TASKS-SAME: (%[[D:.*]]: tensor<6x4xf32>, %[[W:.*]]: tensor<4x8xf32>, %[[H:.*]]: tensor<2x3x8xf32>, %[[X:.*]]: tensor<6x5xf32>, %[[E:.*]]: tensor<6x8xf32>)
// TASKS: %[[A:.*]]:2 = remat.task 0 @matmul{{.*}}(%[[X]], %[[E]])
// TASKS-SAME: -> (tensor<5x8xf32>, tensor<8xf32>)
// TASKS: %[[G:.*]]:2 = remat.task 1 @matmul{{.*}}(%[[D]], %[[W]], %[[H]])
// TASKS-SAME: -> (tensor<2x3x8xf32>, tensor<8xf32>)
// TASKS: remat.task 2 @matmul(
// TASKS-NOT: remat.task
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @gradients(%d: tensor<6x4xf32>, %w: tensor<4x8xf32>, %h: tensor<2x3x8xf32>, %x: tensor<6x5xf32>, %y: tensor<6x8xf32>)
    -> (tensor<5x8xf32>, tensor<8xf32>, tensor<5x8xf32>, tensor<8xf32>) {
  %none = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %cubic = arith.constant 0.044715 : f32
  %scale = arith.constant 0.797884583 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %zero = arith.constant dense<0.0> : tensor<6x8xf32>
  %weight = arith.constant dense<0.0> : tensor<5x8xf32>
  %bias = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<2x3x8xf32>
  %s = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<6x8xf32>) outs(%bias : tensor<8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %n = arith.addf %q, %o : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %dv = linalg.contract indexing_maps = [#t, #b, #c] ins(%x, %y : tensor<6x5xf32>, tensor<6x8xf32>) outs(%weight : tensor<5x8xf32>) -> tensor<5x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%d, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %v = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %g = linalg.generic {indexing_maps = [#bij, #bij, #bij], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %h : tensor<2x3x8xf32>, tensor<2x3x8xf32>) outs(%e : tensor<2x3x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %r2 = math.powf %r, %two : f32
    %r3 = math.powf %r, %three : f32
    %c = arith.mulf %cubic, %r3 : f32
    %n = arith.addf %c, %r : f32
    %u = arith.mulf %scale, %n : f32
    %t = math.tanh %u : f32
    %t2 = arith.mulf %t, %t : f32
    %f = arith.subf %one, %t2 : f32
    %c2 = arith.mulf %cubic, %r2 : f32
    %c3 = arith.mulf %three, %c2 : f32
    %n2 = arith.addf %c3, %one : f32
    %slope = arith.mulf %scale, %n2 : f32
    %in = arith.mulf %f, %slope : f32
    %rin = arith.mulf %in, %r : f32
    %t1 = arith.addf %t, %one : f32
    %sum = arith.addf %t1, %rin : f32
    %qs = arith.mulf %q, %sum : f32
    %m = arith.divf %qs, %two : f32
    linalg.yield %m : f32
  } -> tensor<2x3x8xf32>
  %gc = tensor.collapse_shape %g [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
  %dw = linalg.contract indexing_maps = [#t, #b, #c] ins(%x, %gc : tensor<6x5xf32>, tensor<6x8xf32>) outs(%weight : tensor<5x8xf32>) -> tensor<5x8xf32>
  %db = linalg.generic {indexing_maps = [#bij, #bj], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%g : tensor<2x3x8xf32>) outs(%bias : tensor<8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %n = arith.addf %o, %q : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  return %dw, %db, %dv, %s : tensor<5x8xf32>, tensor<8xf32>, tensor<5x8xf32>, tensor<8xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#t = affine_map<(i, j, k) -> (k, i)>

// Sums along the other dimension, of squares, of a factor of another phase, and one that the product itself is made of; a
// derivative with another constant, whose product is a task of its own.
// TASKS-LABEL: remat.graph @other_gradients
// TASKS-NOT: :2 = remat.task
// TASKS: remat.task 6
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @other_gradients(%d: tensor<6x4xf32>, %w: tensor<4x8xf32>, %h: tensor<6x8xf32>, %x: tensor<6x8xf32>, %y: tensor<6x8xf32>,
    %v: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %zero = arith.constant dense<0.0> : tensor<6x8xf32>
  %weight = arith.constant dense<0.0> : tensor<8x8xf32>
  %bias = arith.constant dense<0.0> : tensor<8xf32>
  %rows = arith.constant dense<0.0> : tensor<6xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%d, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %g = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %h : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %t = math.tanh %r : f32
    %t2 = arith.mulf %t, %t : f32
    %f = arith.subf %one, %t2 : f32
    %m = arith.mulf %q, %f : f32
    linalg.yield %m : f32
  } -> tensor<6x8xf32>
  %s0 = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<6x8xf32>) outs(%rows : tensor<6xf32>) {
  ^bb0(%q: f32, %o: f32):
    %n = arith.addf %o, %q : f32
    linalg.yield %n : f32
  } -> tensor<6xf32>
  %s1 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<6x8xf32>) outs(%bias : tensor<8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %q2 = arith.mulf %q, %q : f32
    %n = arith.addf %o, %q2 : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %s2 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<6x8xf32>) outs(%bias : tensor<8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %o: f32):
    %n = arith.addf %o, %q : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %s3 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%v : tensor<6x8xf32>) outs(%bias : tensor<8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %n = arith.addf %o, %q : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s3 : tensor<6x8xf32>, tensor<8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %n = arith.subf %q, %r : f32
    linalg.yield %n : f32
  } -> tensor<6x8xf32>
  %dw = linalg.contract indexing_maps = [#t, #b, #c] ins(%x, %y : tensor<6x8xf32>, tensor<6x8xf32>) outs(%weight : tensor<8x8xf32>) -> tensor<8x8xf32>
  %dv = linalg.contract indexing_maps = [#t, #b, #c] ins(%z, %v : tensor<6x8xf32>, tensor<6x8xf32>) outs(%weight : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%g, %z : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %n = arith.addf %q, %r : f32
    linalg.yield %n : f32
  } -> tensor<6x8xf32>
  return %2, %s0, %s1, %s2, %dw, %dv : tensor<6x8xf32>, tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
}

// -----

#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#t = affine_map<(i, j, k) -> (k, i)>

// A gradient of a bias that is read, by an update, say, in front of the product: the product moves there.
// TASKS-LABEL: remat.graph @read_before_product
// TASKS: %[[SUMS:[0-9]+]]:2 = remat.task 0 @matmul_sum(%arg0, %arg1)
// TASKS: remat.task 1 {{.*}}(%arg2, %[[SUMS]]#1)
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @read_before_product(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>, %old: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %weight = arith.constant dense<0.0> : tensor<8x8xf32>
  %bias = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %sums = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<6x8xf32>) outs(%bias : tensor<8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %n = arith.addf %o, %q : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %new = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]}
      ins(%old, %sums : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %n = arith.subf %q, %r : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %dw = linalg.contract indexing_maps = [#t, #b, #c] ins(%x, %y : tensor<6x8xf32>, tensor<6x8xf32>) outs(%weight : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %new, %dw : tensor<8xf32>, tensor<8x8xf32>
}
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// A ReLU and a GELU without a bias, of which the derivative reads the product, and another tensor that a product is
// added to.
// CHECK-LABEL: @plain
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: linalg.generic {{.*}} ins(%[[R]], %{{.*}} : tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK: arith.cmpf
// CHECK: %[[G:.*]]:2 = linalg.generic {{.*}} ins(%[[Q:.*]] : tensor<6x8xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: linalg.yield %{{.*}}, %[[X]]
// CHECK: linalg.generic {{.*}} ins(%[[G]]#1 : tensor<6x8xf32>)
// TASKS-LABEL: remat.graph @plain
// TASKS: remat.task 0 @matmul_max(
// TASKS: remat.task 1 @select
// TASKS: %{{.*}}:2 = remat.task 2 @matmul_
// TASKS: remat.task 3 @exp(
// TASKS: remat.task 4 @matmul_add(
// TASKS-NOT: remat.task
module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {
func.func @plain(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %u: tensor<4x8xf32>, %d: tensor<6x8xf32>)
    -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) {
  %none = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %cubic = arith.constant 0.044715 : f32
  %scale = arith.constant 0.797884583 : f32
  %three = arith.constant 3.0 : f32
  %zero = arith.constant dense<0.0> : tensor<6x8xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %0 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %y = arith.maximumf %q, %none : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %1 = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %d : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %is = arith.cmpf ogt, %q, %none : f32
    %y = arith.select %is, %r, %none : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %p2 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %u : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %2 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p2 : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%q: f32, %o: f32):
    %q3 = math.powf %q, %three : f32
    %c = arith.mulf %cubic, %q3 : f32
    %n = arith.addf %c, %q : f32
    %v = arith.mulf %scale, %n : f32
    %t = math.tanh %v : f32
    %t1 = arith.addf %t, %one : f32
    %h = arith.mulf %q, %half : f32
    %y = arith.mulf %h, %t1 : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %3 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p2 : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) attrs = {remat.backward} {
  ^bb0(%q: f32, %o: f32):
    %y = math.exp %q : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  %p4 = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %u : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) -> tensor<6x8xf32>
  %4 = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%d, %p4 : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%q: f32, %r: f32, %o: f32):
    %y = arith.addf %q, %r : f32
    linalg.yield %y : f32
  } -> tensor<6x8xf32>
  return %0, %1, %2, %3, %4 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
}
}
