// RUN: split-file %s %t
// RUN: not remat-compile %t/narrow.mlir --no-gradients -o %t/o.o 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not remat-compile %t/made.mlir --no-gradients -o %t/o.o --header=%t/o.h 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: not remat-plan %t/long.mlir --no-gradients 2>&1 | FileCheck %s --check-prefix=LONG

// What the runtime has no type for, and what takes longer than can be counted.

// NARROW: narrow.mlir:1:{{[0-9]+}}: error: argument 1 of the step 'main' has type 'tensor<4xi4>', expected a tensor of static shape with elements of i1, i8, {{.*}}complex<f32> or complex<f64>
// MADE: made.mlir:2:{{[0-9]+}}: error: result 0 of the step 'main' has type 'tensor<4xi128>', expected a tensor
// LONG: long.mlir:5:{{[0-9]+}}: the task 'loop' would take an estimated 9223372036854775807 ns and all tasks of the step together 9223372036854775807 ns, expected at most 36028797018963968 ns

//--- narrow.mlir
func.func @main(%a: tensor<4xf32>, %b: tensor<4xi4>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- made.mlir
func.func @main(%a: tensor<4xi64>) -> tensor<4xi128> {
  %0 = arith.extsi %a : tensor<4xi64> to tensor<4xi128>
  return %0 : tensor<4xi128>
}
//--- long.mlir
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %many = arith.constant 9223372036854775807 : i64
  %r = scf.for %i = %zero to %many step %one iter_args(%x = %a) -> tensor<4xf32> : i64 {
    %m = arith.mulf %x, %a : tensor<4xf32>
    scf.yield %m : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
