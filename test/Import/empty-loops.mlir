// RUN: remat-opt %s --remat-import-clean-up | FileCheck %s

// A product of nothing is what it begins with, also where the body would be
// folded to a constant.

// CHECK-LABEL: func.func @product
// CHECK-NEXT: %[[ONE:.*]] = arith.constant dense<1> : tensor<3xi64>
// CHECK-NEXT: return %[[ONE]]
func.func @product() -> tensor<3xi64> {
  %zero = arith.constant dense<0> : tensor<0x3xi64>
  %one = arith.constant dense<1> : tensor<3xi64>
  %product = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%zero : tensor<0x3xi64>) outs(%one : tensor<3xi64>) {
  ^bb0(%x: i64, %total: i64):
    %next = arith.muli %total, %x : i64
    linalg.yield %next : i64
  } -> tensor<3xi64>
  return %product : tensor<3xi64>
}
