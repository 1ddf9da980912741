// RUN: remat-opt %s --remat-apply-policies='policy=save_only_these_names names=a' | FileCheck %s --check-prefixes=CHECK,ONLY
// RUN: remat-opt %s --remat-apply-policies='policy=save_any_names_but_these names=a' | FileCheck %s --check-prefixes=CHECK,BUT
// RUN: remat-opt %s --remat-apply-policies='policy=save_and_offload_only_these_names names=a offload-names=b' | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: remat-opt %s --remat-apply-policies='policy=save_anything_except_these_names names=a' | FileCheck %s --check-prefixes=CHECK,EXCEPT
// RUN: remat-opt %s --remat-apply-policies='policy=dots_saveable' | FileCheck %s --check-prefixes=CHECK,DOTS
// RUN: remat-opt %s --remat-apply-policies='policy=dots_with_no_batch_dims_saveable' | FileCheck %s --check-prefixes=CHECK,NOBATCH
// RUN: remat-opt %s --remat-apply-policies='policy=everything_saveable' | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: remat-opt %s --remat-apply-policies='policy=nothing_saveable' | FileCheck %s --check-prefixes=CHECK,NOTHING
// RUN: remat-opt %s --remat-apply-policies='save-ops=math.tanh recompute-ops=math.sin offload-ops=linalg.matmul' | FileCheck %s --check-prefixes=CHECK,OPS
// RUN: not remat-opt %s --remat-apply-policies='policy=save_some' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not remat-opt %s --remat-apply-policies='policy=save_and_offload_only_these_names names=a,b offload-names=b' 2>&1 | FileCheck %s --check-prefix=DISJOINT
// RUN: not remat-opt %s --remat-apply-policies='policy=save_only_these_names names=typo' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not remat-opt %s --remat-apply-policies='policy=save_and_offload_only_these_names offload-names=typo' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not remat-opt %s --remat-apply-policies='policy=dots_saveable names=a' 2>&1 | FileCheck %s --check-prefix=NONAMES
// RUN: not remat-opt %s --remat-apply-policies='policy=save_only_these_names names=a offload-names=b' 2>&1 | FileCheck %s --check-prefix=NOOFFLOAD
// RUN: not remat-opt %s --remat-apply-policies='save-ops=math.tanh,no.such' 2>&1 | FileCheck %s --check-prefix=OP -DOP=no.such
// RUN: not remat-opt %s --remat-apply-policies='recompute-ops=math.cos' 2>&1 | FileCheck %s --check-prefix=OP -DOP=math.cos
// RUN: not remat-opt %s --remat-apply-policies='offload-ops=math.sinh' 2>&1 | FileCheck %s --check-prefix=OP -DOP=math.sinh
// RUN: not remat-opt %s --remat-apply-policies='save-ops=math.sin,math.tanh recompute-ops=math.tanh' 2>&1 | FileCheck %s --check-prefix=LISTS
// RUN: not remat-opt %s --remat-apply-policies='recompute-ops=math.tanh offload-ops=math.tanh' 2>&1 | FileCheck %s --check-prefix=LISTS2

// Policies take lists of names, and the list of saved names and that of offloaded
// names are disjoint. Contractions have policies with and without batch
// dimensions. An unknown policy is an error that lists the choices. Operations
// outside of the region are untouched.

// UNKNOWN: error: unknown policy 'save_some', expected one of 'everything_saveable', 'nothing_saveable', 'dots_saveable'
// DISJOINT: error: name 'b' is both saved and offloaded

// What would have no effect, or two, is refused: names and operations that are
// not there, with those that are; here in the region, where cosines are not.
// NAME: error: no value that policies are about has the name 'typo', names are 'a', 'b'
// NONAMES: error: names have no effect without a policy that is about names
// NOOFFLOAD: error: names to offload have no effect without the policy 'save_and_offload_only_these_names'
// OP: error: policies are about no operation '[[OP]]', operations are 'linalg.batch_matmul', 'linalg.matmul', 'math.sin', 'math.tanh'
// LISTS: error: operation 'math.tanh' is both in 'save-ops' and in 'recompute-ops', which contradict each other
// LISTS2: error: operation 'math.tanh' is both in 'recompute-ops' and in 'offload-ops', which contradict each other

// CHECK-LABEL: func.func @main
// CHECK:         remat.checkpoint
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %b: tensor<2x4x4xf32>) -> (tensor<4x4xf32>, tensor<2x4x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %e3 = tensor.empty() : tensor<2x4x4xf32>
  %z3 = linalg.fill ins(%c0 : f32) outs(%e3 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %y:2 = remat.checkpoint {
    // CHECK:         math.sin
    // ALL-NEXT:      remat.tag %{{.*}} {name = "a", policy = #remat.policy<must_save>}
    // EXCEPT-NEXT:   remat.tag %{{.*}} {name = "a"}
    // OPS-NEXT:      remat.tag %{{.*}} {policy = #remat.policy<must_recompute>}
    %0 = math.sin %x : tensor<4x4xf32>
    // ONLY-NEXT:     remat.tag %{{.*}} {name = "a", policy = #remat.policy<must_save>}
    // BUT-NEXT:      remat.tag %{{.*}} {name = "a"} :
    // BOTH-NEXT:     remat.tag %{{.*}} {name = "a", policy = #remat.policy<must_save>}
    // NOTHING-NEXT:  remat.tag %{{.*}} {name = "a"} :
    %a = remat.tag %0 {name = "a"} : tensor<4x4xf32>
    // CHECK:         linalg.matmul
    // DOTS-NEXT:     remat.tag %{{.*}} {policy = #remat.policy<must_save>}
    // NOBATCH-NEXT:  remat.tag %{{.*}} {policy = #remat.policy<must_save>}
    // OPS-NEXT:      remat.tag %{{.*}} {policy = #remat.policy<must_cpu_offload>}
    %1 = linalg.matmul ins(%a, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK:         math.tanh
    // OPS-NEXT:      remat.tag %{{.*}} {policy = #remat.policy<must_save>}
    %2 = math.tanh %1 : tensor<4x4xf32>
    // ONLY-NEXT:     remat.tag %{{.*}} {name = "b"} :
    // BUT-NEXT:      remat.tag %{{.*}} {name = "b", policy = #remat.policy<must_save>}
    // BOTH-NEXT:     remat.tag %{{.*}} {name = "b", policy = #remat.policy<must_cpu_offload>}
    // EXCEPT-NEXT:   remat.tag %{{.*}} {name = "b", policy = #remat.policy<must_save>}
    %c = remat.tag %2 {name = "b"} : tensor<4x4xf32>
    // CHECK:         linalg.batch_matmul
    // DOTS-NEXT:     remat.tag %{{.*}} {policy = #remat.policy<must_save>}
    // NOBATCH-NEXT:  remat.yield
    %3 = linalg.batch_matmul ins(%b, %b : tensor<2x4x4xf32>, tensor<2x4x4xf32>) outs(%z3 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    remat.yield %c, %3 : tensor<4x4xf32>, tensor<2x4x4xf32>
  } : tensor<4x4xf32>, tensor<2x4x4xf32>
  // CHECK:       math.cos
  // CHECK-NOT:   remat.tag
  // CHECK:       return
  %4 = math.cos %y#0 : tensor<4x4xf32>
  return %4, %y#1 : tensor<4x4xf32>, tensor<2x4x4xf32>
}
