// RUN: remat-test-opt %s -split-input-file -verify-diagnostics --remat-import-verify

// An operation of another dialect that says nothing to remat is refused.

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'foreign.gaussian' op is not supported, expected an operation of linalg or tensor that remat compiles, or one with 'remat::KernelOpInterface'}}
  %0 = foreign.gaussian %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One that stays whole is taken as it is.

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = foreign.whole %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
