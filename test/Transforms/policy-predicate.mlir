// RUN: remat-opt %s --transform-interpreter --remat-import-pipeline | FileCheck %s
// RUN: remat-opt %s --remat-import-pipeline | FileCheck %s

// A predicate of the program's own says which values are saved: the results of
// contractions, found by a matcher of the transform dialect. Pipelines run scripts of
// the module first.

// CHECK-LABEL: func.func @main
// CHECK:         %[[P:.*]] = linalg.contract
// CHECK-NEXT:    remat.tag %[[P]] {policy = #remat.policy<must_save>}
// CHECK-NOT:     remat.tag
module attributes {transform.with_named_sequence} {
  func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %c0 = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x4xf32>
    %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = math.sin %p : tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
  transform.named_sequence @is_contraction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @save(%op: !transform.any_op {transform.readonly}) {
    %policy = transform.param.constant #remat.policy<must_save> -> !transform.any_param
    transform.annotate %op "remat.policy" = %policy : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.consumed}) {
    %0 = transform.foreach_match in %module @is_contraction -> @save : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
