// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// A maximum and a minimum of two values: each gets half of the derivative where
// they are equal.
// arg0: [-1e2, -1e-2] [1e-2, 1e2]
// arg1: [-1e2, -1e-2] [1e-2, 1e2]
// singular: 1 1

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>, %arg1: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %two = arith.constant 2.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%arg0, %arg1 : tensor<32xf64>, tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %larger = arith.cmpf ogt, %a, %b : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] extremum |
    %max = arith.select %larger, %a, %b : f64
    %less = arith.cmpf olt, %a, %b : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] extremum |
    %min = arith.select %less, %a, %b : f64
    %twice = arith.mulf %min, %two : f64
    %y = arith.addf %max, %twice : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
