// RUN: %python %S/Inputs/check.py remat-run %s

// A loop that overwrites slices at computed places.
// wrt: 0,2
// tolerance: 1e-06
// arg0: f32 5x5 = -8.47837353 -1.76582587 -4.32280445 -2.40045595 -7.9505868 3.61160517 -8.06764698 -0.573493838 3.12851048 -3.03368473 5.10674477 1.13513768 4.94730854 5.77444649 -3.97302198 3.2707994 -3.8938508 2.82114744 -4.70239544 4.16312122 1.82200742 -3.52208805 -4.41446114 2.32851362 8.39719963
// arg1: i64 1 = 2
// arg2: f32 1x5 = -0.869077563 -0.436844945 5.11549854 -6.25506783 2.99203968
// cotangent0: f32 5x5 = -0.71875 -0.625 -0.921875 -0.578125 1.21875 1.203125 -0.984375 0.4375 -0.5 -0.859375 -0.546875 0.71875 0.609375 0.828125 1.1875 -1.1875 1.0625 -0.84375 -0.65625 -0.515625 0.75 -0.390625 -0.609375 1.203125 0.359375
// tangent0: f32 5x5 = 0.578125 -1.21875 0.53125 -0.71875 -1.0625 0.796875 0.84375 -0.515625 0.703125 -0.96875 0.671875 0.34375 -1.125 0.734375 0.28125 -0.5625 -0.953125 -1.203125 1.078125 -1.203125 -1 -1.015625 -1 0.53125 0.984375
// tangent1: f32 1x5 = -0.53125 0.375 0.78125 1.03125 0.421875
// result0: f32 5x5 = -8.47837353 -1.76582587 -4.32280445 -2.40045595 -7.9505868 3.61160517 -8.06764698 -0.573493838 3.12851048 -3.03368473 -0.869077563 -0.436844945 5.11549854 -6.25506783 2.99203968 3.2707994 -3.8938508 2.82114744 -4.70239544 4.16312122 1.82200742 -3.52208805 -4.41446114 2.32851362 8.39719963
// vjp0: f32 5x5 = -0.71875 -0.625 -0.921875 -0.578125 1.21875 1.203125 -0.984375 0.4375 -0.5 -0.859375 0 0 0 0 0 -1.1875 1.0625 -0.84375 -0.65625 -0.515625 0.75 -0.390625 -0.609375 1.203125 0.359375
// vjp1: f32 1x5 = -0.546875 0.71875 0.609375 0.828125 1.1875
// jvp0: f32 5x5 = 0.578125 -1.21875 0.53125 -0.71875 -1.0625 0.796875 0.84375 -0.515625 0.703125 -0.96875 -0.53125 0.375 0.78125 1.03125 0.421875 -0.5625 -0.953125 -1.203125 1.078125 -1.203125 -1 -1.015625 -1 0.53125 0.984375

#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<5x5xf32>, %arg1: tensor<1xi64>, %arg2: tensor<1x5xf32>) -> tensor<5x5xf32> {
    %expanded = tensor.expand_shape %arg1 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %expanded_0 = tensor.expand_shape %arg2 [[0], [1, 2]] output_shape [1, 1, 5] : tensor<1x5xf32> into tensor<1x1x5xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c1_1 = arith.constant 1 : index
    %c0_2 = arith.constant 0 : index
    %0 = scf.for %arg3 = %c0 to %c1_1 step %c1 iter_args(%arg4 = %arg0) -> (tensor<5x5xf32>) {
      %extracted = tensor.extract %expanded[%arg3, %c0_2] : tensor<1x1xi64>
      %1 = arith.index_cast %extracted : i64 to index
      %extracted_slice = tensor.extract_slice %expanded_0[%arg3, 0, 0] [1, 1, 5] [1, 1, 1] : tensor<1x1x5xf32> to tensor<1x5xf32>
      %extracted_slice_3 = tensor.extract_slice %arg4[%1, 0] [1, 5] [1, 1] : tensor<5x5xf32> to tensor<1x5xf32>
      %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice : tensor<1x5xf32>) outs(%extracted_slice_3 : tensor<1x5xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x5xf32>
      %inserted_slice = tensor.insert_slice %2 into %arg4[%1, 0] [1, 5] [1, 1] : tensor<1x5xf32> into tensor<5x5xf32>
      scf.yield %inserted_slice : tensor<5x5xf32>
    }
    return %0 : tensor<5x5xf32>
  }
}
