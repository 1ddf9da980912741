// RUN: remat-opt %s --remat-tasks-pipeline | FileCheck %s

// A product of bf16 that is in no cluster stands where it stood, also with
// zeros to start from that are its own: the operations of a softmax around it
// are put together.
// CHECK-LABEL: remat.graph @main
// CHECK-DAG:   remat.task {{.*}} @batch_matmul
// CHECK-DAG:   remat.task {{.*}} @softmax_rows
#full = affine_map<(b, i, k) -> (b, i, k)>
#row = affine_map<(b, i, k) -> (b, i)>
func.func @main(%x: tensor<6x6x4xbf16>, %a: tensor<6x5x4xbf16>, %b: tensor<6x4x4xbf16>)
    -> (tensor<6x6x4xbf16>, tensor<6x5x4xbf16>) {
  %low = arith.constant dense<-1.0e30> : tensor<6x6xbf16>
  %zero = arith.constant dense<0.0> : tensor<6x6xbf16>
  %zeros = arith.constant dense<0.0> : tensor<6x5x4xbf16>
  %e = tensor.empty() : tensor<6x6x4xbf16>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<6x6x4xbf16>) outs(%low : tensor<6x6xbf16>) {
  ^bb0(%p: bf16, %q: bf16):
    %r = arith.maximumf %p, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<6x6xbf16>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<6x6x4xbf16>, tensor<6x6xbf16>) outs(%e : tensor<6x6x4xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %s = arith.subf %p, %q : bf16
    %r = math.exp %s : bf16
    linalg.yield %r : bf16
  } -> tensor<6x6x4xbf16>
  %product = linalg.contract indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, k, j)>,
      affine_map<(b, i, j, k) -> (b, i, j)>] ins(%a, %b : tensor<6x5x4xbf16>, tensor<6x4x4xbf16>)
      outs(%zeros : tensor<6x5x4xbf16>) -> tensor<6x5x4xbf16>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%d : tensor<6x6x4xbf16>) outs(%zero : tensor<6x6xbf16>) {
  ^bb0(%p: bf16, %q: bf16):
    %r = arith.addf %p, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<6x6xbf16>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%d, %sum : tensor<6x6x4xbf16>, tensor<6x6xbf16>) outs(%e : tensor<6x6x4xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %r = arith.divf %p, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<6x6x4xbf16>
  return %y, %product : tensor<6x6x4xbf16>, tensor<6x5x4xbf16>
}
