// RUN: remat-opt %s -verify-diagnostics -split-input-file

remat.graph @no_number(%x: tensor<32xf32>) {
  // expected-error @+1 {{expected integer value}}
  %0 = remat.task @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @unknown_place(%x: tensor<32xf32>) {
  // expected-error @+1 {{unknown place 'heap', expected 'arena', 'host', 'result', 'reused', 'operand' or '_'}}
  %0 = remat.task 0 @f(%x) at [heap 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @too_many_places(%x: tensor<32xf32>) {
  // expected-error @+1 {{has 2 places for 1 results}}
  %0 = remat.task 0 @f(%x) at [_, operand 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @workspace_first(%x: tensor<32xf32>) {
  // expected-error @+1 {{expected the workspace to be the last}}
  %0 = remat.task 0 @f(%x) at [workspace 0, arena 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @host_workspace_first(%x: tensor<32xf32>) {
  // expected-error @+1 {{expected the workspace to be the last}}
  %0 = remat.task 0 @f(%x) at [host_workspace 0, workspace 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @misaligned(%x: tensor<32xf32>) {
  // expected-error @+1 {{slot offset must be a multiple of 64, got 3}}
  %0 = remat.task 0 @f(%x) at [arena 3] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @given_twice(%x: tensor<32xf32>) {
  // expected-error @+1 {{attribute 'cost' is given twice}}
  %0 = remat.task 0 @f(%x) cost 3 {cost = 4} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @transfer_in_place(%x: tensor<32xf32>) {
  // expected-error @+1 {{expected a space and an offset}}
  %0 = remat.offload %x at operand 0 : tensor<32xf32>
  remat.return
}
