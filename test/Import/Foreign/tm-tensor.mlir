// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// As torch-mlir leaves sorts and scatters over. Regions compare as numbers are
// ordered, but PyTorch has nan behind all numbers, or in front of them where
// large ones come first. Updates may be narrower than the tensor.

// tolerance 1e-06
// arg 0 f4 8: nan 2 -inf nan inf 1 2 0
// arg 1 i8 8: 0 1 2 3 4 5 6 7
// arg 2 f4 2x4: 1 2 3 4 5 6 7 8
// arg 3 i4 2x1: 1 0
// arg 4 f4 2x3: 9 -9 9 -9 9 -9
// result 0 f4 8: -inf 0 1 2 2 inf nan nan
// result 1 i8 8: 2 7 5 1 6 4 0 3
// result 2 f4 8: nan nan inf 2 2 1 0 -inf
// result 3 i8 8: 0 3 4 1 6 5 7 2
// result 4 f4 4: nan nan inf 2
// result 5 i8 4: 0 3 4 1
// result 6 f4 2x4: -9 9 -9 4 9 -9 9 8
// result 7 f4 2x4: 1 9 3 4 9 6 9 8

func.func @main(%x: tensor<8xf32>, %i: tensor<8xi64>, %y: tensor<2x4xf32>, %k: tensor<2x1xi32>, %u: tensor<2x3xf32>) -> (tensor<8xf32>, tensor<8xi64>, tensor<8xf32>, tensor<8xi64>, tensor<4xf32>, tensor<4xi64>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = "tm_tensor.sort"(%x, %i) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%a: f32, %b: f32, %m: i64, %n: i64):
    %c = arith.cmpf ole, %a, %b : f32
    "tm_tensor.yield"(%c) : (i1) -> ()
  }) : (tensor<8xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xi64>)
  %1:2 = "tm_tensor.sort"(%x, %i) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%a: f32, %b: f32, %m: i64, %n: i64):
    %c = arith.cmpf oge, %a, %b : f32
    "tm_tensor.yield"(%c) : (i1) -> ()
  }) : (tensor<8xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xi64>)
  %v = tensor.empty() : tensor<4xf32>
  %w = tensor.empty() : tensor<4xi64>
  %2:2 = "tm_tensor.topk"(%x, %i, %v, %w) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 2, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    "tm_tensor.yield"(%c) : (i1) -> ()
  }) : (tensor<8xf32>, tensor<8xi64>, tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>)
  %3 = "tm_tensor.scatter"(%u, %k, %y) <{dimension_map = array<i64: 0>, operandSegmentSizes = array<i32: 2, 1>, unique_indices = false}> ({
  ^bb0(%a: f32, %b: f32):
    "tm_tensor.yield"(%a) : (f32) -> ()
  }) : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = "tm_tensor.scatter"(%u, %k, %y) <{dimension_map = array<i64: 0>, operandSegmentSizes = array<i32: 2, 1>, unique_indices = false}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %b, %a : f32
    "tm_tensor.yield"(%c) : (f32) -> ()
  }) : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1, %3, %4 : tensor<8xf32>, tensor<8xi64>, tensor<8xf32>, tensor<8xi64>, tensor<4xf32>, tensor<4xi64>, tensor<2x4xf32>, tensor<2x4xf32>
}
