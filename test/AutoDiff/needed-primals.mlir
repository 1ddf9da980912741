// RUN: remat-test-opt %s -verify-diagnostics --pass-pipeline="builtin.module(func.func(test-remat-needed-primals))"

// What a derivative needs is what its formula uses. Where an idiom ends in an
// operation it is what the formula of the idiom uses: of 1 / (1 + exp(x)) the
// result only, and not the sum that the rule of a division divides by.

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-remark @below {{needs [math.exp]}}
  %exp = math.exp %x : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  // expected-remark @below {{needs []}}
  %sum = arith.addf %one, %exp : tensor<4xf32>
  // expected-remark @below {{needs [arith.divf]}}
  %sigmoid = arith.divf %one, %sum : tensor<4xf32>
  // expected-remark @below {{needs [arith.addf, arith.divf]}}
  %quotient = arith.divf %y, %sum : tensor<4xf32>
  // expected-remark @below {{needs [#1, arith.divf]}}
  %product = arith.mulf %sigmoid, %y : tensor<4xf32>
  return %product, %quotient : tensor<4xf32>, tensor<4xf32>
}
