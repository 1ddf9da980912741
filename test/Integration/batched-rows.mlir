// Weights of a mixture of experts multiply each token by itself: the batch of
// that contraction is what the next one has in its rows. It is computed in the same
// kernel, and not as a contraction of matrices.

// RUN: rm -rf %t.in %t.out %t.ref
// RUN: remat-reference random %s %t.in
// RUN: remat-reference run %s %t.in %t.ref
// RUN: remat-run %s --inputs=%t.in --outputs=%t.out --emit=forward --poison
// RUN: remat-reference compare '%t.ref/result*.npy' '%t.out/result*.npy' 1e-5

#token = affine_map<(n, k, e, d) -> (n, k, e)>
#value = affine_map<(n, k, e, d) -> (n, k, d)>
#mixed = affine_map<(n, k, e, d) -> (e, n, d)>
#lhs = affine_map<(e, n, f, d) -> (e, n, d)>
#rhs = affine_map<(e, n, f, d) -> (e, d, f)>
#out = affine_map<(e, n, f, d) -> (e, n, f)>
func.func @main(%g: tensor<19x1x3xf32>, %x: tensor<19x1x8xf32>,
                %w: tensor<3x8x5xf32>) -> tensor<3x19x5xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x19x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x19x8xf32>) -> tensor<3x19x8xf32>
  %2 = linalg.contract indexing_maps = [#token, #value, #mixed] ins(%g, %x : tensor<19x1x3xf32>, tensor<19x1x8xf32>) outs(%1 : tensor<3x19x8xf32>) -> tensor<3x19x8xf32>
  %3 = tensor.empty() : tensor<3x19x5xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x19x5xf32>) -> tensor<3x19x5xf32>
  %5 = linalg.contract indexing_maps = [#lhs, #rhs, #out] ins(%2, %w : tensor<3x19x8xf32>, tensor<3x8x5xf32>) outs(%4 : tensor<3x19x5xf32>) -> tensor<3x19x5xf32>
  return %5 : tensor<3x19x5xf32>
}
