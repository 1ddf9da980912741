// RUN: remat-opt %s --remat-differentiate="mode=reverse" --split-input-file --verify-diagnostics -o /dev/null

// Constants that seem to be weights, as they are or laid out anew.
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %t = linalg.transpose ins(%w : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) permutation = [1, 0]
  // expected-warning @+1 {{2 of the contractions and convolutions of 'main' have a constant as a factor, this one is the first; if constants are weights, they get no gradients: export the model so that they are arguments, as remat.torch.export(model, args) does}}
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = linalg.matmul ins(%y, %t : tensor<2x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// -----

// A sum along rows is no product with weights.
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %ones = arith.constant dense<1.0> : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %ones : tensor<2x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
