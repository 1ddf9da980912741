// RUN: remat-opt %s --remat-import-random-state -verify-diagnostics -split-input-file

// expected-error @+1 {{'seed': random state in a mutable global is not supported in a region}}
ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>

func.func @main(%n: index) -> tensor<i64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : tensor<i64>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> tensor<i64> {
    // expected-note @+1 {{used here}}
    %1 = ml_program.global_load @seed : tensor<i64>
    scf.yield %1 : tensor<i64>
  }
  return %0 : tensor<i64>
}

// -----

// expected-error @+1 {{'seed': random state in a mutable global is not supported in a function that others name}}
ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>

func.func private @f() -> tensor<i64> {
  // expected-note @+1 {{used here}}
  %0 = ml_program.global_load @seed : tensor<i64>
  return %0 : tensor<i64>
}
func.func @main() -> tensor<i64> {
  %0 = call @f() : () -> tensor<i64>
  return %0 : tensor<i64>
}

// -----

// expected-error @+1 {{'seed': random state in a mutable global is not supported of this type}}
ml_program.global private mutable @seed(0 : i64) : i64

func.func @main() -> i64 {
  // expected-note @+1 {{used here}}
  %0 = ml_program.global_load @seed : i64
  return %0 : i64
}
