// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// The square of a magnitude, as a product with factors and as a power: its
// second derivative is 2 at 0, too.
// arg0: [-1e3, -1e-3] [1e-3, 1e3]
// singular: 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %empty = tensor.empty() : tensor<32xf64>
  %half = arith.constant 5.0e-01 : f64
  %two = arith.constant 2.0 : f64
  %n = arith.constant 2 : i32
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<32xf64>) outs(%empty : tensor<32xf64>) {
  ^bb0(%a: f64, %out: f64):
    %abs = math.absf %a : f64
    %scaled = arith.mulf %abs, %half : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] square-of-magnitude |
    %x = arith.mulf %scaled, %abs : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] square-of-magnitude |
    %y = math.powf %abs, %two : f64
    // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] square-of-magnitude |
    %z = math.fpowi %abs, %n : f64, i32
    %u = arith.addf %x, %y : f64
    %v = arith.addf %u, %z : f64
    linalg.yield %v : f64
  } -> tensor<32xf64>
  return %0 : tensor<32xf64>
}
