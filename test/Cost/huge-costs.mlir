// RUN: remat-opt %s --remat-annotate-costs=threads=2 | FileCheck %s
// RUN: not remat-opt %s --remat-annotate-costs=threads=2 --remat-plan=budget=min 2>&1 | FileCheck %s --check-prefix=PLAN

// Tensors of 2^43 bytes are allowed, and a contraction of them has 2^64 flops. That
// is counted as 2^63, at 100 per nanosecond, and not as 0.
// CHECK: remat.task 0 @contraction({{.*}}) cost 9223372036854{{[0-9]+}}
// Likewise 2^63 exponentials, at 1000 operations per nanosecond.
// CHECK: remat.task 1 @sums({{.*}}) cost 922337203685{{[0-9]+}}

// PLAN: error: {{.*}}huge-costs.mlir:[[#@LINE+27]]:8: the task 'contraction' would take an estimated 9223372036854{{[0-9]+}} ns and all tasks of the step together {{[0-9]+}} ns, expected at most 36028797018963968 ns

!matrix = tensor<2097152x2097152xbf16>
module attributes {remat.target = #remat.target<"cpu", contraction_flops = 100000000000, loop_flops = 1000000000000, bandwidth = 8000000000, launch_ns = 0>} {
func.func private @contraction(%x: !matrix) -> !matrix attributes {remat.kernel} {
  %e = tensor.empty() : !matrix
  %z = arith.constant 0.0 : bf16
  %f = linalg.fill ins(%z : bf16) outs(%e : !matrix) -> !matrix
  %r = linalg.matmul ins(%x, %x : !matrix, !matrix) outs(%f : !matrix) -> !matrix
  return %r : !matrix
}
func.func private @sums(%x: !matrix) -> !matrix attributes {remat.kernel} {
  %e = tensor.empty() : !matrix
  %z = arith.constant 0.0 : bf16
  %f = linalg.fill ins(%z : bf16) outs(%e : !matrix) -> !matrix
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %x : !matrix, !matrix) outs(%f : !matrix) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %p = arith.addf %a, %b : bf16
    %q = math.exp %p : bf16
    %s = arith.addf %o, %q : bf16
    linalg.yield %s : bf16
  } -> !matrix
  return %r : !matrix
}
remat.graph @main(%x: !matrix) -> !matrix {
  %0 = remat.task 0 @contraction(%x) : (!matrix) -> !matrix
  %1 = remat.task 1 @sums(%0) : (!matrix) -> !matrix
  remat.return %1 : !matrix
}
}
