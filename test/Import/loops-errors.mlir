// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-import-loops=limit=8

func.func @bounds(%x: tensor<4xf32>, %n: tensor<index>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %high = tensor.extract %n[] : tensor<index>
  // expected-error@below {{'scf.for' op is not supported: expected constant bounds}}
  %y = scf.for %i = %c0 to %high step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @limit(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    // expected-error@below {{'linalg.exp' op is in a loop that unrolls to too many operations}}
    %v = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    %w = linalg.exp ins(%v : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @shape(%x: tensor<4xf32>, %n: tensor<index>) -> tensor<4xf32> {
  %size = tensor.extract %n[] : tensor<index>
  // expected-error @+1 {{dynamic shape is not supported: 'tensor<?xf32>'}}
  %s = tensor.extract_slice %x[0] [%size] [1] : tensor<4xf32> to tensor<?xf32>
  %r = tensor.insert_slice %s into %x[1] [%size] [1] : tensor<?xf32> into tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 9223372036854775807 : index
  // expected-error@below {{'scf.for' op unrolls to too many iterations: expected at most 8, or a loop that can stay one: without codecs}}
  %y = scf.for %i = %c0 to %many step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @wide(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : i128
  %c1 = arith.constant 1 : i128
  // expected-error@below {{'scf.for' op counts with 'i128', expected at most i64}}
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) : i128 {
    scf.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func private @effect(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @choice(%x: tensor<4xf32>, %which: tensor<i1>) -> tensor<4xf32> {
  %p = tensor.extract %which[] : tensor<i1>
  // expected-error@below {{'scf.if' op is not supported: expected branches without side effects, as both are computed}}
  %y = scf.if %p -> (tensor<4xf32>) {
    %v = func.call @effect(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
