// What a factor of a contraction is scaled with is done to the product. Where
// the target does not make epilogues, one of the factors has 16 bits, or what it
// is made of has.

// RUN: remat-opt %s --remat-narrow-contraction-operands | FileCheck %s --check-prefixes=CHECK,EPILOGUES
// RUN: sed -e 's/epilogues = true/epilogues = false/' %s | remat-opt --remat-narrow-contraction-operands \
// RUN:   | FileCheck %s --check-prefixes=CHECK,OTHER

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

module attributes {remat.target = #remat.target<"cuda", epilogues = true>} {

// Both factors are bf16 before they are multiplied by constants, one of them in
// another order.
// CHECK-LABEL: @constants
// CHECK-SAME: %[[A:.*]]: tensor<4x6xbf16>, %[[B:.*]]: tensor<5x6xbf16>
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<5x6xbf16>) outs({{.*}} : tensor<6x5xbf16>)
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[A]], %[[T]] : tensor<4x6xbf16>, tensor<6x5xbf16>) outs({{.*}} : tensor<4x5xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<4x5xf32>)
// CHECK: %[[C:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: arith.mulf {{.*}}, %[[C]]
// CHECK: return %[[S]]
func.func @constants(%a: tensor<4x6xbf16>, %b: tensor<5x6xbf16>) -> tensor<4x5xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x5xf32>
  %half = arith.constant 0.5 : f32
  %ea = tensor.empty() : tensor<4x6xf32>
  %eb = tensor.empty() : tensor<6x5xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xbf16>) outs(%ea : tensor<4x6xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.mulf %0, %half : f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<5x6xbf16>) outs(%eb : tensor<6x5xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.mulf %half, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x5xf32>
  %p = linalg.contract indexing_maps = [#mk, #kn, #mn] ins(%x, %y : tensor<4x6xf32>, tensor<6x5xf32>) outs(%zero : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %p : tensor<4x5xf32>
}

// Rows are divided, and some of them set to zero, behind the product, which has
// fewer elements.
// CHECK-LABEL: @rows
// CHECK-SAME: %[[E:.*]]: tensor<4x6xf32>, %[[L:.*]]: tensor<4xf32>, %[[M:.*]]: tensor<4xi1>, %[[V:.*]]: tensor<6x5xf32>
// EPILOGUES: %[[P:.*]] = linalg.contract {{.*}} ins(%[[E]], %[[V]] : tensor<4x6xf32>, tensor<6x5xf32>)
// EPILOGUES: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[L]], %[[M]] : tensor<4x5xf32>, tensor<4xf32>, tensor<4xi1>)
// EPILOGUES: arith.divf
// EPILOGUES: arith.select
// EPILOGUES: return %[[S]]
// OTHER: arith.divf
// OTHER: linalg.contract
// OTHER-NOT: arith.divf
func.func @rows(%e: tensor<4x6xf32>, %l: tensor<4xf32>, %m: tensor<4xi1>, %v: tensor<6x5xf32>) -> tensor<4x5xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x5xf32>
  %none = arith.constant 0.0 : f32
  %ee = tensor.empty() : tensor<4x6xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %l, %m : tensor<4x6xf32>, tensor<4xf32>, tensor<4xi1>) outs(%ee : tensor<4x6xf32>) {
  ^bb0(%in: f32, %sum: f32, %hidden: i1, %out: f32):
    %0 = arith.divf %in, %sum : f32
    %1 = arith.select %hidden, %none, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  %p = linalg.contract indexing_maps = [#mk, #kn, #mn] ins(%x, %v : tensor<4x6xf32>, tensor<6x5xf32>) outs(%zero : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %p : tensor<4x5xf32>
}

// What depends on the index that is added up stays where it is, and so does a
// quotient whose divisor is the factor.
// CHECK-LABEL: @kept
// CHECK: arith.divf
// CHECK: linalg.contract
// CHECK: arith.divf
// CHECK: linalg.contract
// CHECK-NOT: arith.divf
// CHECK: return
func.func @kept(%e: tensor<4x6xf32>, %c: tensor<6xf32>, %l: tensor<4xf32>, %v: tensor<6x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4x5xf32>
  %ee = tensor.empty() : tensor<4x6xf32>
  %x = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %c : tensor<4x6xf32>, tensor<6xf32>) outs(%ee : tensor<4x6xf32>) {
  ^bb0(%in: f32, %of: f32, %out: f32):
    %0 = arith.divf %in, %of : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %p = linalg.contract indexing_maps = [#mk, #kn, #mn] ins(%x, %v : tensor<4x6xf32>, tensor<6x5xf32>) outs(%zero : tensor<4x5xf32>) -> tensor<4x5xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %l : tensor<4x6xf32>, tensor<4xf32>) outs(%ee : tensor<4x6xf32>) {
  ^bb0(%in: f32, %of: f32, %out: f32):
    %0 = arith.divf %of, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %q = linalg.contract indexing_maps = [#mk, #kn, #mn] ins(%y, %v : tensor<4x6xf32>, tensor<6x5xf32>) outs(%zero : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %p, %q : tensor<4x5xf32>, tensor<4x5xf32>
}

}
