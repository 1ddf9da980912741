// What is not done in parts, though its rows do not depend on each other, says
// what does that.

// RUN: remat-opt %s --remat-split-batch="parts=2" -split-input-file -verify-diagnostics

func.func @main(%x: tensor<4xi32>) -> tensor<4xf32> {
  %v = arith.sitofp %x : tensor<4xi32> to tensor<4xf32>
  // expected-error @+1 {{has a derivative of its own, as branches of 'scf.if' and functions with a rule have, and cannot be done in parts here: use 'microbatches'}}
  %y = remat.custom_rule inputs(%v : tensor<4xf32>) values(%v : tensor<4xf32>)
  vjp {
  ^bb0(%g: tensor<4xf32>):
    remat.yield %g : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xi32>) -> tensor<4xf32> {
  %v = arith.sitofp %x : tensor<4xi32> to tensor<4xf32>
  // expected-error @+1 {{stays a loop, which cannot be done in parts here: raise 'unroll-limit', or use 'microbatches'}}
  %y = remat.loop @body count 3 carried(%v) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
