// Gradients of operands that are read at a constant place of a dimension.
// RUN: remat-run %s --gradcheck
// RUN: remat-run %s --gradcheck=2

func.func @main(%x: tensor<5x4xf64>, %y: tensor<3x4xf64>, %z: tensor<3x6xf64>, %w: tensor<2xf64>) -> tensor<3x4xf64> {
  %e = tensor.empty() : tensor<3x4xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y, %z, %w : tensor<5x4xf64>, tensor<3x4xf64>, tensor<3x6xf64>, tensor<2xf64>) outs(%e : tensor<3x4xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64, %d: f64, %o: f64):
    %m = arith.mulf %a, %b : f64
    %n = arith.mulf %c, %d : f64
    %p = arith.addf %m, %n : f64
    %s = math.sin %p : f64
    linalg.yield %s : f64
  } -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
