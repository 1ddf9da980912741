// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @scalar() {
  // expected-error @+1 {{has a stack of type 'tensor<f32>', expected one or more elements in the first dimension}}
  %s = remat.stack : tensor<f32>
  return
}

// -----

func.func @empty(%x: tensor<0x4xf32>) {
  // expected-error @+1 {{has a stack of type 'tensor<0x4xf32>', expected one or more elements in the first dimension}}
  remat.unstack %x : tensor<0x4xf32>
  return
}

// -----

func.func @few(%x: tensor<4xf32>) {
  // expected-error @+1 {{number of operands and types do not match: got 1 operands and 2 types}}
  %s = remat.stack %x : tensor<2x4xf32>
  return
}

// -----

func.func @operands_of_a_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a stack of at most 1048576 elements in the first dimension, got 4294967296}}
  %s = remat.stack %x : tensor<4294967296x4xf32>
  return
}

// -----

func.func @results_of_a_size(%x: tensor<1099511627776x4xf32>) {
  // expected-error @+1 {{expected a stack of at most 1048576 elements in the first dimension, got 1099511627776}}
  remat.unstack %x : tensor<1099511627776x4xf32>
  return
}

// -----

func.func @generic_of_a_size(%x: tensor<4294967296x4xf32>) {
  // expected-error @+1 {{failed to verify that elements are those of the operand}}
  %e = "remat.unstack"(%x) : (tensor<4294967296x4xf32>) -> tensor<4xf32>
  return
}
