// RUN: remat-opt %s --remat-import-entry | FileCheck %s
// RUN: remat-opt %s --remat-differentiate=mode=reverse | FileCheck %s --check-prefix=DERIVATIVE
// RUN: remat-opt %s --remat-form-tasks | FileCheck %s --check-prefix=TASKS
// RUN: remat-opt %s --remat-pipeline=cotangents | FileCheck %s --check-prefix=TASKS
// RUN: not remat-opt %s --remat-import-entry=function=step 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: not remat-opt %s --remat-pipeline=function=step 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: not remat-opt %s --remat-differentiate=function=step 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: not remat-opt %s --remat-form-tasks=function=step 2>&1 | FileCheck %s --check-prefix=NAMED

// A module's only function need not be called 'main', but if another name is
// given, it must be that of a function.
// CHECK: func.func @forward
// DERIVATIVE: func.func @forward(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// TASKS: remat.graph @forward
// NAMED: error: {{.*}}no function 'step'
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
