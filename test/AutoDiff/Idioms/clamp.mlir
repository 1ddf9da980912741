// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// A value that is at its bound has no derivative. A minimum of 0 and x, in this
// order, is the negative part of an elu and no clamp.
// arg0: [-1e2, -1e-2] [1e-2, 0.9] [1.1, 1e2]
// singular: 1

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %above = arith.cmpf ogt, %one, %a : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] clamp |
    %max = arith.select %above, %one, %a : f64
    %below = arith.cmpf olt, %zero, %a : f64
    %min = arith.select %below, %zero, %a : f64
    %y = arith.addf %max, %min : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
