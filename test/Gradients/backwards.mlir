// Derivatives of results that are written backwards, whole and in part.
// RUN: remat-run %s --gradcheck
// RUN: remat-run %s --gradcheck=2

func.func @main(%x: tensor<4x3xf64>, %y: tensor<8xf64>, %w: tensor<4xf64>) -> (tensor<3x4xf64>, tensor<8xf64>) {
  %e = tensor.empty() : tensor<3x4xf64>
  %whole = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (2 - d1, 3 - d0)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<4x3xf64>, tensor<4xf64>) outs(%e : tensor<3x4xf64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f64
    %p = arith.mulf %a, %k : f64
    %s = math.sin %p : f64
    %q = arith.mulf %s, %b : f64
    linalg.yield %q : f64
  } -> tensor<3x4xf64>
  %part = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (7 - 2 * d0)>],
      iterator_types = ["parallel"]} ins(%w : tensor<4xf64>) outs(%y : tensor<8xf64>) {
  ^bb0(%a: f64, %out: f64):
    %s = math.sin %a : f64
    %p = arith.mulf %s, %out : f64
    linalg.yield %p : f64
  } -> tensor<8xf64>
  return %whole, %part : tensor<3x4xf64>, tensor<8xf64>
}
