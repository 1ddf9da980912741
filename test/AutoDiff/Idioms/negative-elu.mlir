// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// The negative part of an elu, exp(min(x, 0)) - 1, of which the second
// derivative at 0 is 0.
// arg0: [-30, -1e-3] [1e-3, 30]
// singular: 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %scale = arith.constant 1.5 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %less = arith.cmpf olt, %zero, %a : f64
    %min = arith.select %less, %zero, %a : f64
    %scaled = arith.mulf %min, %scale : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] negative-elu |
    %exp = math.exp %scaled : f64
    %y = arith.subf %exp, %one : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
