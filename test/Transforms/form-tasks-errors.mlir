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
