// Tasks that pack and unpack are offered for f32 values of the forward
// computation that the backward computation reads: not for small ones, results,
// nor those on which a decision hangs.

// RUN: split-file %s %t
// RUN: remat-opt %t/kept.mlir --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=KEPT
// RUN: remat-opt %t/kept.mlir --remat-pipeline='cotangents emit=tasks' | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.packs
// RUN: sed -e 's/16x32/4x32/g' %t/kept.mlir | remat-opt --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.packs
// RUN: sed -e 's/f32/f64/g' %t/kept.mlir | remat-opt --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.packs
// RUN: remat-opt %t/returned.mlir --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.packs
// RUN: remat-opt %t/decided.mlir --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.packs
// RUN: sed -e 's/0.5/0.0/' %t/decided.mlir | remat-opt --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=KEPT
// RUN: sed -e 's/0.5/0xFF800000/' %t/decided.mlir | remat-opt --remat-pipeline='cotangents compress=bf16 emit=tasks' | FileCheck %s --check-prefix=KEPT
// RUN: remat-opt %t/kept.mlir --remat-pipeline='cotangents compress=bf16,int4 emit=tasks' | FileCheck %s --check-prefix=SMALLEST
// RUN: sed -e 's/16x32/31x17/g; s/32x32/17x17/g' %t/kept.mlir | sed -e 's/x32xf32>,/x17xf32>,/' | remat-opt --remat-pipeline='cotangents compress=bf16,int4 emit=tasks' | FileCheck %s --check-prefix=ODD --implicit-check-not=xi8
// RUN: remat-opt %t/divisor.mlir --remat-pipeline='cotangents compress=bf16,int8 emit=tasks' | FileCheck %s --check-prefix=DIVISOR --implicit-check-not='remat.packs = "int8"'
// RUN: remat-opt %t/divisor.mlir --remat-pipeline='cotangents compress=int8 emit=tasks' | FileCheck %s --check-prefix=NONE --implicit-check-not=remat.packs
// RUN: not remat-opt %t/kept.mlir --remat-offer-packing=codecs=int3 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// KEPT: %[[P:.*]] = remat.task 0 @matmul
// KEPT: %[[FORM:.*]] = remat.task [[#]] @pack(%[[P]]) backward cost {{.*}} {remat.packs = "bf16"} : (tensor<16x32xf32>) -> tensor<16x32xbf16>
// KEPT-NEXT: remat.task [[#]] @unpack(%[[FORM]]) backward cost {{.*}} {remat.unpacks = "bf16"} : (tensor<16x32xbf16>) -> tensor<16x32xf32>
// KEPT-NEXT: remat.return
// NONE: remat.graph
// Of several forms the smallest: half a byte for each element, and scales.
// SMALLEST: %[[FORM:.*]]:2 = remat.task [[#]] @pack(%{{.*}}) backward cost {{.*}} {remat.packs = "int4"} : (tensor<16x32xf32>) -> (tensor<8x32xi8>, tensor<8xf32>)
// SMALLEST-NEXT: remat.task [[#]] @unpack(%[[FORM]]#0, %[[FORM]]#1) backward cost {{.*}} {remat.unpacks = "int4"} : (tensor<8x32xi8>, tensor<8xf32>) -> tensor<16x32xf32>
// Scales are for 64 elements.
// ODD: remat.packs = "bf16"
// What the backward computation divides by must not become 0.
// DIVISOR: remat.packs = "bf16"
// UNKNOWN: remat-offer-packing: unknown codec 'int3', expected bf16, int8, fp8, int4

//--- kept.mlir
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x32xf32>)
                     outs(%zero : tensor<16x32xf32>) -> tensor<16x32xf32>
  %t = math.sin %p : tensor<16x32xf32>
  return %t : tensor<16x32xf32>
}

//--- decided.mlir
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %least = arith.constant dense<0.5> : tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x32xf32>)
                     outs(%zero : tensor<16x32xf32>) -> tensor<16x32xf32>
  %s = math.sin %p : tensor<16x32xf32>
  %is = arith.cmpf oeq, %p, %least : tensor<16x32xf32>
  %t = arith.select %is, %p, %s : tensor<16x32xi1>, tensor<16x32xf32>
  return %t : tensor<16x32xf32>
}

//--- divisor.mlir
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %one = arith.constant dense<1.0> : tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x32xf32>)
                     outs(%zero : tensor<16x32xf32>) -> tensor<16x32xf32>
  %t = math.log %p : tensor<16x32xf32>
  return %t : tensor<16x32xf32>
}

//--- returned.mlir
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x32xf32>)
                     outs(%zero : tensor<16x32xf32>) -> tensor<16x32xf32>
  %t = math.sin %p : tensor<16x32xf32>
  return %p, %t : tensor<16x32xf32>, tensor<16x32xf32>
}
