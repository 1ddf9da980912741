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
  %c9 = arith.constant 9 : index
  %y = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    // expected-error@below {{'linalg.exp' op is in a loop that unrolls to too many operations}}
    %v = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
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
