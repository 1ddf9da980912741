// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

// What is in host memory comes in a task before the first task that reads it,
// both parts of what one task reads, and goes back behind the task that makes
// it. Views of an argument are views of its copy.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: remat.graph @main(
// CHECK-SAME: %[[X:.*]]: tensor<64xf32>, %[[M:.*]]: tensor<64xf32> {remat.donated = 1 : i64, remat.host}, %[[N:.*]]: tensor<8x8xf32> {remat.host})
func.func @main(%x: tensor<64xf32>, %m: tensor<64xf32> {remat.donated = 1 : i64, remat.host},
                %n: tensor<8x8xf32> {remat.host}) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %flat = tensor.collapse_shape %n [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  // CHECK: %[[A:.*]] = remat.task {{.*}} @exp(%[[X]])
  %a = linalg.exp ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  // CHECK-NEXT: %[[MC:.*]] = remat.task {{.*}} @[[T:transfer]](%[[M]])
  // CHECK-NEXT: %[[NC:.*]] = remat.task {{.*}} @[[T2:transfer_1]](%[[N]])
  // CHECK-NEXT: %[[FLAT:.*]] = tensor.collapse_shape %[[NC]]
  // CHECK-NEXT: %[[B:.*]] = remat.task {{.*}} @exp(%[[A]])
  %b = linalg.exp ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  // CHECK-NEXT: %[[S:.*]] = remat.task {{.*}}(%[[B]], %[[MC]], %[[FLAT]])
  // CHECK-NEXT: %[[BACK:.*]] = remat.task {{.*}} @[[T]](%[[S]])
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%b, %m, %flat : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32, %o: f32):
    %p = arith.mulf %i, %j : f32
    %r = arith.addf %p, %k : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  // CHECK-NEXT: %[[Y:.*]] = remat.task {{.*}} @exp(%[[B]])
  %y = linalg.exp ins(%b : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  // CHECK-NEXT: remat.return %[[Y]], %[[BACK]]
  return %y, %s : tensor<64xf32>, tensor<64xf32>
}
// CHECK: func.func private @transfer(
// CHECK: linalg.copy {remat.transfer}
