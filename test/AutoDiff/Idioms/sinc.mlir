// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// sin(x) / x, which has the slope 0 at 0.
// arg0: [-20, -0.1] [0.1, 20]
// singular: 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %sin = math.sin %a : f64
    %quotient = arith.divf %sin, %a : f64
    %none = arith.cmpf oeq, %a, %zero : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] sinc |
    %y = arith.select %none, %one, %quotient : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
