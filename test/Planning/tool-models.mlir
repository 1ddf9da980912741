// remat-plan on models: a function is brought to a graph of tasks first; a
// graph is taken as it is, from a file or standard input. What is planned is the
// step, with what lies in the buffers of results. The instance is the problem
// without that, and has the node ids of the schedule.

// RUN: remat-plan %models/mlp_tiny.mlir --manifest=%models/mlp_tiny.json --budget=min --instance=%t.instance -o %t.schedule | FileCheck %s --check-prefix=MODEL
// MODEL: main: planned peak [[PEAK:[0-9]+]] bytes of [[PEAK]] budget, arena [[PEAK]], [[PEAK]] without rematerialization
// RUN: remat-plan %t.instance --budget=100%% | FileCheck %s --check-prefix=INSTANCE
// INSTANCE: main: planned peak [[PEAK:[0-9]+]] bytes of [[PEAK]] budget, arena [[PEAK]], [[PEAK]] without rematerialization; extra time +0.00% (bound +0.00%), extra work +0.00%
// RUN: %python -c "import json, sys; s, i = (json.load(open(f)) for f in sys.argv[1:]); assert s['sequence'] == i['order'] and i.get('budget') is None" %t.schedule %t.instance

// RUN: remat-plan %s --budget=256 --explain | FileCheck %s
// RUN: remat-plan - --budget=256 --explain < %s | FileCheck %s
// CHECK: chain: planned peak 256 bytes of 256 budget, arena 256, 384 without rematerialization; extra time +14.29% (bound +{{.*}}%), extra work +14.29%
// CHECK: f f32[32] (task 0) recomputed 128

// Without the buffers of results, it is more.
// RUN: remat-plan %s --budget=384 --reuse-result-buffers=false | FileCheck %s --check-prefix=REUSE
// REUSE: chain: planned peak 384 bytes of 384 budget, arena 384, 512 without rematerialization; extra time +14.29% (bound +14.29%), extra work +14.29%

// With a link, f0 can leave instead: no work is added.
// RUN: remat-plan %s --budget=384 --reuse-result-buffers=false --link-bandwidth=inf --host-budget=1KiB --explain | FileCheck %s --check-prefix=OFFLOAD
// OFFLOAD: extra time +0.00% (bound +0.00%), extra work +0.00%
// OFFLOAD: f f32[32] (task 0) offloaded 128

// What says how to make a graph has no effect on one.
// RUN: not remat-plan %s --wrt=1 2>&1 | FileCheck %s --check-prefix=WRT
// WRT: remat-plan: error: '--wrt' has no effect: the input is already a graph of tasks
// RUN: not remat-plan %s --manifest=%models/mlp_tiny.json 2>&1 | FileCheck %s --check-prefix=MANIFEST
// MANIFEST: remat-plan: error: '--manifest' has no effect: the input is already a graph of tasks
// RUN: not remat-plan %t.instance --function=f 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: remat-plan: error: '--function' has no effect: the input is an instance, no model

// RUN: remat-opt %s --remat-plan=budget=384 -o %t.planned.mlir
// RUN: not remat-plan %t.planned.mlir 2>&1 | FileCheck %s --check-prefix=PLANNED
// PLANNED: error: {{.*}}planned.mlir': the graph has transfers or clones, expected one without a plan

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @b(%a: tensor<32xf32>, %g: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @chain(%x: tensor<32xf32>) -> tensor<32xf32> {
  %f0 = remat.task 0 @f(%x) cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %f1 = remat.task 1 @f(%f0) cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %f2 = remat.task 2 @f(%f1) cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %b3 = remat.task 3 @f(%f2) backward cost 1 : (tensor<32xf32>) -> tensor<32xf32>
  %b2 = remat.task 4 @b(%f1, %b3) backward cost 1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b1 = remat.task 5 @b(%f0, %b2) backward cost 1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b0 = remat.task 6 @b(%x, %b1) backward cost 1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %b0 : tensor<32xf32>
}
