// RUN: remat-opt %s --remat-import-constants | FileCheck %s

// CHECK-LABEL: @resources
// CHECK-DAG: arith.constant dense<[1, -1]> : tensor<2xi64>
// CHECK-DAG: arith.constant dense<{{\[}}[1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>
// CHECK-DAG: arith.constant dense<[true, false, true]> : tensor<3xi1>
func.func @resources() -> (tensor<2xi64>, tensor<2x1xf32>, tensor<3xi1>) {
  %0 = arith.constant dense_resource<integers> : tensor<2xi64>
  %1 = arith.constant dense_resource<floats> : tensor<2x1xf32>
  %2 = arith.constant dense_resource<bools> : tensor<3xi1>
  return %0, %1, %2 : tensor<2xi64>, tensor<2x1xf32>, tensor<3xi1>
}

{-#
  dialect_resources: {
    builtin: {
      integers: "0x080000000100000000000000FFFFFFFFFFFFFFFF",
      floats: "0x040000000000803F00000040",
      bools: "0x01000000010001"
    }
  }
#-}
