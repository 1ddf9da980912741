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
