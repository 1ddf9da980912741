// RUN: remat-opt %s --remat-fuse-readers | FileCheck %s
// RUN: remat-opt %s --remat-fuse-readers="function=gelu alternative" | FileCheck %s --check-prefix=BOTH
// RUN: remat-opt %s --remat-pipeline="function=gelu emit=planned differentiate=false" | FileCheck %s --check-prefix=PLAN

// Large results are fused in an alternative only.
// BOTH: func.func @gelu({{.*}}remat.alternative = @gelu_fused
// BOTH-NOT: :2 = linalg.generic
// BOTH: func.func private @gelu_fused({{.*}}remat.fused_readers
// BOTH: :2 = linalg.generic
// BOTH: func.func @last
// BOTH-NOT: :2 = linalg.generic

// Without a budget, it is taken where its arena is no larger.
// PLAN: remat.graph @gelu({{.*}}remat.fused_readers
// PLAN: :2 = remat.task
// PLAN-NOT: remat.graph

#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>

// The error function is what the activation and its gradient share. The
// contraction that makes the other operand of the gradient moves, so that both
// can be made where the activation is needed.
// CHECK-LABEL: @gelu
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>, %[[D:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<4x16xf32>
// CHECK: %[[G:.*]] = linalg.matmul {{.*}}ins(%[[D]], %[[W]]
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} ins(%[[X]], %[[G]] :
// CHECK: math.erf
// CHECK-NOT: math.erf
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: } -> (tensor<8x16xf32>, tensor<8x16xf32>)
// CHECK: %[[DW:.*]] = linalg.contract {{.*}} ins(%[[R]]#0, %[[D]] :
// CHECK: return %[[DW]], %[[R]]#1
func.func @gelu(%x: tensor<8x16xf32>, %d: tensor<8x4xf32>, %w: tensor<4x16xf32>) -> (tensor<16x4xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = tensor.empty() : tensor<16x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<16x4xf32>) -> tensor<16x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %erf = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) attrs = {remat.backward} {
  ^bb0(%v: f32, %o: f32):
    %r = math.erf %v : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %act = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %erf : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) attrs = {remat.backward} {
  ^bb0(%v: f32, %g: f32, %o: f32):
    %r = arith.mulf %v, %g : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %dw = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      {remat.backward} ins(%act, %d : tensor<8x16xf32>, tensor<8x4xf32>) outs(%z : tensor<16x4xf32>) -> tensor<16x4xf32>
  %da = linalg.matmul {remat.backward} ins(%d, %w : tensor<8x4xf32>, tensor<4x16xf32>) outs(%y : tensor<8x16xf32>) -> tensor<8x16xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%da, %erf : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) attrs = {remat.backward} {
  ^bb0(%v: f32, %g: f32, %o: f32):
    %s = arith.addf %g, %half : f32
    %r = arith.mulf %v, %s : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  return %dw, %dx : tensor<16x4xf32>, tensor<8x16xf32>
}

// The other operand of the last reader comes late, and nothing needs the
// result of the first one before.
// CHECK-LABEL: @last
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ["reduction", "parallel"]
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} ins(%{{.*}}, %[[S]] :
// CHECK: math.exp
// CHECK: return %[[R]]#0, %[[R]]#1, %[[S]]
func.func @last(%x: tensor<8x16xf32>, %init: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<8x16xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%init : tensor<16xf32>) attrs = {remat.policy = #remat.policy<must_save>} {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %o, %v : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %b = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %s : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %r = arith.addf %v, %w : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  return %a, %b, %s : tensor<8x16xf32>, tensor<8x16xf32>, tensor<16xf32>
}

// Readers of which one reads the value transposed, is of another phase, has its
// result tagged, or reads the other one's result stay apart.
// CHECK-LABEL: @apart
// CHECK-NOT: :2 = linalg.generic
// CHECK: return
func.func @apart(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %e = tensor.empty() : tensor<16x16xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %b = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.tanh %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tanh : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tanh : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) attrs = {remat.backward} {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %log = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.log %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %f = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%log : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %kept = remat.tag %f {name = "kept"} : tensor<16x16xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%log : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %sin = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.sin %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sin : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %i = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sin, %h : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %r = arith.addf %v, %w : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  return %a, %b, %c, %d, %kept, %g, %i : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
