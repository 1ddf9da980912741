// DEFINE: %{to-tasks} = --remat-lower-checkpoints --remat-differentiate=mode=reverse --canonicalize --cse --remat-form-tasks
// RUN: remat-opt %s %{to-tasks} | FileCheck %s --check-prefix=NAMES
// RUN: remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:128,block2:0" | FileCheck %s
// RUN: remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:256,block2:1KiB" | FileCheck %s --check-prefix=ALL
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=fixed:64" 2>&1 | FileCheck %s --check-prefix=FORCED
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=block3:64" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=block1" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:64,block1:128" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:50%%" 2>&1 | FileCheck %s --check-prefix=SHARE
// RUN: not remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:99999999999GiB" 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not remat-compile %s --cotangents --region-budget=block3:64 -o %t.o 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not remat-plan %s --no-gradients --region-budget=block3:64 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: remat-opt %s %{to-tasks} --remat-plan="region-budget=block1:128,block2:0" --remat-assign-buffers --remat-place | FileCheck %s --check-prefix=PLACED

// Two budgets for one name, and malformed budgets, are errors.
// TWICE: region 'block1' has two budgets
// NEGATIVE: malformed region budget 'block1:-1'
// SHARE: malformed region budget 'block1:50%'
// OVERFLOW: malformed region budget 'block1:99999999999GiB'

// The graph's verifier knows the budgets.
// PLACED: region_budgets = {block1 = 128 : i64, block2 = 0 : i64}

// A budget for an unknown region, or one that no plan meets, is an error. A larger
// budget keeps more. Each value takes 128 bytes. A value that a region yields is outside of it.

// NAMES: remat.task 0 @{{.*}}{names = {{\[\[}}"block1"]]
// NAMES: remat.task 1 @{{.*}}{names = {{\[\[}}"block1"]]
// NAMES: remat.task 2 @{{[^{]*$}}
// NAMES: remat.task 3 @{{.*}}{names = {{\[\[}}"block2"]]
// NAMES: remat.task 4 @{{.*}}{names = {{\[\[}}"block2"]]
// NAMES: remat.task 6 @{{.*}}{names = {{\[\[}}"fixed"]]

// One value of the first region is kept, none of the second.
// CHECK-LABEL: remat.graph @main
// CHECK-NOT:     remat.task 0 copy
// CHECK-DAG:     remat.task 1 copy 1
// CHECK-DAG:     remat.task 3 copy 1
// CHECK-DAG:     remat.task 4 copy 1
// CHECK:         remat.return

// ALL-NOT: copy =

// FORCED: the budget of region 'fixed' is 64 bytes, but values of 128 bytes may not be recomputed: expected at least 128
// UNKNOWN: region 'block3' has a budget, but no forward value has this name
// MALFORMED: malformed region budget 'block1', expected a name and bytes, such as 'block1:64MiB'

func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %y = remat.checkpoint attributes {name = "block1", policy = #remat.policy<prefer_save>} {
    %0 = math.exp %x : tensor<32xf32>
    %1 = math.tanh %0 : tensor<32xf32>
    %2 = math.sin %1 : tensor<32xf32>
    remat.yield %2 : tensor<32xf32>
  } : tensor<32xf32>
  %z = remat.checkpoint attributes {name = "block2", policy = #remat.policy<prefer_save>} {
    %0 = math.exp %y : tensor<32xf32>
    %1 = math.tanh %0 : tensor<32xf32>
    %2 = math.sin %1 : tensor<32xf32>
    remat.yield %2 : tensor<32xf32>
  } : tensor<32xf32>
  %0 = math.exp %z : tensor<32xf32>
  %1 = remat.tag %0 {name = "fixed", policy = #remat.policy<must_save>} : tensor<32xf32>
  %2 = math.sin %1 : tensor<32xf32>
  return %2 : tensor<32xf32>
}
