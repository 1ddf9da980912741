// RUN: remat-opt %s --remat-import-generalize -verify-diagnostics

func.func @strided_diagonal(%x: tensor<4xf32>, %y: tensor<4x7xf32>) -> tensor<4x7xf32> {
  // expected-error @+1 {{writes some elements of result #0 only, by affine_map<(d0) -> (d0, d0 * 2)>, expected all, a slice or a diagonal}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, d0 * 2)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<4x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x7xf32>
  return %0 : tensor<4x7xf32>
}
