// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// log(sigmoid(x)) is smooth at 0, though both of its parts have a kink there.
// arg0: [-30, -1e-3] [1e-3, 30]
// singular: 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %zero = arith.constant 0.0 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %less = arith.cmpf olt, %zero, %a : f64
    %min = arith.select %less, %zero, %a : f64
    %abs = math.absf %a : f64
    %neg = arith.negf %abs : f64
    %exp = math.exp %neg : f64
    %log = math.log1p %exp : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] logsigmoid |
    %y = arith.subf %min, %log : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
