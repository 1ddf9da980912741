// RUN: remat-opt %s -split-input-file -verify-diagnostics --allow-unregistered-dialect --remat-expand-derivatives --canonicalize --cse | FileCheck %s

// A derivative is replaced by the function and what differentiates it.

func.func private @square(%x: tensor<3xf32>, %n: tensor<i64>) -> (tensor<3xf32>, tensor<i64>) {
  %0 = arith.mulf %x, %x : tensor<3xf32>
  return %0, %n : tensor<3xf32>, tensor<i64>
}
// CHECK-LABEL: func.func @reverse
// CHECK-SAME:    %[[X:.*]]: tensor<3xf32>, %[[N:.*]]: tensor<i64>, %[[G:.*]]: tensor<3xf32>
// CHECK-DAG:     %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-DAG:     %[[D:.*]] = arith.mulf %[[G]], %[[X]]
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} ins(%[[D]], %[[D]]
// CHECK:         return %[[Y]], %[[N]], %[[S]]
func.func @reverse(%x: tensor<3xf32>, %n: tensor<i64>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>, tensor<3xf32>) {
  %0:3 = remat.vjp @square(%x, %n) cotangents(%g) : (tensor<3xf32>, tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<3xf32>, tensor<i64>, tensor<3xf32>
}
// CHECK-LABEL: func.func @forward
// CHECK-NOT:     remat.jvp
// CHECK:         return
func.func @forward(%x: tensor<3xf32>, %n: tensor<i64>, %t: tensor<3xf32>) -> tensor<3xf32> {
  %0:3 = remat.jvp @square(%x, %n) tangents(%t) {wrt = array<i64: 0>, of = array<i64: 0>} : (tensor<3xf32>, tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>, tensor<3xf32>)
  return %0#2 : tensor<3xf32>
}
// Derivatives of derivatives are expanded from the inside out.
// CHECK-LABEL: func.func @twice
// CHECK-NOT:     remat.vjp
// CHECK:         return
func.func @twice(%x: tensor<3xf32>, %n: tensor<i64>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %0:4 = remat.vjp @reverse(%x, %n, %g) cotangents(%g) {wrt = array<i64: 0>, of = array<i64: 2>} : (tensor<3xf32>, tensor<i64>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>, tensor<3xf32>, tensor<3xf32>)
  return %0#3 : tensor<3xf32>
}

// -----

func.func private @f(%x: tensor<3xf32>, %n: tensor<i64>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @wrt(%x: tensor<3xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{cannot differentiate argument #1 of type 'tensor<i64>'}}
  %0:2 = remat.vjp @f(%x, %n) cotangents(%x) {wrt = array<i64: 1>} : (tensor<3xf32>, tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @of(%x: tensor<3xf32>) {
  // expected-error @+1 {{has result #1, but the function has 1 of them}}
  %0:2 = remat.vjp @f(%x) cotangents(%x) {of = array<i64: 1>} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @seeds(%x: tensor<3xf32>, %y: tensor<f32>) {
  // expected-error @+1 {{has tangents of types ('tensor<f32>'), expected ('tensor<3xf32>')}}
  %0:2 = remat.jvp @f(%x) tangents(%y) : (tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @results(%x: tensor<3xf32>) {
  // expected-error @+1 {{has results of types ('tensor<3xf32>'), expected ('tensor<3xf32>', 'tensor<3xf32>')}}
  %0 = remat.jvp @f(%x) tangents(%x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @missing(%x: tensor<3xf32>) {
  // expected-error @+1 {{calls 'g', which is no function of this module}}
  %0:2 = remat.jvp @g(%x) tangents(%x) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @circle(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{calls 'circle' recursively, which cannot be differentiated}}
  %0:2 = remat.jvp @circle(%x) tangents(%x) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %0#1 : tensor<3xf32>
}

// -----

// The error is reported at the operation that the user wrote; a remark says for
// which derivative the rule is missing.
func.func private @opaque(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{'test.opaque' op has no derivative rule}}
  %0 = "test.opaque"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @located(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-remark @+1 {{in a derivative asked for here}}
  %0:2 = remat.jvp @opaque(%x) tangents(%x) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %0#1 : tensor<3xf32>
}
