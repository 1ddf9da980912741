// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// The logarithm of x / (1 - x). Outside of 0 to 1 there is no such number, and
// no derivative.
// arg0: [1e-3, 0.999]
// singular: 2

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %one = arith.constant 1.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %rest = arith.subf %one, %a : f64
    %odds = arith.divf %a, %rest : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] logit |
    %y = math.log %odds : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
