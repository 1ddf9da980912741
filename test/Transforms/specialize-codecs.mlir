// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-import-codecs --remat-specialize-codecs | FileCheck %s

// Functions of dynamic shape are cloned for each type, others only used. Of a
// value that no backward operation reads, no function is made.

// CHECK-LABEL: func.func @main
// CHECK-DAG:     remat.tag %{{.*}} {codec = [@halve_for, @double_for]} : tensor<4x8xf32>
// CHECK-DAG:     remat.tag %{{.*}} {codec = [@halve_for_0, @double_for_1]} : tensor<8xf32>
// CHECK-DAG:     remat.tag %{{.*}} {codec = "bf16"} : tensor<8xf64>
// CHECK-NOT:     remat.tag
// CHECK:       func.func private @halve_for(%[[X:.*]]: tensor<4x8xf32>) -> tensor<32xf16> {
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<4x8xf32> into tensor<32xf32>
// CHECK-NEXT:    %[[Y:.*]] = arith.truncf %[[FLAT]] : tensor<32xf32> to tensor<32xf16>
// CHECK-NEXT:    return %[[Y]]
// CHECK:       func.func private @double_for(%[[X:.*]]: tensor<32xf16>) -> tensor<4x8xf32> {
// CHECK-NEXT:    %[[Y:.*]] = arith.extf %[[X]] : tensor<32xf16> to tensor<32xf32>
// CHECK-NEXT:    %[[Z:.*]] = tensor.expand_shape %[[Y]]
// CHECK-NEXT:    return %[[Z]]
// CHECK-NOT:   module @remat_codecs
func.func private @halve(%x: tensor<?xf32>) -> tensor<?xf16> {
  %y = arith.truncf %x : tensor<?xf32> to tensor<?xf16>
  return %y : tensor<?xf16>
}
func.func private @double(%x: tensor<?xf16>) -> tensor<?xf32> {
  %y = arith.extf %x : tensor<?xf16> to tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @main(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %z: tensor<8xf64>, %i: tensor<8xi32>, %u: tensor<2xf32>) {
  %0 = remat.tag %x {codec = [[@halve, @double], "bf16"]} : tensor<4x8xf32>
  %1 = remat.tag %y {codec = [[@halve, @double], "bf16"]} : tensor<8xf32>
  %2 = remat.tag %z {codec = [[@halve, @double], "bf16"]} : tensor<8xf64>
  %3 = remat.tag %i {codec = [[@halve, @double], "bf16"]} : tensor<8xi32>
  %4 = remat.tag %u {codec = [[@halve, @double], "bf16"]} : tensor<2xf32>
  %5 = math.sin %0 {remat.backward} : tensor<4x8xf32>
  %6 = math.sin %1 {remat.backward} : tensor<8xf32>
  %7 = math.sin %2 {remat.backward} : tensor<8xf64>
  %8 = arith.addi %3, %3 {remat.backward} : tensor<8xi32>
  return
}

// -----

// A scalar has one element, and an unranked argument any shape.
// CHECK-LABEL: func.func @main
// CHECK:       func.func private @flat_for(%{{.*}}: tensor<f32>) -> tensor<1xf32>
// CHECK:       func.func private @flat_for_0(%{{.*}}: tensor<1xf32>) -> tensor<f32>
// CHECK:       func.func private @any_for(%[[X:.*]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[Y:.*]] = arith.negf %[[X]] : tensor<2x3xf32>
// CHECK-NEXT:    return %[[Y]]
func.func private @flat(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.negf %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @any(%x: tensor<*xf32>) -> tensor<*xf32> {
  %y = arith.negf %x : tensor<*xf32>
  return %y : tensor<*xf32>
}
func.func @main(%x: tensor<f32>, %y: tensor<2x3xf32>) {
  %0 = remat.tag %x {codec = [@flat, @flat]} : tensor<f32>
  %1 = remat.tag %y {codec = [@any, @any]} : tensor<2x3xf32>
  %2 = math.sin %0 {remat.backward} : tensor<f32>
  %3 = math.sin %1 {remat.backward} : tensor<2x3xf32>
  return
}

// -----

// expected-note @+1 {{@rows takes 'tensor<?x8xf32>'}}
func.func private @rows(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}
func.func @main(%x: tensor<4x9xf32>) {
  // expected-error @below {{has no codec for 'tensor<4x9xf32>', expected one, or "none" to keep the value as it is}}
  // expected-note @below {{#remat.callback<"zip", bytes = (d0) -> (d0), elements = [f64]> does not take it}}
  %0 = remat.tag %x {codec = [[@rows, @rows], #remat.callback<"zip", bytes = (n) -> (n), elements = [f64]>]} : tensor<4x9xf32>
  %1 = math.sin %0 {remat.backward} : tensor<4x9xf32>
  return
}

// -----

func.func private @pack(%x: tensor<?x?xf32>) -> tensor<?x?xf16> {
  %y = arith.truncf %x : tensor<?x?xf32> to tensor<?x?xf16>
  return %y : tensor<?x?xf16>
}
// expected-note @+1 {{by this function}}
func.func private @unpack(%x: tensor<?x?xf16>) -> tensor<?x?xf32> {
  %0 = tensor.extract_slice %x[0, 0] [2, 2] [1, 1] : tensor<?x?xf16> to tensor<2x2xf16>
  %1 = arith.extf %0 : tensor<2x2xf16> to tensor<2x2xf32>
  %2 = tensor.cast %1 : tensor<2x2xf32> to tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}
func.func @main(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a codec that unpacks 'tensor<2x2xf32>', expected 'tensor<4x8xf32>'}}
  %0 = remat.tag %x {codec = [@pack, @unpack]} : tensor<4x8xf32>
  %1 = math.sin %0 {remat.backward} : tensor<4x8xf32>
  return
}

// -----

// expected-note @+1 {{what @pack packs of 'tensor<4x8xf32>' has the types ('tensor<4x8xf16>')}}
func.func private @pack(%x: tensor<?x?xf32>) -> tensor<?x?xf16> {
  %y = arith.truncf %x : tensor<?x?xf32> to tensor<?x?xf16>
  return %y : tensor<?x?xf16>
}
func.func private @unpack(%x: tensor<?x?xbf16>) -> tensor<?x?xf32> {
  %y = arith.extf %x : tensor<?x?xbf16> to tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @main(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a codec of which argument 0 of @unpack has type 'tensor<?x?xbf16>', expected one for 'tensor<4x8xf16>'}}
  %0 = remat.tag %x {codec = [@pack, @unpack]} : tensor<4x8xf32>
  %1 = math.sin %0 {remat.backward} : tensor<4x8xf32>
  return
}

// -----

// What a function computes of the elements is no extent.
func.func private @sparse(%x: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %first = tensor.extract %x[%c0] : tensor<?xi64>
  %n = arith.index_cast %first : i64 to index
  // expected-note @+1 {{'tensor.extract_slice' gives 'tensor<?xi64>'}}
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xi64> to tensor<?xi64>
  return %y : tensor<?xi64>
}
func.func @main(%x: tensor<8xi64>) {
  // expected-error @+1 {{has a codec whose function 'sparse' has no static shapes for 'tensor<8xi64>'}}
  %0 = remat.tag %x {codec = [@sparse, @sparse]} : tensor<8xi64>
  %1 = arith.addi %0, %0 {remat.backward} : tensor<8xi64>
  return
}

// -----

func.func private @outside(tensor<?xf32>) -> tensor<?xf32>
func.func @main(%x: tensor<8xf32>) {
  // expected-error @+1 {{has the codec [@outside, @outside], but @outside has no body; functions of the program that runs the step are a '#remat.callback'}}
  %0 = remat.tag %x {codec = [@outside, @outside]} : tensor<8xf32>
  return
}

// -----

func.func private @two(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @main(%x: tensor<8xf32>) {
  // expected-error @+1 {{has the codec [@two, @two], but @two has 2 arguments, expected 1}}
  %0 = remat.tag %x {codec = [@two, @two]} : tensor<8xf32>
  return
}

// -----

func.func private @one(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func private @three(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @main(%x: tensor<8xf32>) {
  // expected-error @+1 {{has the codec [@one, @three], but @three has 3 arguments, expected the 1 results of @one and, if need be, a destination}}
  %0 = remat.tag %x {codec = [@one, @three]} : tensor<8xf32>
  return
}

// -----

func.func @main(%x: tensor<8xf32>) {
  // expected-error @+1 {{has the codec [@typo, @typo], but @typo is no function}}
  %0 = remat.tag %x {codec = [@typo, @typo]} : tensor<8xf32>
  return
}
