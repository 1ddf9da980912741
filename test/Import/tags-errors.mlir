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
