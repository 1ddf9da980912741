// A kernel that also returns its operand as it is does not write over it: the
// result that is the operand may be copied from it behind all others.

// RUN: remat-run %s --gradcheck --threads=1

func.func @main(%x: tensor<2x3xf64>) -> tensor<1x1xf64> {
  %twice = arith.addf %x, %x : tensor<2x3xf64>
  %a = math.atan %x : tensor<2x3xf64>
  %b = arith.addf %a, %a : tensor<2x3xf64>
  %c = arith.addf %twice, %b : tensor<2x3xf64>
  %zero = arith.constant dense<0.0> : tensor<2x2xf64>
  %p = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%c, %b : tensor<2x3xf64>, tensor<2x3xf64>) outs(%zero : tensor<2x2xf64>) -> tensor<2x2xf64>
  %y = tensor.extract_slice %p[0, 0] [1, 1] [1, 1] : tensor<2x2xf64> to tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}
