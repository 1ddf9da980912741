// remat-compile stops at each level, takes up what it wrote, and refuses what
// makes no sense, leaving no file behind.

// RUN: rm -rf %t && mkdir %t

// From level to level, or at once: the same machine code.
// RUN: remat-compile %s --wrt=1 --threads=1 --name=f --emit=joint | FileCheck %s --check-prefix=JOINT
// RUN: remat-compile %s --wrt=1 --threads=1 --name=f --emit=tasks -o %t/tasks.mlir | count 0
// RUN: FileCheck %s --check-prefix=TASKS --input-file=%t/tasks.mlir
// RUN: remat-compile %t/tasks.mlir --threads=1 --name=f --budget=4KiB --emit=placed --header=%t/placed.h -o %t/placed.mlir | FileCheck %s --check-prefix=SUMMARY
// RUN: FileCheck %s --check-prefix=PLACED --input-file=%t/placed.mlir
// RUN: remat-compile %t/placed.mlir --threads=1 --name=f -S -o - 2>%t/summary | FileCheck %s --check-prefix=ASM
// RUN: FileCheck %s --check-prefix=SUMMARY --input-file=%t/summary
// RUN: remat-compile %t/placed.mlir --threads=1 --name=f -o %t/stages.o
// RUN: remat-compile %s --wrt=1 --threads=1 --name=f --budget=4KiB --header=%t/whole.h -o %t/whole.o
// RUN: diff %t/placed.h %t/whole.h
// RUN: llvm-objdump -d --no-show-raw-insn --section=.text %t/stages.o | tail -n +4 > %t/stages.s
// RUN: llvm-objdump -d --no-show-raw-insn --section=.text %t/whole.o | tail -n +4 > %t/whole.s
// RUN: diff %t/stages.s %t/whole.s

// JOINT: func.func @main(%{{.*}}: tensor<8x16xf32>, %{{.*}}: tensor<16xf32>) -> (tensor<f32>, tensor<16xf32>)
// JOINT: remat.backward
// TASKS: remat.graph @main
// TASKS-NOT: arena_bytes
// PLACED: arena_bytes
// ASM: .globl f
// SUMMARY: f: planned peak {{[0-9]+}} bytes ({{[0-9]+}} without rematerialization), arena {{[0-9]+}}, budget 4096; 2 arguments (576 bytes), 2 results (68 bytes), {{[0-9]+}} kernels, {{[0-9]+}} tasks, 0 recomputed

// What to differentiate.
// RUN: remat-compile %s --threads=1 -o %t/all.o | FileCheck %s --check-prefix=ALL
// RUN: remat-compile %s --no-gradients --threads=1 -o %t/none.o | FileCheck %s --check-prefix=NONE
// RUN: remat-compile %s --cotangents --threads=1 -o %t/vjp.o | FileCheck %s --check-prefix=VJP
// RUN: remat-compile %s --function=other --result=0 --threads=1 -o %t/other.o | FileCheck %s --check-prefix=OTHER
// ALL: 2 arguments (576 bytes), 3 results (580 bytes)
// NONE: 2 arguments (576 bytes), 1 results (4 bytes)
// VJP: 3 arguments (580 bytes), 3 results (580 bytes)
// OTHER: 1 arguments (4 bytes), 3 results (12 bytes)

// An infeasible budget has an exit status of its own. No file appears.
// RUN: sh -c 'remat-compile %models/mlp_tiny.mlir --budget=64 --threads=1 -o %t/no.o --header=%t/no.h; test $? = 3' 2>&1 | FileCheck %s --check-prefix=INFEASIBLE
// RUN: sh -c 'remat-compile %s --mcpu=nothing -o %t/no.o --header=%t/no.h; test $? = 1' 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not remat-compile %s --header=%t/no/no.h -o %t/no.o 2>&1 | FileCheck %s --check-prefix=NODIR
// RUN: not ls %t/no.o
// RUN: not ls %t/no.h
// INFEASIBLE: remat-compile: error: no plan found within the budget of 64 bytes; the smallest feasible budget found is {{[0-9]+}} bytes
// CPU: remat-compile: error: unknown CPU 'nothing'
// NODIR: remat-compile: error: '{{.*}}no.h': No such file or directory

// Contradictions.
// RUN: not remat-compile %s --wrt=7 -o %t/no.o 2>&1 | FileCheck %s --check-prefix=WRT
// RUN: not remat-compile %s --function=nobody -o %t/no.o 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not remat-compile %t/tasks.mlir --wrt=1 -o %t/no.o 2>&1 | FileCheck %s --check-prefix=LATE-WRT
// RUN: not remat-compile %t/placed.mlir --budget=1MiB -o %t/no.o 2>&1 | FileCheck %s --check-prefix=LATE-BUDGET
// RUN: not remat-compile %s --emit=tasks --header=%t/no.h -o %t/no.o 2>&1 | FileCheck %s --check-prefix=HEADER
// RUN: not remat-compile %s -S --emit=placed -o %t/no.o 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not remat-compile %s --name=remat_step -o %t/no.o 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not remat-compile %s --name=int -o %t/no.o 2>&1 | FileCheck %s --check-prefix=KEYWORD
// RUN: not remat-compile %s --manifest=%models/mlp_tiny.json -o %t/no.o 2>&1 | FileCheck %s --check-prefix=MANIFEST
// RUN: not remat-compile %s --budget=lots -o %t/no.o 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not ls %t/no.o
// WRT: 'func.func' op has 2 arguments, cannot differentiate with respect to #7
// NOBODY: error: {{.*}}'nobody'
// LATE-WRT: '--wrt' has no effect: the input is already a graph of tasks
// LATE-BUDGET: '--budget' has no effect: the input is already planned
// HEADER: '--header' describes a placed step, but '--emit' stops before
// EMIT: '-S' contradicts '--emit'
// NAME: 'remat_step' is no name for a module
// KEYWORD: 'int' is no C identifier
// MANIFEST: the model has 2 arguments, the manifest 8
// BUDGET: error: {{.*}}'lots'

#rows = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>

func.func @main(%x: tensor<8x16xf32>, %w: tensor<16xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic
    {indexing_maps = [#rows, #cols, #none], iterator_types = ["reduction", "reduction"]}
    ins(%x, %w : tensor<8x16xf32>, tensor<16xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %e = math.exp %p : f32
    %s = arith.addf %e, %acc : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

func.func @other(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %a = math.exp %x : tensor<f32>
  %b = math.sin %a : tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}
