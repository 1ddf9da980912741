// RUN: remat-opt %s --remat-import-entry -verify-diagnostics -split-input-file

// expected-error @+1 {{has no function 'main' to compile, expected one of 'a', 'b'}}
module {
  func.func @a() { return }
  func.func @b() { return }
}

// -----

// expected-error @+1 {{'main' has no body to compile}}
func.func private @main(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @+1 {{'main' has 2 blocks, expected 1: control flow is not supported}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{elements without bits are not supported: 'tensor<4xi0>'}}
func.func @main(%x: tensor<4xi0>) -> tensor<4xi0> {
  return %x : tensor<4xi0>
}

// -----

func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  // expected-error @+1 {{elements without bits are not supported: 'tensor<4xi0>'}}
  %0 = arith.trunci %x : tensor<4xi8> to tensor<4xi0>
  return %x : tensor<4xi8>
}

// -----

// expected-error @+1 {{argument 0 of 'main' has type 'f32', expected a tensor}}
func.func @main(%x: f32) {
  return
}

// -----

// expected-error @+1 {{dynamic shape is not supported: 'tensor<?xf32>'}}
func.func @main(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error @+1 {{expected tensors of static shape, got 'tensor<*xf32>'}}
func.func @main(%x: tensor<*xf32>) {
  return
}

// -----

func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{could not be inlined: 'elsewhere' has no body}}
  %0 = call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @even(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @odd(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @odd(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @even(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{could not be inlined: 'even' calls itself, maybe through others; write the recursion as a loop}}
  %0 = call @even(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = constant @named : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{could not be inlined: what it calls is a value, expected a function's name}}
  %0 = call_indirect %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{encodings of tensors are not supported: 'tensor<4xf32, "code">'}}
func.func @main(%x: tensor<4xf32, "code">) -> tensor<4xf32, "code"> {
  return %x : tensor<4xf32, "code">
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{encodings of tensors are not supported: 'tensor<4xf32, "code">'}}
  %0 = tensor.cast %x : tensor<4xf32> to tensor<4xf32, "code">
  %1 = tensor.cast %0 : tensor<4xf32, "code"> to tensor<4xf32>
  return %1 : tensor<4xf32>
}
