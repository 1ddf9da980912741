// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// The first row of log(cumsum(exp(x))), where the second row is 0: that of
// log(exp(x)), of which nothing is left where exp(x) is 0.
// arg0: [-20, -1e-2] [1e-2, 20]
// singular: -inf

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %zeros = arith.constant dense<0.0> : tensor<2x32xf64>
  %empty = tensor.empty() : tensor<2x32xf64>
  %x = tensor.insert_slice %arg0 into %zeros[0, 0] [1, 32] [1, 1] : tensor<32xf64> into tensor<2x32xf64>
  %terms = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x32xf64>) outs(%empty : tensor<2x32xf64>) {
  ^bb0(%in: f64, %out: f64):
    %exp = math.exp %in : f64
    linalg.yield %exp : f64
  } -> tensor<2x32xf64>
  %first = tensor.extract_slice %terms[0, 0] [1, 32] [1, 1] : tensor<2x32xf64> to tensor<32xf64>
  %second = tensor.extract_slice %terms[1, 0] [1, 32] [1, 1] : tensor<2x32xf64> to tensor<32xf64>
  %rest = tensor.empty() : tensor<32xf64>
  %total = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
      ins(%first, %second : tensor<32xf64>, tensor<32xf64>) outs(%rest : tensor<32xf64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %sum = arith.addf %a, %b : f64
    linalg.yield %sum : f64
  } -> tensor<32xf64>
  %before = tensor.insert_slice %first into %zeros[0, 0] [1, 32] [1, 1] : tensor<32xf64> into tensor<2x32xf64>
  %sums = tensor.insert_slice %total into %before[1, 0] [1, 32] [1, 1] : tensor<32xf64> into tensor<2x32xf64>
  %logs = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<2x32xf64>) outs(%empty : tensor<2x32xf64>) {
  ^bb0(%in: f64, %out: f64):
    // CHECK: [[# @LINE + 1]]:{{.*}}: remark: [Passed] logcumsumexp |
    %log = math.log %in : f64
    linalg.yield %log : f64
  } -> tensor<2x32xf64>
  %y = tensor.extract_slice %logs[0, 0] [1, 32] [1, 1] : tensor<2x32xf64> to tensor<32xf64>
  return %y : tensor<32xf64>
}
