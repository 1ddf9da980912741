// RUN: remat-opt %s --remat-import-gathers -verify-diagnostics -split-input-file

// Maps of which the first and the last point are in the tensor, which is all
// that upstream's verifier looks at.

func.func @remainder(%x: tensor<1xf32>, %init: tensor<7xf32>) -> tensor<7xf32> {
  // expected-error @+1 {{operand 0 has size 1 in dimension 0, but is accessed at 'd0 mod 3', from 0 to 2}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 3)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<1xf32>) outs(%init : tensor<7xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @difference(%x: tensor<3x3xf32>, %init: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error @+1 {{operand 1 has size 1 in dimension 0, but is accessed at 'd0 - d1', from -2 to 2}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 - d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x3xf32>) outs(%init : tensor<1xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
