// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-keep-loops=max-trip-count=7

// A derivative is written out when there are no branches any more: its loops
// would run where it is not taken.

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %r = scf.while (%a = %x) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %a[] : tensor<f32>
    %more = arith.cmpf ogt, %v, %one : f32
    scf.condition(%more) %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    %b = math.tanh %a : tensor<f32>
    scf.yield %b : tensor<f32>
  }
  return %r : tensor<f32>
}

func.func private @caller(%x: tensor<f32>) -> tensor<f32> {
  %r = call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

func.func @main(%x: tensor<f32>, %taken: i1) -> tensor<f32> {
  %g = arith.constant dense<1.0> : tensor<f32>
  %r = scf.if %taken -> tensor<f32> {
    // expected-error @below {{is in a branch, and its function has a loop that runs as often as is known at run time only: expected a loop of constant bounds, or the derivative in front of the branch}}
    %y, %dx = remat.vjp @caller(%x) cotangents(%g) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    scf.yield %dx : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// A loop of constant bounds may stand there.

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<f32>) {
    %b = math.tanh %a : tensor<f32>
    scf.yield %b : tensor<f32>
  }
  return %r : tensor<f32>
}

func.func @main(%x: tensor<f32>, %taken: i1) -> tensor<f32> {
  %g = arith.constant dense<1.0> : tensor<f32>
  %r = scf.if %taken -> tensor<f32> {
    %y, %dx = remat.vjp @f(%x) cotangents(%g) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    scf.yield %dx : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %r : tensor<f32>
}
