// A network of operations that remat knows only by their interfaces.
#rows = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> ()>
func.func @main(%x: tensor<48x40xf32>, %w: tensor<40x40xf32>,
                %b: tensor<48x40xf32>, %target: tensor<48x40xf32>)
    -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<48x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<48x40xf32>) -> tensor<48x40xf32>
  %product = linalg.matmul ins(%x, %w : tensor<48x40xf32>, tensor<40x40xf32>)
                           outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %sum = dsl.scaled_add %product, %b by 0.5 : tensor<48x40xf32>
  %normal, %rms = dsl.normalize %sum : tensor<48x40xf32>, tensor<48xf32>
  %dropped, %mask = dsl.dropout %normal seed 7 : tensor<48x40xf32>
  %active = dsl.gelu %dropped : tensor<48x40xf32>
  %again = linalg.matmul ins(%active, %w : tensor<48x40xf32>, tensor<40x40xf32>)
                         outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %shares = linalg.softmax dimension(1) ins(%again : tensor<48x40xf32>)
                           outs(%empty : tensor<48x40xf32>) -> tensor<48x40xf32>
  %none = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%none : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#rows, #rows, #one], iterator_types = ["reduction", "reduction"]}
      ins(%shares, %target : tensor<48x40xf32>, tensor<48x40xf32>) outs(%start : tensor<f32>) {
    ^bb0(%share: f32, %wanted: f32, %out: f32):
      %part = arith.mulf %share, %wanted : f32
      %total = arith.addf %out, %part : f32
      linalg.yield %total : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
