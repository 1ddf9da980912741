// RUN: remat-opt %s --remat-mark-keys | FileCheck %s

// Keys of draws, also of those in a loop's body; not offsets, and not what is
// computed from an argument.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %{{.*}}: tensor<i64> {remat.key}, %{{.*}}: tensor<i64> {remat.key}, %{{.*}}: tensor<i64>, %{{.*}}: tensor<i64>)
func.func @main(%here: tensor<i64>, %inside: tensor<i64>, %offset: tensor<i64>, %other: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %u = remat.random %here, %offset : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
  %r = remat.loop @body count 3 carried(%u) invariant(%offset, %inside) sliced() : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  %twice = arith.addi %other, %other : tensor<i64>
  %v = remat.random %twice, %offset : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return %u, %r, %v : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK: func.func private @body(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<i64> {remat.key})
func.func private @body(%a: tensor<4xf32>, %offset: tensor<i64>, %key: tensor<i64>) -> tensor<4xf32> {
  %u = remat.random %key, %offset : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
  %b = arith.addf %a, %u : tensor<4xf32>
  return %b : tensor<4xf32>
}
