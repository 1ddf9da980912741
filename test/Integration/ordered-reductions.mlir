// RUN: %python %S/../Import/Inputs/foreign_values.py remat-run %s %t
// RUN: %python %S/../Import/Inputs/foreign_values.py remat-run %s %t --target=cuda --device=sim

// Which of the equal elements of a window is found depends on the order of the
// two reductions, which stays as it is though the second one is shorter.

// tolerance 0
// arg 0 f8 3x8: 0 1 0 0 0 0 0 0 1 0 2 2 0 0 0 0 0 0 0 2 0 0 0 0
// result 0 i8 1x4: 1 2 0 0

func.func @main(%x: tensor<3x8xf64>) -> tensor<1x4xi64> {
  %window = tensor.empty() : tensor<3x2xf64>
  %least = arith.constant dense<0xFFF0000000000000> : tensor<1x4xf64>
  %first = arith.constant dense<0> : tensor<1x4xi64>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a + c, b * 2 + d)>, affine_map<(a, b, c, d) -> (c, d)>, affine_map<(a, b, c, d) -> (a, b)>, affine_map<(a, b, c, d) -> (a, b)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<3x8xf64>, tensor<3x2xf64>) outs(%least, %first : tensor<1x4xf64>, tensor<1x4xi64>) {
  ^bb0(%a: f64, %unused: f64, %old: f64, %place: i64):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %c2 = arith.constant 2 : index
    %m = arith.muli %i, %c2 : index
    %n = arith.addi %m, %j : index
    %k = arith.index_cast %n : index to i64
    %c = arith.cmpf ogt, %a, %old : f64
    %s = arith.select %c, %a, %old : f64
    %t = arith.select %c, %k, %place : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<1x4xf64>, tensor<1x4xi64>)
  return %0#1 : tensor<1x4xi64>
}
