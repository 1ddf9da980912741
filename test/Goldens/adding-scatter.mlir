// RUN: %python %S/Inputs/check.py remat-run %s

// A loop that adds at computed places.
// wrt: 0,2
// tolerance: 1e-06
// arg0: f32 3x4 = 1.25373411 1.06344056 -1.14487815 0.214837551 0.748456001 -0.290415764 -0.493364453 -1.43328381 1.09169817 1.47390914 -0.0448508263 0.88436842
// arg1: i64 3x3 = 0 0 1 3 3 3 2 1 2
// arg2: f32 3x3 = 0.806325912 -1.39388371 -0.165338516 1.47493792 0.716089249 1.19153762 -0.239688993 0.208067894 0.542674065
// cotangent0: f32 3x4 = 1.0625 0.75 1 1.203125 -0.75 -0.296875 0.40625 0.828125 -0.46875 -0.3125 0.40625 1.21875
// tangent0: f32 3x4 = 0.515625 -0.65625 -0.765625 -0.9375 1.234375 -0.40625 -0.359375 0.921875 -0.921875 -0.546875 -0.75 1.109375
// tangent1: f32 3x3 = 0.625 0.59375 -0.46875 -0.4375 -0.890625 0.90625 -0.640625 -0.875 -0.71875
// result0: f32 3x4 = 0.666176319 0.898102045 -1.14487815 0.214837551 0.748456001 -0.290415764 -0.493364453 1.94928098 1.09169817 1.68197703 0.258134246 0.88436842
// vjp0: f32 3x4 = 1.0625 0.75 1 1.203125 -0.75 -0.296875 0.40625 0.828125 -0.46875 -0.3125 0.40625 1.21875
// vjp1: f32 3x3 = 1.0625 1.0625 0.75 0.828125 0.828125 0.828125 0.40625 -0.3125 0.40625
// jvp0: f32 3x4 = 1.734375 -1.125 -0.765625 -0.9375 1.234375 -0.40625 -0.359375 0.5 -0.921875 -1.421875 -2.109375 1.109375

#map = affine_map<(d0) -> (d0, 0)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<() -> ()>
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x3xi64>, %arg2: tensor<3x3xf32>) -> tensor<3x4xf32> {
    %c3 = arith.constant 3 : index
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<9x1xi64>
    %1 = linalg.fill ins(%c0_i64 : i64) outs(%0 : tensor<9x1xi64>) -> tensor<9x1xi64>
    %2 = tensor.empty() : tensor<9xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<9xf32>) -> tensor<9xf32>
    %4:3 = linalg.generic {indexing_maps = [#map, #map, #map1], iterator_types = ["parallel"]} outs(%1, %1, %3 : tensor<9x1xi64>, tensor<9x1xi64>, tensor<9xf32>) {
    ^bb0(%out: i64, %out_3: i64, %out_4: f32):
      %8 = linalg.index 0 : index
      %9 = arith.remsi %8, %c3 : index
      %10 = arith.divsi %8, %c3 : index
      %11 = arith.remsi %10, %c3 : index
      %extracted = tensor.extract %arg1[%11, %9] : tensor<3x3xi64>
      %extracted_5 = tensor.extract %arg2[%11, %9] : tensor<3x3xf32>
      %12 = arith.index_cast %11 : index to i64
      linalg.yield %12, %extracted, %extracted_5 : i64, i64, f32
    } -> (tensor<9x1xi64>, tensor<9x1xi64>, tensor<9xf32>)
    %5 = tensor.empty() : tensor<9x2xi64>
    %6 = linalg.fill ins(%c0_i64 : i64) outs(%5 : tensor<9x2xi64>) -> tensor<9x2xi64>
    %inserted_slice = tensor.insert_slice %4#0 into %6[0, 0] [9, 1] [1, 1] : tensor<9x1xi64> into tensor<9x2xi64>
    %inserted_slice_0 = tensor.insert_slice %4#1 into %inserted_slice[0, 1] [9, 1] [1, 1] : tensor<9x1xi64> into tensor<9x2xi64>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c0_1 = arith.constant 0 : index
    %c1_2 = arith.constant 1 : index
    %7 = scf.for %arg3 = %c0 to %c9 step %c1 iter_args(%arg4 = %arg0) -> (tensor<3x4xf32>) {
      %extracted = tensor.extract %inserted_slice_0[%arg3, %c0_1] : tensor<9x2xi64>
      %8 = arith.index_cast %extracted : i64 to index
      %extracted_3 = tensor.extract %inserted_slice_0[%arg3, %c1_2] : tensor<9x2xi64>
      %9 = arith.index_cast %extracted_3 : i64 to index
      %extracted_slice = tensor.extract_slice %4#2[%arg3] [1] [1] : tensor<9xf32> to tensor<f32>
      %extracted_slice_4 = tensor.extract_slice %arg4[%8, %9] [1, 1] [1, 1] : tensor<3x4xf32> to tensor<f32>
      %10 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%extracted_slice : tensor<f32>) outs(%extracted_slice_4 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %11 = arith.addf %out, %in : f32
        linalg.yield %11 : f32
      } -> tensor<f32>
      %inserted_slice_5 = tensor.insert_slice %10 into %arg4[%8, %9] [1, 1] [1, 1] : tensor<f32> into tensor<3x4xf32>
      scf.yield %inserted_slice_5 : tensor<3x4xf32>
    }
    return %7 : tensor<3x4xf32>
  }
}
