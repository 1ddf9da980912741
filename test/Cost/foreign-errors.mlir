// RUN: remat-test-opt %s -split-input-file -verify-diagnostics --remat-annotate-costs

// Operations of another dialect whose kernels cannot be made.

remat.graph @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %0 : tensor<4xf32>
}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  // expected-error@+1 {{'foreign.whole' op cannot be decomposed in its kernel, expected 'linalg::AggregatedOpInterface' or a 'decomposeInKernel' of its own to succeed}}
  %0 = foreign.whole %x {parts = "none"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

remat.graph @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %0 : tensor<4xf32>
}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  // expected-error@+1 {{'foreign.whole' op decomposes into values of types 'tensor<f32>', expected 'tensor<4xf32>'}}
  %0 = foreign.whole %x {parts = "mistyped"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

remat.graph @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %0 : tensor<4xf32>
}
// expected-error@+1 {{an operation decomposes into itself, more than 64 times}}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  %0 = foreign.whole %x {parts = "itself"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
