// Gradients of slices that go backwards and have elements in common.
// RUN: remat-run %s --gradcheck
// RUN: remat-run %s --gradcheck=2

func.func @main(%x: tensor<8xf64>, %y: tensor<8xf64>, %z: tensor<6x5xf64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<3x2xf64>) {
  // Elements 5, 4, 3 and 4, 5, 6.
  %a = tensor.extract_slice %x[5] [3] [-1] : tensor<8xf64> to tensor<3xf64>
  %b = tensor.extract_slice %x[4] [3] [1] : tensor<8xf64> to tensor<3xf64>
  %e3 = tensor.empty() : tensor<3xf64>
  %0 = linalg.mul ins(%a, %b : tensor<3xf64>, tensor<3xf64>) outs(%e3 : tensor<3xf64>) -> tensor<3xf64>
  // Elements 5, 1 and 5, 2.
  %c = tensor.extract_slice %y[5] [2] [-4] : tensor<8xf64> to tensor<2xf64>
  %d = tensor.extract_slice %y[5] [2] [-3] : tensor<8xf64> to tensor<2xf64>
  %e2 = tensor.empty() : tensor<2xf64>
  %1 = linalg.mul ins(%c, %d : tensor<2xf64>, tensor<2xf64>) outs(%e2 : tensor<2xf64>) -> tensor<2xf64>
  // Rows 4, 2, 0 and 0, 2, 4; columns 4, 1 and 0, 1.
  %f = tensor.extract_slice %z[4, 4] [3, 2] [-2, -3] : tensor<6x5xf64> to tensor<3x2xf64>
  %g = tensor.extract_slice %z[0, 0] [3, 2] [2, 1] : tensor<6x5xf64> to tensor<3x2xf64>
  %e32 = tensor.empty() : tensor<3x2xf64>
  %2 = linalg.mul ins(%f, %g : tensor<3x2xf64>, tensor<3x2xf64>) outs(%e32 : tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0, %1, %2 : tensor<3xf64>, tensor<2xf64>, tensor<3x2xf64>
}
