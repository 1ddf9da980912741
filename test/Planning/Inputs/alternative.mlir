// Two ways to do the same, both of which fit: the first one is faster.
func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @b(%a: tensor<32xf32>, %g: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @main(%x: tensor<32xf32>) -> tensor<32xf32> attributes {remat.alternative = @other, remat.microbatch_order = "parts"} {
  %f0 = remat.task 0 @f(%x) cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %f1 = remat.task 1 @f(%f0) cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %b0 = remat.task 2 @b(%f0, %f1) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %b0 : tensor<32xf32>
}
remat.graph private @other(%x: tensor<32xf32>) -> tensor<32xf32> attributes {remat.microbatch_order = "layers"} {
  %f0 = remat.task 0 @f(%x) cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %f1 = remat.task 1 @f(%f0) cost 9000 : (tensor<32xf32>) -> tensor<32xf32>
  %b0 = remat.task 2 @b(%f0, %f1) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %b0 : tensor<32xf32>
}
