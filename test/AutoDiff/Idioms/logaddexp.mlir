// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,TANGENT --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// log(exp(a) + exp(b)) is smooth where a = b, though the maximum has a kink
// there.
// arg0: [-20, -1e-2] [1e-2, 20]
// arg1: [-20, -1e-2] [1e-2, 20]
// singular: 1 1

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>, %arg1: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %inf = arith.constant 0x7FF0000000000000 : f64
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%arg0, %arg1 : tensor<32xf64>, tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %difference = arith.subf %a, %b : f64
    %distance = math.absf %difference : f64
    %neg = arith.negf %distance : f64
    %larger = arith.cmpf ogt, %a, %b : f64
    // In forward mode all parts get a tangent, also those that are not used.
    // TANGENT-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] extremum |
    %max = arith.select %larger, %a, %b : f64
    %exp = math.exp %neg : f64
    %log = math.log1p %exp : f64
    %sum = arith.addf %max, %log : f64
    %abs = math.absf %max : f64
    %infinite = arith.cmpf oeq, %abs, %inf : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] logaddexp |
    %y = arith.select %infinite, %max, %sum : f64
    linalg.yield %y : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
