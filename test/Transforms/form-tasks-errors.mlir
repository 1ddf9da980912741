// RUN: remat-opt %s --remat-form-tasks -verify-diagnostics -split-input-file

// expected-error @+1 {{no function 'main' to form tasks of}}
module {
}

// -----

// expected-error @+1 {{has dynamic shape 'tensor<?xf32>', expected a static one}}
func.func @main(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error @+1 {{has an argument or result of type 'f32', expected tensors}}
func.func @main(%x: f32) {
  return
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{must be lowered by 'remat-lower-checkpoints' before tasks are formed}}
  %0 = remat.checkpoint {
    remat.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is a call, expected it to be inlined}}
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  %1 = remat.tag %0 {policy = #remat.policy<must_save>} : tensor<4xf32>
  // expected-error @+1 {{value has policy 'must_save', which conflicts with policy 'must_recompute'}}
  %2 = remat.tag %1 {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A wish gives way to a MUST.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  %1 = remat.tag %0 {policy = #remat.policy<prefer_recompute>} : tensor<4xf32>
  %2 = remat.tag %1 {policy = #remat.policy<must_save>} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xvector<2xf32>>
  // expected-error @-1 {{has a value of type 'tensor<4xvector<2xf32>>', expected integers, floats, complex numbers or indices without encoding}}
  return %x : tensor<4xf32>
}

// -----

// LLVM has such elements 4 bytes apart.
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = arith.trunci %x : tensor<4xi32> to tensor<4xi24>
  // expected-error @-1 {{has a value of type 'tensor<4xi24>', expected integers, floats, complex numbers or indices without encoding, with elements of at most 8 bits or of 16, 32, 64 or 128}}
  %1 = arith.extsi %0 : tensor<4xi24> to tensor<4xi32>
  return %1 : tensor<4xi32>
}

// -----

// A view of a tagged constant is as cheap as the constant.
func.func @main() -> tensor<4xf32> {
  %0 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = remat.tag %0 {name = "c"} : tensor<2x2xf32>
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %3 = math.exp %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
