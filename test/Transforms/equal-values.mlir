// A program computes the same twice and asks for different things: cleaning up
// makes one value of the two, and both demands are honoured.

// RUN: remat-opt %s --remat-pipeline="cotangents=true emit=tasks" | FileCheck %s

// CHECK: remat.task 0 @exp(%arg0) {{.*}}names = {{\[\[}}"a"]], policies = [#remat.policy<must_save>]
// CHECK: remat.task 1 @exp(%arg0) {{.*}}names = {{\[\[}}"b"]], policies = [#remat.policy<must_recompute>]
func.func @main(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = math.exp %x : tensor<16x16xf32>
  %a = remat.tag %0 {name = "a", policy = #remat.policy<must_save>} : tensor<16x16xf32>
  %1 = math.exp %x : tensor<16x16xf32>
  %b = remat.tag %1 {name = "b", policy = #remat.policy<must_recompute>} : tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %2 = linalg.matmul ins(%a, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = linalg.matmul ins(%2, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}
