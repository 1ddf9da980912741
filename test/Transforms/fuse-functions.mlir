// A function that several operations read is computed by each of them where
// memory is so slow beside arithmetic that this takes less time, as the tanh of
// a GELU in its gradient is on a GPU. On a CPU, its result is written once.

// RUN: remat-opt %s --split-input-file --remat-fuse-elementwise | FileCheck %s

#i = affine_map<(i) -> (i)>

// CHECK-LABEL: @cpu
// CHECK-COUNT-1: math.tanh
// CHECK-NOT: math.tanh
// CHECK: return
func.func @cpu(%x: tensor<65536xf32>, %g: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>) {
  %e = tensor.empty() : tensor<65536xf32>
  %t = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.tanh %a : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %y = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]} ins(%x, %t : tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %z = linalg.generic {indexing_maps = [#i, #i, #i, #i], iterator_types = ["parallel"]} ins(%g, %x, %t : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %c, %c : f32
    %1 = arith.mulf %0, %a : f32
    %2 = arith.addf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<65536xf32>
  return %y, %z : tensor<65536xf32>, tensor<65536xf32>
}

// -----

#i = affine_map<(i) -> (i)>
module attributes {remat.target = #remat.target<"cuda", loop_flops = 30000000000000, bandwidth = 4000000000000>} {

// CHECK-LABEL: @gpu
// CHECK-COUNT-2: math.tanh
// CHECK-NOT: math.tanh
// CHECK: return
func.func @gpu(%x: tensor<65536xf32>, %g: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>) {
  %e = tensor.empty() : tensor<65536xf32>
  %t = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.tanh %a : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %y = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]} ins(%x, %t : tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %z = linalg.generic {indexing_maps = [#i, #i, #i, #i], iterator_types = ["parallel"]} ins(%g, %x, %t : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %c, %c : f32
    %1 = arith.mulf %0, %a : f32
    %2 = arith.addf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<65536xf32>
  return %y, %z : tensor<65536xf32>, tensor<65536xf32>
}
}
