// RUN: remat-opt %s --remat-pipeline="cotangents" -split-input-file | FileCheck %s

// What is returned is in a buffer of the caller and never made again. An
// operation that makes it beside something that must be made again writes it to
// the arena, from where it is copied before anything else.
// CHECK-LABEL: remat.graph @main
// CHECK:       %[[BOTH:.*]]:2 = remat.task 0 @exp_sin(%arg0)
// CHECK-NEXT:  %[[COPY:.*]] = remat.task 1 @copy{{.*}}(%[[BOTH]]#0)
// CHECK:       remat.task 0 copy 1 @exp_sin(%arg0)
// CHECK:       remat.return %[[COPY]],
#i = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %a:2 = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e, %e : tensor<64xf32>, tensor<64xf32>)
      attrs = {remat.policy = #remat.policy<must_recompute>} {
  ^bb0(%p: f32, %o: f32, %q: f32):
    %s = math.exp %p : f32
    %t = math.sin %p : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  %b = math.tanh %a#1 : tensor<64xf32>
  %c = arith.mulf %b, %a#1 : tensor<64xf32>
  return %a#0, %c : tensor<64xf32>, tensor<64xf32>
}

// -----

// Nothing needs the other one later: nothing is copied.
// CHECK-LABEL: remat.graph @main
// CHECK:       %[[BOTH:.*]]:2 = remat.task 0 @exp_floor(%arg0)
// CHECK-NOT:   copy
// CHECK:       remat.return %[[BOTH]]#0
#i = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %a:2 = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e, %e : tensor<64xf32>, tensor<64xf32>)
      attrs = {remat.policy = #remat.policy<must_recompute>} {
  ^bb0(%p: f32, %o: f32, %q: f32):
    %s = math.exp %p : f32
    %t = math.floor %p : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  %c = math.ceil %a#1 : tensor<64xf32>
  return %a#0, %c : tensor<64xf32>, tensor<64xf32>
}
