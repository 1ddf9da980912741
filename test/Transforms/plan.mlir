// RUN: remat-opt %s --remat-plan=reuse-result-buffers=false | FileCheck %s --check-prefix=ALL
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=min" | FileCheck %s --check-prefix=TIGHT
// RUN: not remat-opt %s --remat-plan="reuse-result-buffers=false budget=383" 2>&1 | FileCheck %s --check-prefix=INFEASIBLE
// RUN: not remat-opt %s --remat-plan="reuse-result-buffers=false budget=x" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not remat-opt %s --remat-plan="reuse-result-buffers=false planner=none" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 explain" 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: not remat-opt %s --remat-plan="reuse-result-buffers=false effort=-1" 2>&1 | FileCheck %s --check-prefix=EFFORT
// RUN: not remat-opt %s --remat-plan="reuse-result-buffers=false time-limit=nan" 2>&1 | FileCheck %s --check-prefix=CLOCK
// RUN: not remat-opt %s --remat-plan="reuse-result-buffers=false link-bandwidth=fast" 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=inf" | FileCheck %s --check-prefix=OFFLOAD
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=25GB/s offload=false" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 reorder seed=3 search-threads=2 effort=0.1 time-limit=5" | FileCheck %s --check-prefix=TIGHT
// With 'explain', a remark says for each value what was decided and why. A graph
// is planned only once, and planning can be switched off.
// RUN: not remat-opt %s --remat-plan=reuse-result-buffers=false --remat-plan 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false planner=save-all" | FileCheck %s --check-prefix=ALL

// Clones survive what merges equal operations elsewhere, and so does the peak
// (the graph's verifier would say so).
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384" --cse --canonicalize --cse | FileCheck %s --check-prefix=TIGHT

// A chain of three forward tasks and their backward tasks, 128 bytes a value.
// Keeping all, f0, f1, f2 and two gradients live at the widest point: 512.
// With f0 recomputed before b1: three values at a time.

// ALL: remat.graph @chain
// ALL-SAME: planned_peak = 512 : i64, save_all_peak = 512 : i64
// ALL-NOT: copy

// TIGHT: remat.graph @chain
// TIGHT-SAME: budget = 384 : i64
// TIGHT-SAME: planned_peak = 384 : i64, save_all_peak = 512 : i64
// TIGHT: remat.task 3 @f({{.*}}) backward
// TIGHT: remat.task 0 copy 1 @f(

// INFEASIBLE: error: 'remat.graph' op budget 383 bytes is infeasible, the smallest feasible is 384
// INFEASIBLE: note: no plan can need less than 384 bytes
// INFEASIBLE-NEXT: most is live while

// MALFORMED: error: remat-plan: budget: malformed budget 'x', expected bytes with an optional suffix KiB, MiB or GiB, a percentage such as '60%', or 'min'
// UNKNOWN: error: remat-plan: planner: unknown planner 'none', expected one of 'auto', 'save-all',
// EXPLAIN: remark: result 0: recomputed, 128 bytes, at a cost of 1 ns; keeping it would hold {{.*}} more bytes x ns
// EXPLAIN: remark: result 0: saved, 128 bytes; recomputing it would cost 2 ns
// EFFORT: error: remat-plan: effort: expected a number, 0 or more, got '-1'
// CLOCK: error: remat-plan: time-limit: expected a number, 0 or more, got 'nan'
// LINK: error: remat-plan: link-bandwidth: malformed bandwidth 'fast', expected bytes per second
// OFFLOAD: remat.reload
// TWICE: error: 'remat.graph' op is already planned

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @b(%a: tensor<32xf32>, %g: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @chain(%x: tensor<32xf32>) -> tensor<32xf32> {
  %f0 = remat.task 0 @f(%x) cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %f1 = remat.task 1 @f(%f0) cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %f2 = remat.task 2 @f(%f1) cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %b3 = remat.task 3 @f(%f2) backward cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %b2 = remat.task 4 @b(%f1, %b3) backward cost 1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b1 = remat.task 5 @b(%f0, %b2) backward cost 1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b0 = remat.task 6 @b(%x, %b1) backward cost 1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %b0 : tensor<32xf32>
}
