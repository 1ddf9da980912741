// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// A softplus that is a line above a threshold: there the second derivative is
// 0.
// arg0: [-15, -1e-3] [1e-3, 9.5] [10.5, 30]
// singular: 10

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %limit = arith.constant 20.0 : f64
  %beta = arith.constant 2.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %scaled = arith.mulf %a, %beta : f64
    %exp = math.exp %scaled : f64
    %log = math.log1p %exp : f64
    %piece = arith.divf %log, %beta : f64
    %above = arith.cmpf ogt, %scaled, %limit : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] softplus |
    %y = arith.select %above, %a, %piece : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
