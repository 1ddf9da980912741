// RUN: remat-opt %s --remat-form-tasks --remat-order-tasks --remat-annotate-costs=threads=1 --remat-place-bodies -o %t.mlir && FileCheck %s < %t.mlir

// Bodies that are placed stay as they are, also where costs are annotated again,
// and survive printing.

// RUN: remat-opt %t.mlir --remat-annotate-costs=threads=1 --remat-place-bodies | diff - %t.mlir

// The body is planned for itself. The task of a loop has the arena of the body
// as its workspace, and the second place of what is carried: what is updated in
// place needs none. It costs what the tasks of all iterations cost.

// CHECK-LABEL: remat.graph private @inner(
// CHECK-SAME:      arena_bytes = 256 : i64
// CHECK:         remat.task 0 @{{.*}} at [arena 0]
// CHECK-LABEL: remat.graph private @outer(
// CHECK-SAME:      arena_bytes = 320 : i64
// CHECK:         remat.task 0 @{{.*}} workspace 320
// CHECK-LABEL: remat.graph private @sum(
// CHECK-SAME:      arena_bytes = 0 : i64
// CHECK:         remat.task 0 @{{.*}} cost 2015 at [operand 0]
// CHECK-LABEL: remat.graph @main(
// CHECK-NOT:       arena_bytes
// CHECK:         remat.task 0 @{{.*}} workspace 384
// CHECK:         remat.task 1 @{{[a-z_0-9]*}}(%{{[^)]*}}) cost 18135 :
func.func private @inner(%h: tensor<16xf32>, %w: tensor<16x4xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %f = tensor.empty() : tensor<16x4xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%h, %w : tensor<16xf32>, tensor<16x4xf32>) outs(%f : tensor<16x4xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    linalg.yield %p : f32
  } -> tensor<16x4xf32>
  %b = linalg.reduce ins(%a : tensor<16x4xf32>) outs(%z : tensor<16xf32>) dimensions = [1] (%in: f32, %out: f32) {
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  }
  return %b : tensor<16xf32>
}
func.func private @outer(%h: tensor<16xf32>, %w: tensor<16x4xf32>) -> tensor<16xf32> {
  %r = remat.loop @inner count 3 carried(%h) invariant(%w) sliced() : (tensor<16xf32>, tensor<16x4xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func private @sum(%s: tensor<16xf32> {remat.donated = 0 : i64}, %x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s, %x : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<16xf32>
  return %t : tensor<16xf32>
}
func.func @main(%h: tensor<16xf32>, %w: tensor<16x4xf32>, %x: tensor<9x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %r = remat.loop @outer count 5 carried(%h) invariant(%w) sliced() : (tensor<16xf32>, tensor<16x4xf32>) -> tensor<16xf32>
  %s = remat.loop @sum count 9 carried(%h) invariant() sliced(%x) : (tensor<16xf32>, tensor<9x16xf32>) -> tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}
