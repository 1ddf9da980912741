// RUN: remat-opt %s --remat-import-sizes -verify-diagnostics -split-input-file

// Elements count by their bytes: the largest tensor, and one that is larger.
func.func @largest(%x: tensor<35184372088832xf64>, %y: tensor<17592186044416xcomplex<f64>>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op has a value of type 'tensor<35184372088833xf64>', expected at most 281474976710656 bytes}}
func.func @larger(%x: tensor<35184372088833xf64>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op has a value of type 'tensor<4294967296x4294967296xf32>'}}
func.func private @external() -> tensor<4294967296x4294967296xf32>

// -----

// The product of the extents is 0 in 64 bits.
func.func @result(%x: f32) {
  // expected-error @+1 {{'tensor.splat' op has a value of type 'tensor<4294967296x4294967296xf32>', expected at most 281474976710656 bytes}}
  %0 = tensor.splat %x : tensor<4294967296x4294967296xf32>
  return
}

// -----

// Extents that are not known, and those of nothing, are left out.
func.func @parts(%x: f32, %n: index) {
  // expected-error @+1 {{'tensor.splat' op has a value of type 'tensor<4294967296x?x4294967296xf32>'}}
  %0 = tensor.splat %x[%n] : tensor<4294967296x?x4294967296xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has a value of type 'memref<0x9223372036854775807xf32>'}}
func.func @empty(%x: memref<0x9223372036854775807xf32>) {
  return
}

// -----

func.func @loop(%x: tensor<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{'tensor.cast' op has a value of type 'tensor<9223372036854775807xf32>'}}
    %z = tensor.cast %x : tensor<?xf32> to tensor<9223372036854775807xf32>
  }
  return
}
