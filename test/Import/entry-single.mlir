// RUN: remat-opt %s --remat-import-entry | FileCheck %s
// RUN: not remat-opt %s --remat-import-entry=function=step 2>&1 | FileCheck %s --check-prefix=NAMED

// A module's only function need not be called 'main', but if another name is
// given, it must be that of a function.
// CHECK: func.func @forward
// NAMED: error: has no function 'step' to compile
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
