// DEFINE: %{to-tasks} = --remat-lower-checkpoints --remat-differentiate=mode=reverse --canonicalize --cse --remat-form-tasks
// RUN: remat-opt %s %{to-tasks} --remat-plan="region-budget=outer:0" | FileCheck %s
// RUN: remat-opt %s %{to-tasks} --remat-plan="region-budget=inner:0" | FileCheck %s --check-prefix=INNER

// The budget of a region also bounds the regions inside of it. The budget of an
// inner region does not bound what is outside of it.

// CHECK:     remat.task 0 @{{.*}}names = {{\[\[}}"outer", "inner"]]
// CHECK:     remat.task 3 @{{.*}}names = {{\[\[}}"outer"]]
// CHECK-DAG: remat.task 0 copy 1
// CHECK-DAG: remat.task 1 copy 1
// CHECK-DAG: remat.task 3 copy 1
// CHECK:     remat.return

// INNER-DAG: remat.task 0 copy 1
// INNER-DAG: remat.task 1 copy 1
// INNER-NOT: remat.task 3 copy 1
// INNER:     remat.return

func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %y = remat.checkpoint attributes {name = "outer", policy = #remat.policy<prefer_save>} {
    %z = remat.checkpoint attributes {name = "inner", policy = #remat.policy<prefer_save>} {
      %0 = math.exp %x : tensor<32xf32>
      %1 = math.tanh %0 : tensor<32xf32>
      %2 = math.sin %1 : tensor<32xf32>
      remat.yield %2 : tensor<32xf32>
    } : tensor<32xf32>
    %0 = math.exp %z : tensor<32xf32>
    %1 = math.sin %0 : tensor<32xf32>
    remat.yield %1 : tensor<32xf32>
  } : tensor<32xf32>
  %0 = math.sin %y : tensor<32xf32>
  return %0 : tensor<32xf32>
}
