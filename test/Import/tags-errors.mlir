// RUN: remat-opt %s --remat-import-tags -verify-diagnostics -split-input-file

func.func @unknown_policy(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @unknown {{has the unknown policy 'KEEP' in its location, expected one of 'must_save', 'prefer_save', 'must_recompute', 'prefer_recompute', 'must_cpu_offload', 'prefer_cpu_offload'}}
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32> loc("remat:policy=KEEP")
  return %0 : tensor<4xf32>
}

// -----

func.func @malformed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @unknown {{has the malformed tag 'policy' in its location, expected 'key=value'}}
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32> loc("remat:policy")
  return %0 : tensor<4xf32>
}

// -----

// Two demands on one value, also through a view and through a region.
func.func @demands(%x: tensor<4x2xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<4x2xf32>
  // expected-note @+1 {{the other demand}}
  %1 = remat.tag %0 {policy = #remat.policy<must_save>} : tensor<4x2xf32>
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
  // expected-error @+1 {{value has policy 'must_save', which conflicts with policy 'must_cpu_offload'}}
  %3 = remat.tag %2 {policy = #remat.policy<must_cpu_offload>} : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

func.func @region(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.checkpoint {
    %1 = math.exp %x : tensor<4xf32>
    // expected-note @+1 {{the other demand}}
    %2 = remat.tag %1 {policy = #remat.policy<must_save>} : tensor<4xf32>
    remat.yield %2 : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{value has policy 'must_save', which conflicts with policy 'must_recompute'}}
  %3 = remat.tag %0 {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A wish gives way, equal demands agree, and arguments are the caller's.
func.func @agree(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.tag %x {policy = #remat.policy<must_save>} : tensor<4xf32>
  %1 = remat.tag %0 {policy = #remat.policy<must_recompute>} : tensor<4xf32>
  %2 = math.exp %1 : tensor<4xf32>
  %3 = remat.tag %2 {policy = #remat.policy<prefer_recompute>} : tensor<4xf32>
  %4 = remat.tag %3 {policy = #remat.policy<must_save>} : tensor<4xf32>
  %5 = remat.tag %4 {policy = #remat.policy<must_save>} : tensor<4xf32>
  return %5 : tensor<4xf32>
}
