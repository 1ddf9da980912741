// Attention with a mask: 6 heads, 19 queries of 21 keys, sizes 7 and 5.
func.func @main(%q: tensor<6x19x7xf32>, %k: tensor<6x21x7xf32>, %v: tensor<6x21x5xf32>) -> (tensor<6x19x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %v1 = tensor.empty() : tensor<6x19x21xf32>
  %v2 = linalg.fill ins(%zero : f32) outs(%v1 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<6x19x7xf32>, tensor<6x21x7xf32>) outs(%v2 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19x21xf32>
  %v4 = tensor.empty() : tensor<6x19x21xf32>
  %v5 = linalg.fill ins(%zero : f32) outs(%v4 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<6x19x21xf32>) outs(%v5 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c4 = arith.constant 4 : index
    %i4 = arith.addi %i, %c4 : index
    %in = arith.cmpi sle, %j, %i4 : index
    %x = arith.select %in, %a0, %low : f32
    linalg.yield %x : f32
  } -> tensor<6x19x21xf32>
  %v7 = tensor.empty() : tensor<6x19xf32>
  %v8 = linalg.fill ins(%low : f32) outs(%v7 : tensor<6x19xf32>) -> tensor<6x19xf32>
  %v9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v6 : tensor<6x19x21xf32>) outs(%v8 : tensor<6x19xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %s = arith.maximumf %a0, %o : f32
    linalg.yield %s : f32
  } -> tensor<6x19xf32>
  %v10 = tensor.empty() : tensor<6x19x21xf32>
  %v11 = linalg.fill ins(%zero : f32) outs(%v10 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v6, %v9 : tensor<6x19x21xf32>, tensor<6x19xf32>) outs(%v11 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.subf %a0, %a1 : f32
    %x = math.exp %s : f32
    linalg.yield %x : f32
  } -> tensor<6x19x21xf32>
  %v13 = tensor.empty() : tensor<6x19xf32>
  %v14 = linalg.fill ins(%zero : f32) outs(%v13 : tensor<6x19xf32>) -> tensor<6x19xf32>
  %v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v12 : tensor<6x19x21xf32>) outs(%v14 : tensor<6x19xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %s = arith.addf %a0, %o : f32
    linalg.yield %s : f32
  } -> tensor<6x19xf32>
  %v16 = tensor.empty() : tensor<6x19x21xf32>
  %v17 = linalg.fill ins(%zero : f32) outs(%v16 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v12, %v15 : tensor<6x19x21xf32>, tensor<6x19xf32>) outs(%v17 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.divf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<6x19x21xf32>
  %v19 = tensor.empty() : tensor<6x19x5xf32>
  %v20 = linalg.fill ins(%zero : f32) outs(%v19 : tensor<6x19x5xf32>) -> tensor<6x19x5xf32>
  %v21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v18, %v : tensor<6x19x21xf32>, tensor<6x21x5xf32>) outs(%v20 : tensor<6x19x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19x5xf32>
  return %v21 : tensor<6x19x5xf32>
}
