// 20 iterations, of each of which the derivative needs two values of 64 bytes.
func.func private @cell(%h: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %a = linalg.mul ins(%h, %w : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %c = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @main(%h: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %r = remat.loop @cell count 20 carried(%h) invariant(%w) sliced() : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
