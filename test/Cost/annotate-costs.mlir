// RUN: remat-opt %s --remat-annotate-costs=threads=2 | FileCheck %s
// RUN: sed 's/launch_ns = 0/launch_ns = 0, threads = 0/' %s | remat-opt --remat-annotate-costs=threads=1 | FileCheck %s
// RUN: not remat-opt %s --remat-annotate-costs=threads=-1 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: 'threads' must not be negative, got -1

// 4 KiB read, 4 KiB written, at 8 bytes per nanosecond.
// CHECK: remat.task {{[0-9]+}} @square({{.*}}) cost 1024
// As much traffic, more than 2 * 32^3 flops at 100 per nanosecond.
// CHECK: remat.task {{[0-9]+}} @contraction({{.*}}) cost 1024
// What lies between two ops is workspace: 32 floats.
// CHECK: remat.task {{[0-9]+}} @center({{.*}}) {{.*}}workspace 128 :

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {remat.target = #remat.target<"cpu", contraction_flops = 100000000000, loop_flops = 1000000000000, bandwidth = 8000000000, launch_ns = 0>} {
func.func private @square(%x: tensor<32x32xf32>) -> tensor<32x32xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
func.func private @contraction(%x: tensor<32x32xf32>) -> tensor<32x32xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32x32xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = linalg.matmul ins(%x, %x : tensor<32x32xf32>, tensor<32x32xf32>)
      outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
func.func private @center(%x: tensor<32x32xf32>) -> tensor<32x32xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<32x32xf32>) outs(%f : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<32xf32>
  %g = tensor.empty() : tensor<32x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<32x32xf32>, tensor<32xf32>)
      outs(%g : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.subf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
remat.graph @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = remat.task 0 @square(%x) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = remat.task 1 @contraction(%0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = remat.task 2 @center(%1) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  remat.return %2 : tensor<32x32xf32>
}
}
