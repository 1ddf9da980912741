// One remark for each decision of a plan, by MLIR's engine: what was decided, of
// which value, its bytes, and the nanoseconds that the decision costs or saves.

// RUN: remat-opt %s --remat-plan=budget=256 --remarks-filter=remat --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:
// CHECK: model.py:1:2: remark: [Passed] recomputed | Category:remat | Function=chain | {{.*}}Bytes=128, Nanoseconds=1000, Value="f f32[32] (task 0)"
// CHECK: model.py:2:2: remark: [Passed] saved | Category:remat | Function=chain | {{.*}}Bytes=128, Nanoseconds=0, NanosecondsIfRecomputed=2000, Value="f f32[32] (task 1)"
// CHECK: model.py:3:2: remark: [Passed] saved | {{.*}}Value="f f32[32] (task 2)"

// With a link, f0 leaves instead.
// RUN: remat-opt %s "--remat-plan=budget=384 reuse-result-buffers=false link-bandwidth=64GB/s host-budget=1KiB" --remarks-filter=remat --remark-format=yaml --remarks-output-file=%t.yaml -o /dev/null
// RUN: FileCheck %s --check-prefix=YAML --input-file=%t.yaml
// YAML: Pass: remat
// YAML-NEXT: Name: offloaded
// YAML-NEXT: DebugLoc: { File: model.py, Line: 1, Column: 2 }
// YAML-NEXT: Function: chain
// YAML: - Bytes: '128'
// YAML: - TransferNanoseconds: '{{[1-9][0-9]*}}'

// A filter for something else has none, nor has a pass without a listener.
// RUN: remat-opt %s --remat-plan=budget=256 --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | count 0
// RUN: remat-opt %s --remat-plan=budget=256 -o /dev/null 2>&1 | count 0

// With room, nothing comes back.
// RUN: remat-opt %s --remat-plan=budget=512 --remarks-filter=remat --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=KEPT
// KEPT-NOT: recomputed
// KEPT: [Passed] saved

// A loop is planned several times, with fewer and fewer checkpoints, and so are
// a graph and its alternative. Only what the plan does that is taken in the end
// is said, and once: the loop has two stacks, or none, and of the alternative,
// which is slower, nothing is said.
// DEFINE: %{loop} = --remat-differentiate=mode=reverse --canonicalize --cse --remat-simplify-loops --remat-form-tasks --remat-order-tasks --remat-annotate-costs=threads=1 --remat-place-bodies --remarks-filter=remat --remark-format=emitRemark -o /dev/null
// RUN: remat-opt %S/Inputs/loop.mlir %{loop} "--remat-plan=budget=100%% explain" 2>&1 | FileCheck %s --check-prefix=STACKS --implicit-check-not=remark:
// STACKS: remark: result 1: saved, 1280 bytes
// STACKS: remark: result 2: saved, 1280 bytes
// STACKS-COUNT-2: remark: [Passed] saved | {{.*}}Function=main | Bytes=1280
// RUN: remat-opt %S/Inputs/loop.mlir %{loop} "--remat-plan=budget=min explain" 2>&1 | count 0
// RUN: remat-opt %S/Inputs/alternative.mlir "--remat-plan=budget=256 explain" --remarks-filter=remat --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE --implicit-check-not=remark:
// ONE: remark: parts of the batch run by parts
// ONE-COUNT-2: remark: result 0: saved, 128 bytes
// ONE-COUNT-2: remark: [Passed] saved | {{.*}}Function=main | Bytes=128

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @b(%a: tensor<32xf32>, %g: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @chain(%x: tensor<32xf32>) -> tensor<32xf32> {
  %f0 = remat.task 0 @f(%x) cost 1000 : (tensor<32xf32>) -> tensor<32xf32> loc("model.py":1:2)
  %f1 = remat.task 1 @f(%f0) cost 1000 : (tensor<32xf32>) -> tensor<32xf32> loc("model.py":2:2)
  %f2 = remat.task 2 @f(%f1) cost 1000 : (tensor<32xf32>) -> tensor<32xf32> loc("model.py":3:2)
  %b3 = remat.task 3 @f(%f2) backward cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %b2 = remat.task 4 @b(%f1, %b3) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b1 = remat.task 5 @b(%f0, %b2) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b0 = remat.task 6 @b(%x, %b1) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %b0 : tensor<32xf32>
}
