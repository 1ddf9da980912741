// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// x log(y) is 0 where x is 0, whatever log(y) is, and so are its derivatives by
// x.
// arg0: [-1e2, -1e-2] [1e-2, 1e2]
// arg1: [1e-3, 1e3]
// singular: 0 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>, %arg1: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %zero = arith.constant 0.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%arg0, %arg1 : tensor<32xf64>, tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %none = arith.cmpf oeq, %a, %zero : f64
    %log = math.log %b : f64
    %product = arith.mulf %a, %log : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] xlogy |
    %y = arith.select %none, %zero, %product : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
