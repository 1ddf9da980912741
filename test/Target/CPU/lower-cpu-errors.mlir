// RUN: remat-opt %s --split-input-file --remat-lower-cpu --verify-diagnostics

// expected-error @below {{expected a 'remat.graph' in the module}}
module {}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  return %x : tensor<4xf32>
}
// expected-error @below {{'remat.graph' op is not placed, expected 'arena_bytes' and a slot for each value}}
remat.graph @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %0 : tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @below {{'scf.for' op is not supported in a kernel on CPU ('k')}}
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %e) -> tensor<4xf32> {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %u = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
remat.graph @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {arena_bytes = 0 : i64, host_arena_bytes = 0 : i64, planned_peak = 0 : i64} {
  %0 = remat.task 0 @k(%x) at [result 0]
      : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %0 : tensor<4xf32>
}
