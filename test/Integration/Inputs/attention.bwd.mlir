// The same with its derivative, by hand.
func.func @main(%q: tensor<6x19x7xf32>, %k: tensor<6x21x7xf32>, %v: tensor<6x21x5xf32>, %g: tensor<6x19x5xf32>) -> (tensor<6x19x5xf32>, tensor<6x19x7xf32>, tensor<6x21x7xf32>, tensor<6x21x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %v22 = tensor.empty() : tensor<6x19x21xf32>
  %v23 = linalg.fill ins(%zero : f32) outs(%v22 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<6x19x7xf32>, tensor<6x21x7xf32>) outs(%v23 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19x21xf32>
  %v25 = tensor.empty() : tensor<6x19x21xf32>
  %v26 = linalg.fill ins(%zero : f32) outs(%v25 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v24 : tensor<6x19x21xf32>) outs(%v26 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c4 = arith.constant 4 : index
    %i4 = arith.addi %i, %c4 : index
    %in = arith.cmpi sle, %j, %i4 : index
    %x = arith.select %in, %a0, %low : f32
    linalg.yield %x : f32
  } -> tensor<6x19x21xf32>
  %v28 = tensor.empty() : tensor<6x19xf32>
  %v29 = linalg.fill ins(%low : f32) outs(%v28 : tensor<6x19xf32>) -> tensor<6x19xf32>
  %v30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v27 : tensor<6x19x21xf32>) outs(%v29 : tensor<6x19xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %s = arith.maximumf %a0, %o : f32
    linalg.yield %s : f32
  } -> tensor<6x19xf32>
  %v31 = tensor.empty() : tensor<6x19x21xf32>
  %v32 = linalg.fill ins(%zero : f32) outs(%v31 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v27, %v30 : tensor<6x19x21xf32>, tensor<6x19xf32>) outs(%v32 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.subf %a0, %a1 : f32
    %x = math.exp %s : f32
    linalg.yield %x : f32
  } -> tensor<6x19x21xf32>
  %v34 = tensor.empty() : tensor<6x19xf32>
  %v35 = linalg.fill ins(%zero : f32) outs(%v34 : tensor<6x19xf32>) -> tensor<6x19xf32>
  %v36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v33 : tensor<6x19x21xf32>) outs(%v35 : tensor<6x19xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %s = arith.addf %a0, %o : f32
    linalg.yield %s : f32
  } -> tensor<6x19xf32>
  %v37 = tensor.empty() : tensor<6x19x21xf32>
  %v38 = linalg.fill ins(%zero : f32) outs(%v37 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v33, %v36 : tensor<6x19x21xf32>, tensor<6x19xf32>) outs(%v38 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.divf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<6x19x21xf32>
  %v40 = tensor.empty() : tensor<6x19x5xf32>
  %v41 = linalg.fill ins(%zero : f32) outs(%v40 : tensor<6x19x5xf32>) -> tensor<6x19x5xf32>
  %v42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v39, %v : tensor<6x19x21xf32>, tensor<6x21x5xf32>) outs(%v41 : tensor<6x19x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19x5xf32>
  %v43 = tensor.empty() : tensor<6x21x5xf32>
  %v44 = linalg.fill ins(%zero : f32) outs(%v43 : tensor<6x21x5xf32>) -> tensor<6x21x5xf32>
  %v45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v39, %g : tensor<6x19x21xf32>, tensor<6x19x5xf32>) outs(%v44 : tensor<6x21x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x21x5xf32>
  %v46 = tensor.empty() : tensor<6x19x21xf32>
  %v47 = linalg.fill ins(%zero : f32) outs(%v46 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%g, %v : tensor<6x19x5xf32>, tensor<6x21x5xf32>) outs(%v47 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19x21xf32>
  %v49 = tensor.empty() : tensor<6x19xf32>
  %v50 = linalg.fill ins(%zero : f32) outs(%v49 : tensor<6x19xf32>) -> tensor<6x19xf32>
  %v51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v48, %v39 : tensor<6x19x21xf32>, tensor<6x19x21xf32>) outs(%v50 : tensor<6x19xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19xf32>
  %v52 = tensor.empty() : tensor<6x19x21xf32>
  %v53 = linalg.fill ins(%zero : f32) outs(%v52 : tensor<6x19x21xf32>) -> tensor<6x19x21xf32>
  %v54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v48, %v39, %v51 : tensor<6x19x21xf32>, tensor<6x19x21xf32>, tensor<6x19xf32>) outs(%v53 : tensor<6x19x21xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %o: f32):
    %s = arith.subf %a0, %a2 : f32
    %x = arith.mulf %s, %a1 : f32
    linalg.yield %x : f32
  } -> tensor<6x19x21xf32>
  %v55 = tensor.empty() : tensor<6x19x7xf32>
  %v56 = linalg.fill ins(%zero : f32) outs(%v55 : tensor<6x19x7xf32>) -> tensor<6x19x7xf32>
  %v57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v54, %k : tensor<6x19x21xf32>, tensor<6x21x7xf32>) outs(%v56 : tensor<6x19x7xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x19x7xf32>
  %v58 = tensor.empty() : tensor<6x21x7xf32>
  %v59 = linalg.fill ins(%zero : f32) outs(%v58 : tensor<6x21x7xf32>) -> tensor<6x21x7xf32>
  %v60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v54, %q : tensor<6x19x21xf32>, tensor<6x19x7xf32>) outs(%v59 : tensor<6x21x7xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x21x7xf32>
  return %v42, %v57, %v60, %v45 : tensor<6x19x5xf32>, tensor<6x19x7xf32>, tensor<6x21x7xf32>, tensor<6x21x5xf32>
}
