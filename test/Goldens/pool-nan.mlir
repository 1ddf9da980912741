// RUN: %python %S/Inputs/check.py remat-run %s

// A maximum that passes over nan belongs to the first number that equals it,
// one that keeps nan (the second result, with its place) to the first nan.
// wrt: 0,1
// arg0: f32 4 = nan 3 2 1
// arg1: f32 4 = 1 nan 2 2
// cotangent0: f32 3 = 1 1 1
// cotangent1: f32 = 1
// result0: f32 3 = 3 3 2
// result1: f32 = nan
// vjp0: f32 4 = 0 2 1 0
// vjp1: f32 4 = 0 1 0 0

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<i64>) {
  %least = arith.constant dense<0xFF800000> : tensor<3xf32>
  %window = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>,
                                        affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%arg0, %window : tensor<4xf32>, tensor<2xf32>) outs(%least : tensor<3xf32>) {
  ^bb0(%a: f32, %w: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<3xf32>
  %first = arith.constant dense<0xFF800000> : tensor<f32>
  %zero = arith.constant dense<0> : tensor<i64>
  %1:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>],
                         iterator_types = ["reduction"]}
      ins(%arg1 : tensor<4xf32>) outs(%first, %zero : tensor<f32>, tensor<i64>) {
  ^bb0(%a: f32, %b: f32, %place: i64):
    %index = linalg.index 0 : index
    %here = arith.index_cast %index : index to i64
    %m = arith.maximumf %a, %b : f32
    %larger = arith.cmpf ogt, %a, %b : f32
    %n = arith.select %larger, %here, %place : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<f32>, tensor<i64>)
  return %0, %1#0, %1#1 : tensor<3xf32>, tensor<f32>, tensor<i64>
}
