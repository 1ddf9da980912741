// RUN: remat-opt %s --remat-pipeline="wrt=0 microbatches=3 budget=min" | FileCheck %s

// What nothing needs again is not sent to the host, whatever asks for it: also
// in an iteration of a loop that is planned once more, for a smaller arena.
// CHECK:      remat.graph private @main_part
// CHECK:      remat.task 0 @sin({{.*}} {policies = [#remat.policy<must_cpu_offload>]
// CHECK-NOT:  remat.offload
func.func @main(%w: tensor<8xf32>, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<f32>) {
  %z = arith.constant dense<0.0> : tensor<f32>
  %s = remat.scope attributes {offload} {
    %t = math.sin %x : tensor<4x8xf32>
    remat.yield %t : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %e = math.tanh %w : tensor<8xf32>
  %c = math.ceil %s : tensor<4x8xf32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x, %e : tensor<4x8xf32>, tensor<8xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %o : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %c, %l : tensor<4x8xf32>, tensor<f32>
}
