// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-pipeline=cotangents=true | FileCheck %s

// Checkpoint regions and policies, seen in the planned graph. A task that runs
// again is written `copy 1`.

// The operations that a region hides run again once. The operation that gives
// its result does not, and values from outside are read without a copy.
// CHECK-LABEL: remat.graph @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<32x32xf32>, %[[W:[a-z0-9]*]]: tensor<32x32xf32>
// CHECK-DAG:     remat.task {{[0-9]+}} copy 1 @matmul(%[[X]], %[[W]])
// CHECK-DAG:     remat.task {{[0-9]+}} copy 1 @{{[a-z_]+}}(
// CHECK-NOT:     copy 1
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = math.sin %p : tensor<32x32xf32>
    %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// Of two equal contractions in a region, the first one has the policy must_save;
// only the other one runs again.
// CHECK-LABEL: remat.graph @main
// CHECK:         %[[P:.*]] = remat.task 0 @matmul{{.*}}policies = [#remat.policy<must_save>]
// CHECK-NOT:     remat.task 0 copy 1
// CHECK:         remat.task {{[0-9]+}} copy 1 @matmul(
// CHECK-NOT:     remat.task 0 copy 1
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %p = linalg.matmul {remat.policy = #remat.policy<must_save>} ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = math.sin %p : tensor<32x32xf32>
    %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %s = math.sin %q : tensor<32x32xf32>
    %r = linalg.matmul ins(%s, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %r : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// An operation on a list of operands runs again like others. A value that
// nothing uses is not made at all.
// CHECK-LABEL: remat.graph @main
// CHECK-NOT:     tanh
// CHECK:         remat.task {{[0-9]+}} @{{.*}}concat
// CHECK:         remat.task {{[0-9]+}} copy 1 @{{.*}}concat
// CHECK:         remat.return
func.func @main(%a: tensor<16x32xf32>, %b: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y:2 = remat.checkpoint {
    %unused = math.tanh %a : tensor<16x32xf32>
    %l = tensor.concat dim(0) %a, %b : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<32x32xf32>
    %q = linalg.matmul ins(%l, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q, %unused : tensor<32x32xf32>, tensor<16x32xf32>
  } : tensor<32x32xf32>, tensor<16x32xf32>
  return %y#0 : tensor<32x32xf32>
}

// -----

// All results of an operation, integers among them, come from one run.
// CHECK-LABEL: remat.graph @main
// CHECK-COUNT-1: remat.task {{[0-9]+}} copy 1 {{.*}} -> (tensor<32x32xf32>, tensor<32x32xi64>)
// CHECK-NOT:     copy 1 {{.*}} -> (tensor<32x32xf32>, tensor<32x32xi64>)
// CHECK:         remat.return
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %ei = tensor.empty() : tensor<32x32xi64>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<32x32xf32>) outs(%e, %ei : tensor<32x32xf32>, tensor<32x32xi64>) {
    ^bb0(%a: f32, %o: f32, %oi: i64):
      %s = math.sin %a : f32
      %n = arith.fptosi %a : f32 to i64
      linalg.yield %s, %n : f32, i64
    } -> (tensor<32x32xf32>, tensor<32x32xi64>)
    %q = linalg.matmul ins(%t#0, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %f = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %t#1 : tensor<32x32xf32>, tensor<32x32xi64>) outs(%e : tensor<32x32xf32>) {
    ^bb0(%a: f32, %n: i64, %o: f32):
      %k = arith.sitofp %n : i64 to f32
      %s = arith.mulf %a, %k : f32
      %v = math.sin %s : f32
      linalg.yield %v : f32
    } -> tensor<32x32xf32>
    remat.yield %f : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// A view has no buffer. It is taken again of the value that runs again.
// CHECK-LABEL: remat.graph @main
// CHECK:         %[[C:.*]] = remat.task {{[0-9]+}} copy 1 @
// CHECK:         tensor.collapse_shape %[[C]]
// CHECK:         remat.return
func.func @main(%x: tensor<4x8x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %t = math.sin %x : tensor<4x8x32xf32>
    %v = tensor.collapse_shape %t [[0, 1], [2]] : tensor<4x8x32xf32> into tensor<32x32xf32>
    %q = linalg.matmul ins(%v, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// A value can be returned twice, and a cotangent may reach no argument.
// CHECK-LABEL: remat.graph @main
// CHECK:         remat.return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
func.func @main(%x: tensor<4xf32>, %n: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = math.sin %x : tensor<4xf32>
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// Regions in regions. The outer region hides what the inner one yields, so all
// operations but the last contraction run again.
// CHECK-LABEL: remat.graph @main
// CHECK-COUNT-3: copy 1
// CHECK-NOT:     copy 1
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %i = remat.checkpoint {
      %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
      %t = math.sin %p : tensor<32x32xf32>
      remat.yield %t : tensor<32x32xf32>
    } : tensor<32x32xf32>
    %s = linalg.matmul ins(%i, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %q = linalg.matmul ins(%s, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// Without annotations and budget, nothing runs again. A constant is part of its
// kernel, not a value of the graph.
// CHECK-LABEL: remat.graph @main
// CHECK-NOT:     copy
// CHECK-NOT:     constant
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %c = arith.constant dense<2.5> : tensor<32x32xf32>
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %t = arith.mulf %p, %c : tensor<32x32xf32>
  %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %q : tensor<32x32xf32>
}

// -----

// Both branches of an scf.if in a region are values like others.
// CHECK-LABEL: remat.graph @main
// CHECK:         copy 1
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>, %f: tensor<i1>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %flag = tensor.extract %f[] : tensor<i1>
    %t = scf.if %flag -> tensor<32x32xf32> {
      %a = math.sin %x : tensor<32x32xf32>
      scf.yield %a : tensor<32x32xf32>
    } else {
      %b = math.exp %x : tensor<32x32xf32>
      scf.yield %b : tensor<32x32xf32>
    }
    %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// An operation without inputs can stand in a region.
// CHECK-LABEL: remat.graph @main
// CHECK:         remat.return
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %t = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<32x32xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i64
      %v = arith.sitofp %n : i64 to f32
      linalg.yield %v : f32
    } -> tensor<32x32xf32>
    %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// An operation with a side effect cannot stand in a region.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %y = remat.checkpoint {
    %t = math.sin %x : tensor<4xf32>
    // expected-error @+1 {{'vector.print' op is not supported}}
    vector.print %c0 : index
    remat.yield %t : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A loop whose iterations are known at run time only is refused if it cannot
// stay a loop.
func.func @main(%x: tensor<4xf32>, %n: tensor<index>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %step = tensor.extract %n[] : tensor<index>
  // expected-error @+1 {{'scf.for' op is not supported: expected constant bounds, or a loop that can stay one: without codecs, regions that run again as a whole or draw other numbers then, regions beside the option 'policy', a region around it beside a policy in it, other effects and dynamic shapes, and counting by a positive constant}}
  %y = scf.for %i = %c0 to %c9 step %step iter_args(%t = %x) -> tensor<4xf32> {
    %s = math.sin %t : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// A memory that is written in place becomes a value of its own, which the step
// returns. %y is updated once. Arguments do not overlap, so %x stays as it is.
// CHECK-LABEL: remat.graph @main
// CHECK-SAME:    (%[[X:[a-z0-9]*]]: tensor<4xf32>, %[[Y:[a-z0-9]*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK:         %[[SUM:.*]] = remat.task {{[0-9]+}} @{{.*}}(%[[X]], %[[Y]])
// CHECK-NOT:     copy 1
// CHECK:         remat.return %[[SUM]]
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.add ins(%x, %y : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// Dynamic shapes are refused.
// expected-error @+1 {{dynamic shape is not supported: 'tensor<?xf32>'}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// A region of which all is recomputed, what it yields included, which is the
// step's result: so that it can be made again, the step returns a copy.
// CHECK-LABEL: remat.graph @main
// CHECK:         remat.task 2 @copy
// CHECK:         remat.task 0 copy 1 @matmul
// CHECK:         remat.task 1 copy 1 @sin
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint attributes {early_stop = false} {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = math.sin %p : tensor<32x32xf32>
    remat.yield %t : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// So is what a scope offloads of what it makes.
// CHECK-LABEL: remat.graph @main
// CHECK:         remat.offload
// CHECK:         remat.offload
// CHECK-NOT:     remat.offload
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.scope attributes {offload} {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = math.sin %p : tensor<32x32xf32>
    %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// An operation that becomes several keeps its policy: the task that gives the
// softmax does not run again.
// CHECK-LABEL: remat.graph @main
// CHECK:         remat.task [[SOFTMAX:[0-9]+]] @{{.*}}policies = [#remat.policy<must_save>]
// CHECK-NOT:     remat.task [[SOFTMAX]] copy 1
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    %s = linalg.softmax {remat.policy = #remat.policy<must_save>} dimension(1) ins(%p : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %q = linalg.matmul ins(%s, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// A region may yield a view of a view of a value that it hides. The value then
// lives as long as the view and is not made again.
// CHECK-LABEL: remat.graph @main
// CHECK:         %[[V:.*]] = remat.task {{[0-9]+}} @{{.*}} -> tensor<4x8x32xf32>
// CHECK:         tensor.collapse_shape
// CHECK-NOT:     copy 1
// CHECK:         remat.return
func.func @main(%x: tensor<4x8x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %v = remat.checkpoint {
    %t = math.sin %x : tensor<4x8x32xf32>
    %a = tensor.collapse_shape %t [[0, 1, 2]] : tensor<4x8x32xf32> into tensor<1024xf32>
    %b = tensor.expand_shape %a [[0, 1]] output_shape [32, 32] : tensor<1024xf32> into tensor<32x32xf32>
    remat.yield %b : tensor<32x32xf32>
  } : tensor<32x32xf32>
  %q = linalg.matmul ins(%v, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %q : tensor<32x32xf32>
}

// -----

// An assertion is an effect that may be repeated. It is recomputed with its
// operation.
// CHECK-LABEL: remat.graph @main
// CHECK:         remat.task 0 @[[CHECKED:[a-z_]+]](%{{.*}})
// CHECK:         remat.task 0 copy 1 @[[CHECKED]](%{{.*}})
// CHECK:         remat.return
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = remat.checkpoint {
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
    ^bb0(%a: f32, %o: f32):
      %c = arith.cmpf one, %a, %c0 : f32
      cf.assert %c, "must not be zero"
      %q = arith.divf %one, %a : f32
      linalg.yield %q : f32
    } -> tensor<32x32xf32>
    %q = linalg.matmul ins(%r, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
