// A loss of a batch whose rows take far more than the weights: in parts it
// takes less memory on every machine. (Products of f64 call no library.)
func.func @main(%x: tensor<256x16xf64>, %w: tensor<16x32xf64>, %v: tensor<32x16xf64>) -> tensor<f64> {
  %c0 = arith.constant 0.0 : f64
  %e0 = tensor.empty() : tensor<256x32xf64>
  %f0 = linalg.fill ins(%c0 : f64) outs(%e0 : tensor<256x32xf64>) -> tensor<256x32xf64>
  %h = linalg.matmul ins(%x, %w : tensor<256x16xf64>, tensor<16x32xf64>) outs(%f0 : tensor<256x32xf64>) -> tensor<256x32xf64>
  %a = math.tanh %h : tensor<256x32xf64>
  %e1 = tensor.empty() : tensor<256x16xf64>
  %f1 = linalg.fill ins(%c0 : f64) outs(%e1 : tensor<256x16xf64>) -> tensor<256x16xf64>
  %p = linalg.matmul ins(%a, %v : tensor<256x32xf64>, tensor<32x16xf64>) outs(%f1 : tensor<256x16xf64>) -> tensor<256x16xf64>
  %y = math.sin %p : tensor<256x16xf64>
  %e2 = tensor.empty() : tensor<f64>
  %f2 = linalg.fill ins(%c0 : f64) outs(%e2 : tensor<f64>) -> tensor<f64>
  %loss = linalg.reduce { arith.addf } ins(%y : tensor<256x16xf64>) outs(%f2 : tensor<f64>) dimensions = [0, 1]
  return %loss : tensor<f64>
}
