// One iteration over a thousand updates.
func.func @main(%x: tensor<10x4xf32>, %u: tensor<1000x4xf32>, %ids: tensor<1000xi64>) -> tensor<10x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %high = arith.constant 1 : index
  %r = scf.for %i = %c0 to %high step %c1 iter_args(%a = %x) -> (tensor<10x4xf32>) {
    %e = tensor.extract %ids[%i] : tensor<1000xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<1000x4xf32> to tensor<1x4xf32>
    %t = tensor.extract_slice %a[%p, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<1x4xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1x4xf32>) outs(%t : tensor<1x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %f = math.exp %in : f32
      %y = arith.addf %out, %f : f32
      linalg.yield %y : f32
    } -> tensor<1x4xf32>
    %n = tensor.insert_slice %g into %a[%p, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<10x4xf32>
    scf.yield %n : tensor<10x4xf32>
  }
  return %r : tensor<10x4xf32>
}
