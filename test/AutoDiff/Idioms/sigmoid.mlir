// RUN: remat-opt %s --remat-differentiate=mode=reverse --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: remat-opt %s --remat-differentiate=mode=forward --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %python %S/Inputs/agree.py remat-opt remat-run %s

// The slope of 1 / (1 + exp(-x)) is known where exp(-x) is infinite. This one
// is written on tensors, so it is found in the sweeps of the function.
// arg0: [-30, -1e-3] [1e-3, 30]
// singular: -1000

func.func @main(%arg0: tensor<32xf64>) -> tensor<32xf64> {
  %one = arith.constant dense<1.0> : tensor<32xf64>
  %neg = arith.negf %arg0 : tensor<32xf64>
  %exp = math.exp %neg : tensor<32xf64>
  %sum = arith.addf %exp, %one : tensor<32xf64>
  // CHECK-DAG: [[# @LINE + 1]]:{{.*}}: remark: [Passed] sigmoid |
  %y = arith.divf %one, %sum : tensor<32xf64>
  return %y : tensor<32xf64>
}
