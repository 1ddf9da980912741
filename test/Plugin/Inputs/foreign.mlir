func.func @main(%x: tensor<3xf32>) -> tensor<f32> {
  %0 = "stablehlo.sine"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "stablehlo.dot"(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
