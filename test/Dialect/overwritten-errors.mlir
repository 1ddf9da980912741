// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @late_reader(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) at [operand 0] : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{reads a value that another task has overwritten}}
  %2 = remat.task 2 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @f(%1) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %2, %3 : tensor<32xf32>, tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @no_operand(%x: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @+1 {{places result 0 at 1 : i64, expected a '#remat.slot', the number of one of 1 operands or 'unit'}}
  %0 = remat.task 0 @f(%x) at [operand 1] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @reused_too_long(%x: tensor<32xf32>) -> tensor<32xf32> attributes {planned_peak = 0 : i64} {
  // expected-note @+1 {{the live value}}
  %0 = remat.task 0 @f(%x) at [reused 0:0] : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{overlaps a live value at offset 0 of 128 bytes}}
  %1 = remat.task 1 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}
