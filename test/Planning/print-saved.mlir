// What a model saves for its backward computation, in the form of JAX's
// print_saved_residuals: arguments first. The function is the name right around
// the place in a location, or the model's.

// RUN: remat-plan %s --print-saved | FileCheck %s --match-full-lines
// CHECK: main: planned peak {{.*}}
// CHECK-NEXT: f32[16,8] from the argument 'x'
// CHECK-NEXT: f32[8,8] from the argument 'arg1'
// CHECK-NEXT: f32[16,8] output of tanh from model.py:33:42 (f)
// CHECK-NOT: {{.*}}output of{{.*}}

// In a budget, it is what the plan keeps: here nothing but arguments.
// RUN: remat-plan %s --print-saved --planner=recompute-all | FileCheck %s --check-prefix=NONE
// NONE: from the argument 'x'
// NONE-NOT: output of

// With a policy, a value waits in host memory.
// RUN: remat-plan %s --print-saved --offload-ops=math.tanh | FileCheck %s --check-prefix=HOST
// HOST: f32[16,8] output of tanh from model.py:33:42 (f), in host memory

// Tools that compile say the same of the plan that they compile.
// RUN: remat-compile %s --print-saved --budget=100%% -o %t.o | FileCheck %s --check-prefix=COMPILED
// COMPILED: step: planned peak
// COMPILED-NEXT: f32[16,8] from the argument 'x'
// COMPILED-NEXT: f32[8,8] from the argument 'arg1'
// COMPILED-NEXT: f32[16,8] output of tanh from model.py:33:42 (f)
// RUN: rm -rf %t.in && remat-reference random %s %t.in
// RUN: remat-run %s --inputs=%t.in --outputs=%t.out --budget=100%%,50%% --print-saved | FileCheck %s --check-prefix=RAN
// RAN: what is saved at budget 100%
// RAN-NEXT: f32[16,8] from the argument 'x'
// RAN: f32[16,8] output of tanh from model.py:33:42 (f)
// RAN: what is saved at budget 50%
// RUN: not remat-run %s --gradcheck --print-saved 2>&1 | FileCheck %s --check-prefix=GRADCHECK
// GRADCHECK: error: '--print-saved' has no effect: '--gradcheck' compiles other steps

// RUN: remat-plan %s --instance=%t.json
// RUN: not remat-plan %t.json --print-saved 2>&1 | FileCheck %s --check-prefix=INSTANCE
// INSTANCE: error: {{.*}}'--print-saved' has no effect: the input is an instance, no model

func.func @main(%x: tensor<16x8xf32> {remat.name = "x"}, %w: tensor<8x8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %zeros = arith.constant dense<0.0> : tensor<16x8xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<16x8xf32>) -> tensor<16x8xf32> loc("f"("model.py":32:7))
  %t = math.tanh %p : tensor<16x8xf32> loc("f"("model.py":33:42))
  %q = linalg.matmul ins(%t, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<16x8xf32>) -> tensor<16x8xf32> loc("model.py":34:3)
  %sum = linalg.reduce {arith.addf} ins(%q : tensor<16x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
  return %sum : tensor<f32>
}
