// RUN: remat-opt %s --remat-annotate-costs --remat-plan --remat-assign-buffers --remat-place --remat-lower-cpu="name=step" | FileCheck %s

// A sum along memory is kept in several vectors at a time.
// CHECK-DAG: #[[VECTORS:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK-DAG: #[[LONG:.*]] = #llvm.loop_annotation<interleave = #[[VECTORS]]
// CHECK-LABEL: llvm.func {{.*}}@step_kernel_0_loops
// CHECK-NOT: llvm.alloca
// CHECK: llvm.br {{.*}} {loop_annotation = #[[LONG]]}
// CHECK: llvm.return

// Where the terms that are next to each other are few, partial sums are on the
// stack, and four rows are added to them at a time; what is left of 10 rows, by
// itself.
// CHECK-LABEL: llvm.func {{.*}}@step_kernel_1_loops
// CHECK: llvm.alloca {{.*}} x f64
// CHECK-COUNT-5: llvm.fadd {{.*}} : f64
// CHECK: llvm.return

// So are channels that come last.
// CHECK-LABEL: llvm.func {{.*}}@step_kernel_2_loops
// CHECK: llvm.alloca {{.*}} x f64
// CHECK-COUNT-5: llvm.fadd {{.*}} : f64
// CHECK: llvm.return

#all = affine_map<(n, c, x) -> (n, c, x)>
#middle = affine_map<(n, c, x) -> (c)>
#rows = affine_map<(n, c) -> (n, c)>
#last = affine_map<(n, c) -> (c)>
func.func private @long(%x: tensor<10x20x256xf32>) -> tensor<20xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<20xf32>) -> tensor<20xf32>
  %r = linalg.generic {indexing_maps = [#all, #middle], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<10x20x256xf32>) outs(%init : tensor<20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<20xf32>
  return %r : tensor<20xf32>
}
func.func private @short(%x: tensor<10x20x49xf32>) -> tensor<20xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<20xf32>) -> tensor<20xf32>
  %r = linalg.generic {indexing_maps = [#all, #middle], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<10x20x49xf32>) outs(%init : tensor<20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<20xf32>
  return %r : tensor<20xf32>
}
func.func private @last(%x: tensor<402x20xf32>) -> tensor<20xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<20xf32>) -> tensor<20xf32>
  %r = linalg.generic {indexing_maps = [#rows, #last], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<402x20xf32>) outs(%init : tensor<20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<20xf32>
  return %r : tensor<20xf32>
}
remat.graph @main(%x: tensor<10x20x256xf32>, %y: tensor<10x20x49xf32>, %z: tensor<402x20xf32>) -> (tensor<20xf32>, tensor<20xf32>, tensor<20xf32>) {
  %0 = remat.task 0 @long(%x) : (tensor<10x20x256xf32>) -> tensor<20xf32>
  %1 = remat.task 1 @short(%y) : (tensor<10x20x49xf32>) -> tensor<20xf32>
  %2 = remat.task 2 @last(%z) : (tensor<402x20xf32>) -> tensor<20xf32>
  remat.return %0, %1, %2 : tensor<20xf32>, tensor<20xf32>, tensor<20xf32>
}
