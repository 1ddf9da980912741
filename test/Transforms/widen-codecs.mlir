// Codecs of all shapes are put aside when a program is imported. In double
// precision they pack what is computed in it.

// RUN: remat-opt %s --remat-pipeline="cotangents=true widen emit=joint" | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: f32
// CHECK: remat.tag %{{.*}} {policy = #remat.policy<prefer_save>} : tensor<4xf64>
// CHECK-NOT: f32
func.func private @pack(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.negf %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @unpack(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.negf %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.scope attributes {codec = [@pack, @unpack]} {
    %a = math.sin %x : tensor<4xf32>
    %b = math.exp %a : tensor<4xf32>
    remat.yield %b : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}
