// RUN: %python %S/Inputs/check.py remat-run %s

// A determinant by elimination: a loop whose slices grow smaller.
// wrt: 0
// tolerance: 4.86e-06
// arg0: f32 5x5 = -1.11495018 -0.385600924 -0.102298588 -0.00591012836 -0.713788927 0.555171371 -0.885228276 -0.447859764 0.123923078 -0.351543039 -0.0759815276 -0.083809942 0.658099055 0.589181662 0.0463943034 0.104573309 -0.527001083 0.605093598 -0.311185986 0.446881682 -0.00154271722 -0.504162371 -0.0891709626 0.543640316 0.781470656
// cotangent0: f32 = 0.661352158
// tangent0: f32 5x5 = -0.100167178 -0.609188914 -0.97977227 -1.60909629 -1.1660347 -1.07475364 1.31683075 -0.681752026 -0.222270489 -1.57850111 -0.320620835 -0.29934606 1.87934577 -0.0721317828 0.157770604 -0.773454905 0.199056506 0.91070199 -1.39238584 2.68908691 -0.111019827 0.292735249 -0.157845154 -0.0287871398 2.35711098
// result0: f32 = -1.1666667
// vjp0: f32 5x5 = 0.512568071 0.248676046 0.0456096846 0.0395757358 0.139117119 -0.38722941 0.417449017 0.0950382654 -0.125591657 0.366764945 -0.167522039 -0.0331967335 -0.621509765 -0.671161035 0.374236175 0.024932771 0.413695575 -0.464139932 0.596309327 -0.20084873 0.289668815 0.180327524 0.386727092 -0.321501281 -0.602646333
// jvp0: f32 = -6.50479304
// hvp0: f32 5x5 = 2.94116954 1.0641026 0.434716515 0.262226671 0.130213472 -2.30773305 3.44630152 -0.125996425 -0.161851907 1.0139567 0.506593043 1.37628692 -2.96697075 -2.09065063 0.714330365 -0.655083679 1.73755293 -0.733548467 2.85792119 -0.569570847 1.04979098 0.700430998 1.75217453 -2.48480933 -1.26487139

#map = affine_map<(d0, d1) -> (0, d1)>
#map1 = affine_map<(d0, d1) -> (0, 0)>
#map2 = affine_map<(d0, d1) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0)>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0) -> (0)>
module {
  func.func @main(%arg0: tensor<5x5xf32>) -> tensor<f32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %c4 = arith.constant 4 : index
    %0 = tensor.empty() : tensor<5xf32>
    %1:2 = scf.for %arg1 = %c0 to %c4 step %c1 iter_args(%arg2 = %arg0, %arg3 = %0) -> (tensor<5x5xf32>, tensor<5xf32>) {
      %extracted_slice_2 = tensor.extract_slice %arg2[%arg1, 0] [1, 5] [1, 1] : tensor<5x5xf32> to tensor<1x5xf32>
      %extracted_slice_3 = tensor.extract_slice %arg2[%arg1, %arg1] [1, 1] [1, 1] : tensor<5x5xf32> to tensor<1x1xf32>
      %collapsed_4 = tensor.collapse_shape %extracted_slice_3 [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
      %inserted_slice_5 = tensor.insert_slice %collapsed_4 into %arg3[%arg1] [1] [1] : tensor<1xf32> into tensor<5xf32>
      %5 = arith.addi %arg1, %c1 : index
      %6 = arith.subi %c4, %arg1 : index
      %extracted_slice_6 = tensor.extract_slice %arg2[%5, %arg1] [%6, 1] [1, 1] : tensor<5x5xf32> to tensor<?xf32>
      %extracted_slice_7 = tensor.extract_slice %arg2[%5, 0] [%6, 5] [1, 1] : tensor<5x5xf32> to tensor<?x5xf32>
      %7 = tensor.empty(%6) : tensor<?x5xf32>
      %8 = linalg.generic {indexing_maps = [#map, #map1, #map2, #map3, #map2], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_2, %extracted_slice_3, %extracted_slice_7, %extracted_slice_6 : tensor<1x5xf32>, tensor<1x1xf32>, tensor<?x5xf32>, tensor<?xf32>) outs(%7 : tensor<?x5xf32>) {
      ^bb0(%in: f32, %in_9: f32, %in_10: f32, %in_11: f32, %out: f32):
        %9 = arith.divf %in_11, %in_9 : f32
        %10 = arith.cmpf one, %in_9, %cst : f32
        cf.assert %10, "unimplemented: determinants requiring permutations and singular matrices"
        %11 = arith.mulf %9, %in : f32
        %12 = arith.subf %in_10, %11 : f32
        linalg.yield %12 : f32
      } -> tensor<?x5xf32>
      %inserted_slice_8 = tensor.insert_slice %8 into %arg2[%5, 0] [%6, 5] [1, 1] : tensor<?x5xf32> into tensor<5x5xf32>
      scf.yield %inserted_slice_8, %inserted_slice_5 : tensor<5x5xf32>, tensor<5xf32>
    }
    %extracted_slice = tensor.extract_slice %1#0[4, 4] [1, 1] [1, 1] : tensor<5x5xf32> to tensor<1x1xf32>
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
    %inserted_slice = tensor.insert_slice %collapsed into %1#1[4] [1] [1] : tensor<1xf32> into tensor<5xf32>
    %2 = tensor.empty() : tensor<1xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<1xf32>) -> tensor<1xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["reduction"]} ins(%inserted_slice : tensor<5xf32>) outs(%3 : tensor<1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.mulf %in, %out : f32
      linalg.yield %5 : f32
    } -> tensor<1xf32>
    %collapsed_1 = tensor.collapse_shape %4 [] : tensor<1xf32> into tensor<f32>
    return %collapsed_1 : tensor<f32>
  }
}
