// RUN: remat-opt %s --remat-import-constants -verify-diagnostics

func.func @no_data() -> tensor<2xi64> {
  // expected-error @+1 {{refers to resource 'nothing' without data}}
  %0 = arith.constant dense_resource<nothing> : tensor<2xi64>
  return %0 : tensor<2xi64>
}

func.func @size() -> tensor<3xi64> {
  // expected-error @+1 {{refers to resource 'integers' of 16 bytes, expected 24}}
  %0 = arith.constant dense_resource<integers> : tensor<3xi64>
  return %0 : tensor<3xi64>
}

{-#
  dialect_resources: {
    builtin: {
      integers: "0x080000000100000000000000FFFFFFFFFFFFFFFF"
    }
  }
#-}
