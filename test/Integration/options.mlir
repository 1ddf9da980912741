// One pipeline of remat-opt does what remat-compile does, with the same options:
// the IR that they end with is the same, at every level.

// RUN: rm -rf %t && mkdir %t
// DEFINE: %{emit} = placed
// DEFINE: %{pipeline} = cotangents
// DEFINE: %{flags} = --cotangents
// DEFINE: %{same} = remat-opt %s --remat-pipeline="%{pipeline} emit=%{emit}" -o %t/pipeline.mlir && \
// DEFINE:   remat-compile %s %{flags} --emit=%{emit} -o %t/compiled.mlir && \
// DEFINE:   remat-opt %t/compiled.mlir | diff - %t/pipeline.mlir

// REDEFINE: %{emit} = joint
// RUN: %{same}
// REDEFINE: %{emit} = tasks
// RUN: %{same}
// REDEFINE: %{emit} = planned
// RUN: %{same}

// The options of derivatives and tasks.
// REDEFINE: %{emit} = tasks
// REDEFINE: %{pipeline} = function=model target=cpu differentiate=false wrt=1 tangents widen early-stop=false threads=3
// REDEFINE: %{flags} = --function=model --target=cpu --no-gradients --wrt=1 --tangents --widen --early-stop=false --threads=3
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=TASKS --input-file=%t/pipeline.mlir
// TASKS: module attributes {remat.target = #remat.target<"cpu">}
// TASKS: remat.graph @model({{.*}}: tensor<64x32xf64>, {{.*}}: tensor<32x32xf64>) -> (tensor<64x32xf64>, tensor<64x32xf64>)

// The options of planning.
// REDEFINE: %{emit} = placed
// REDEFINE: %{pipeline} = cotangents wrt=1,2 budget=100% threads=1 effort=0.1 seed=3 reorder region-budget=first:8KiB
// REDEFINE: %{flags} = --cotangents --wrt=1,2 --budget=100%% --threads=1 --effort=0.1 --seed=3 --reorder --region-budget=first:8KiB
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=REGION --input-file=%t/pipeline.mlir
// REGION: region_budgets = {first = 8192 : i64}
// REDEFINE: %{pipeline} = cotangents budget=70% threads=1 reuse-result-buffers=false link-bandwidth=inf host-budget=1MiB
// REDEFINE: %{flags} = --cotangents --budget=70%% --threads=1 --reuse-result-buffers=false --link-bandwidth=inf --host-budget=1MiB
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=OFFLOAD --input-file=%t/pipeline.mlir
// OFFLOAD: remat.offload
// REDEFINE: %{pipeline} = cotangents tangents separate-backward budget=80% planner=greedy threads=1
// REDEFINE: %{flags} = --cotangents --tangents --separate-backward --budget=80%% --planner=greedy --threads=1
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=SEPARATE --input-file=%t/pipeline.mlir
// SEPARATE: state_bytes

// Measured costs.
// RUN: remat-run %models/mlp_tiny.mlir --manifest=%models/mlp_tiny.json --threads=1 --profile-costs=%t/costs.json
// RUN: remat-opt %models/mlp_tiny.mlir --remat-pipeline="wrt=0,1,2,3,4,5 threads=1 mcpu=%tested_cpu costs=%t/costs.json" -o %t/pipeline.mlir
// RUN: remat-compile %models/mlp_tiny.mlir --wrt=0,1,2,3,4,5 --threads=1 --costs=%t/costs.json --emit=placed -o %t/compiled.mlir
// RUN: remat-opt %t/compiled.mlir | diff - %t/pipeline.mlir
// RUN: remat-opt %models/mlp_tiny.mlir --remat-pipeline="wrt=0,1,2,3,4,5 threads=1" -o %t/estimated.mlir
// RUN: not cmp -s %t/estimated.mlir %t/pipeline.mlir

// Code.
// REDEFINE: %{emit} = code
// REDEFINE: %{pipeline} = cotangents name=f threads=1
// REDEFINE: %{flags} = --cotangents --name=f --threads=1
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=CODE --input-file=%t/pipeline.mlir
// CODE: llvm.func {{.*}}@f_kernel_0

// Remarks.
// RUN: remat-opt %s --remat-pipeline="cotangents budget=75% explain" -o %t/explained.mlir 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: remark: {{.*}}recompu

// What a pass manager prints is what it was given.
// RUN: remat-opt %s --remat-pipeline="cotangents budget=150% region-budget=first:8KiB time-limit=5 link-bandwidth=inf" --dump-pass-pipeline -o %t/dumped.mlir 2>&1 | FileCheck %s --check-prefix=DUMP
// DUMP: remat-plan{budget=150% effort=1 explain=false gap=0 host-budget= link-bandwidth=inf offload=true planner=auto region-budget=first:8192 reorder=false reuse-result-buffers=true search-threads=1 seed=1 time-limit=5}

// What a pass manager prints can be run.
// RUN: remat-opt %s --remat-pipeline="cotangents budget=75%" --dump-pass-pipeline -o %t/whole.mlir 2> %t/dump.txt
// RUN: %python %S/Inputs/run_dumped.py %t/dump.txt remat-opt %s -o %t/again.mlir
// RUN: diff %t/whole.mlir %t/again.mlir

func.func @model(%x: tensor<64x32xf32>, %w: tensor<32x32xf32>, %v: tensor<32x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = remat.checkpoint attributes {name = "first", policy = #remat.policy<prefer_save>} {
    %a = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%start : tensor<64x32xf32>) -> tensor<64x32xf32>
    %b = math.tanh %a : tensor<64x32xf32>
    %c = linalg.matmul ins(%b, %v : tensor<64x32xf32>, tensor<32x32xf32>) outs(%start : tensor<64x32xf32>) -> tensor<64x32xf32>
    remat.yield %c : tensor<64x32xf32>
  } : tensor<64x32xf32>
  %z = math.sin %y : tensor<64x32xf32>
  %p = linalg.matmul ins(%z, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%start : tensor<64x32xf32>) -> tensor<64x32xf32>
  %q = math.exp %p : tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}
