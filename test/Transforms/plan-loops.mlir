// Under a budget a loop's states are made again from few checkpoints.

// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{to-plan} = --remat-form-tasks --remat-order-tasks --remat-annotate-costs=threads=1 --remat-place-bodies --remat-plan
// DEFINE: %{derivative} = --remat-differentiate=mode=reverse --canonicalize --cse --remat-simplify-loops

// 20 iterations, of each of which two values of 64 bytes are stacked. With a
// little less memory one of them stays of the first iterations, of which the
// reverse loop makes the other; with half of it, of all. Then there is a checkpoint of the state for each iteration, and with the
// least so few that each iteration runs again eight times at most. What the loop
// stacked for its derivative alone is then gone; the reverse loop makes it from
// the states.

// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=100%% | FileCheck %t/cell.mlir --check-prefix=ALL
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=80%% | FileCheck %t/cell.mlir --check-prefix=SPLIT
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=54%% | FileCheck %t/cell.mlir --check-prefix=THIN
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=40%% | FileCheck %t/cell.mlir --check-prefixes=SOME,FEW
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=min | FileCheck %t/cell.mlir --check-prefixes=ONE,FEW
// RUN: not remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=64 2>&1 | FileCheck %t/cell.mlir --check-prefix=NONE

// The plan can be read again, and its addresses.

// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}=budget=min --remat-assign-buffers --remat-place -o %t/placed.mlir
// RUN: remat-opt %t/placed.mlir | diff %t/placed.mlir -

// With a link, states are in host memory: all but the first and the last where
// the link is faster than an iteration, one in two where it is slower, and no
// more than there is room for. With all of them there, two states in the arena
// are enough.

// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}="budget=20%% link-bandwidth=inf" | FileCheck %t/cell.mlir --check-prefix=LINK
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}="budget=20%% link-bandwidth=10000000" | FileCheck %t/cell.mlir --check-prefix=SLOW
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}="budget=20%% link-bandwidth=inf host-budget=256" | FileCheck %t/cell.mlir --check-prefix=ROOM
// RUN: remat-opt %t/cell.mlir %{derivative} %{to-plan}="budget=20%% link-bandwidth=inf" --remat-assign-buffers --remat-place -o %t/host.mlir
// RUN: remat-opt %t/host.mlir | diff %t/host.mlir -
// RUN: FileCheck %t/cell.mlir --check-prefix=PLACED < %t/host.mlir

// Two loops read states of one loop; two loops of one body are needed for
// different results. A body that asserts something does it in the forward loop.

// RUN: remat-opt %t/two.mlir %{to-plan}=budget=min | FileCheck %t/two.mlir
// RUN: remat-opt %t/same.mlir %{to-plan}=budget=min | FileCheck %t/same.mlir
// RUN: remat-opt %t/asserting.mlir %{to-plan}=budget=min | FileCheck %t/asserting.mlir

// Two loops read the same states: each makes them again. What must not be made
// again is read where iterations run again, and what nothing needs is no task.

// RUN: remat-opt %t/shared.mlir %{to-plan}=budget=min | FileCheck %t/shared.mlir
// RUN: remat-opt %t/kept.mlir --remat-lower-checkpoints %{derivative} %{to-plan}=budget=min | FileCheck %t/kept.mlir
// RUN: remat-opt %t/hidden.mlir --remat-lower-checkpoints %{derivative} %{to-plan}=budget=min | FileCheck %t/hidden.mlir

// Loops whose iterations are counted at run time are a pair if they run as often
// as each other.

// RUN: remat-opt %t/trips.mlir %{to-plan}=budget=min | FileCheck %t/trips.mlir

//--- cell.mlir
// ALL-NOT:  again
// ALL:      remat.loop @cell count 20 carried({{.*}} -> (tensor<16xf32>, tensor<20x16xf32>, tensor<20x16xf32>)
// ALL:      remat.loop @cell_reverse count 20 reverse

// SPLIT-DAG: remat.loop @cell_short1 count 10 carried({{.*}} -> (tensor<16xf32>, tensor<10x16xf32>)
// SPLIT-DAG: remat.loop @cell count 10 carried({{.*}} -> (tensor<16xf32>, tensor<10x16xf32>, tensor<10x16xf32>)
// SPLIT-DAG: remat.loop @cell_reverse count 10 reverse
// SPLIT-DAG: remat.loop @cell_reverse_again1 count 10 reverse

// THIN-NOT: again @
// THIN-DAG: remat.loop @cell_short1 count 20 carried(%{{.*}}) invariant(%{{.*}}) sliced() : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<20x16xf32>)
// THIN-DAG: remat.loop @cell_reverse_again1 count 20 reverse carried(%{{.*}}, %{{.*}}) invariant(%{{.*}}) sliced(%{{[a-z0-9]*}}) :

// FEW-DAG:  remat.graph private @cell_short(%{{.*}}: tensor<16xf32>, %{{.*}}: tensor<16xf32>) -> tensor<16xf32>
// FEW-DAG:  remat.graph private @cell_next(%{{.*}}: tensor<16xf32>, %{{.*}}: tensor<16xf32>) -> tensor<16xf32>
// FEW-DAG:  remat.graph private @cell_reverse_again
// SOME-DAG: remat.loop @cell_reverse_again count 20 reverse carried(%{{.*}}, %{{.*}}) invariant(%{{.*}}) sliced() again @cell_next slots 10 carried(
// ONE-DAG:  remat.loop @cell_reverse_again count 20 reverse carried(%{{.*}}, %{{.*}}) invariant(%{{.*}}) sliced() again @cell_next slots 2 carried(
// FEW-DAG:  remat.loop @cell_short count 20 carried(%{{.*}}) invariant(%{{.*}}) sliced() : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>

// LINK-DAG: remat.task {{.*}} host_workspace 1152 :
// LINK-DAG: again @cell_next slots {{.*}} host 18 period 1 :
// SLOW-DAG: remat.task {{.*}} host_workspace 512 :
// SLOW-DAG: again @cell_next slots {{.*}} host 8 period 2 :
// ROOM-DAG: remat.task {{.*}} host_workspace 256 :
// ROOM-DAG: again @cell_next slots {{.*}} host 4 period
// PLACED:   host_workspace 1152 at [{{.*}}, workspace 0, host_workspace 0] :

// NONE: budget 64 bytes is infeasible, the smallest feasible is 320
func.func private @cell(%h: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %a = linalg.mul ins(%h, %w : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %c = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @main(%h: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %r = remat.loop @cell count 20 carried(%h) invariant(%w) sliced() : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
//--- two.mlir
// CHECK-DAG: remat.loop @step_short_short count 20 carried({{.*}} : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
// CHECK-DAG: remat.loop @back_again count 20 reverse {{.*}} again @step_next slots 2 carried(%{{[a-z0-9]*}}) invariant() sliced()
// CHECK-DAG: remat.loop @other_again count 20 reverse {{.*}} again @step_short_next slots 2 carried(%{{[a-z0-9]*}}) invariant() sliced()
func.func private @step(%a: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  %t = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %u = linalg.exp ins(%b : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %t, %u, %a, %b : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
func.func private @back(%d: tensor<16xf32>, %s: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.mul ins(%d, %s : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func private @other(%d: tensor<16xf32>, %s: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.add ins(%d, %s : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func @main(%a: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %r:4 = remat.loop @step count 20 carried(%a, %b) invariant() sliced() : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<20x16xf32>, tensor<20x16xf32>)
  %x = remat.loop @back count 20 reverse carried(%r#1) invariant() sliced(%r#2) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  %y = remat.loop @other count 20 reverse carried(%x) invariant() sliced(%r#3) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  return %x, %y : tensor<16xf32>, tensor<16xf32>
}
//--- same.mlir
// CHECK-DAG: remat.loop @step_short count 20 carried({{.*}} -> (tensor<16xf32>, tensor<16xf32>)
// CHECK-DAG: remat.loop @step_short_{{[0-9]}} count 20 carried({{.*}} -> (tensor<16xf32>, tensor<16xf32>, tensor<20x16xf32>)
// CHECK-DAG: again @step_next slots 2
// CHECK-DAG: again @step_next_{{[0-9]}} slots 2
func.func private @step(%a: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  %t = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %u = linalg.exp ins(%b : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %t, %u, %a, %b : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
func.func private @back(%d: tensor<16xf32>, %s: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.mul ins(%d, %s : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func @main(%a: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<20x16xf32>) {
  %r:4 = remat.loop @step count 20 carried(%a, %b) invariant() sliced() : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<20x16xf32>, tensor<20x16xf32>)
  %q:4 = remat.loop @step count 20 carried(%b, %r#0) invariant() sliced() : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<20x16xf32>, tensor<20x16xf32>)
  %x = remat.loop @back count 20 reverse carried(%r#1) invariant() sliced(%r#2) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  %y = remat.loop @back count 20 reverse carried(%x) invariant() sliced(%q#3) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  return %x, %y, %q#2 : tensor<16xf32>, tensor<16xf32>, tensor<20x16xf32>
}
//--- asserting.mlir
// CHECK-LABEL: remat.graph private @step_next(%{{[a-z0-9]*}}: tensor<16xf32>) -> tensor<16xf32>
// CHECK-LABEL: remat.graph private @step_short(
// CHECK:         %[[OK:.*]] = remat.task {{[0-9]}} @{{.*}} -> tensor<1xi1>
func.func private @step(%a: tensor<16xf32>, %i: tensor<1xi64>) -> (tensor<16xf32>, tensor<16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<1xi64>) {
  ^bb0(%p: i64):
    %c10 = arith.constant 10 : i64
    %ok = arith.cmpi slt, %p, %c10 : i64
    cf.assert %ok, "out of bounds"
    linalg.yield
  }
  %e = tensor.empty() : tensor<16xf32>
  %t = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %t, %a : tensor<16xf32>, tensor<16xf32>
}
func.func private @back(%d: tensor<16xf32>, %s: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.mul ins(%d, %s : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func @main(%a: tensor<16xf32>, %i: tensor<20x1xi64>) -> tensor<16xf32> {
  %r:2 = remat.loop @step count 20 carried(%a) invariant() sliced(%i) : (tensor<16xf32>, tensor<20x1xi64>) -> (tensor<16xf32>, tensor<20x16xf32>)
  %x = remat.loop @back count 20 reverse carried(%r#0) invariant() sliced(%r#1) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  return %x : tensor<16xf32>
}
//--- shared.mlir
// CHECK-DAG: remat.loop @step_short_short count 20 carried(%{{.*}}) invariant() sliced() : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-DAG: remat.loop @back_again count 20 reverse {{.*}} again @step_next slots 2 carried(
// CHECK-DAG: remat.loop @other_again count 20 reverse {{.*}} again @step_short_next slots 2 carried(
func.func private @step(%a: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  %t = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %t, %a : tensor<16xf32>, tensor<16xf32>
}
func.func private @back(%d: tensor<16xf32>, %s: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.mul ins(%d, %s : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func private @other(%d: tensor<16xf32>, %s: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.add ins(%d, %s : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func @main(%a: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %r:2 = remat.loop @step count 20 carried(%a) invariant() sliced() : (tensor<16xf32>) -> (tensor<16xf32>, tensor<20x16xf32>)
  %x = remat.loop @back count 20 reverse carried(%r#0) invariant() sliced(%r#1) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  %y = remat.loop @other count 20 reverse carried(%x) invariant() sliced(%r#1) : (tensor<16xf32>, tensor<20x16xf32>) -> tensor<16xf32>
  return %x, %y : tensor<16xf32>, tensor<16xf32>
}
//--- kept.mlir
// CHECK:       remat.graph private @cell_next(%{{[a-z0-9]*}}: tensor<16xf32>, %[[M:[a-z0-9]*]]: tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT:    %[[S:.*]] = remat.task 1 @mul(%[[M]])
// CHECK-NEXT:    %[[NEXT:.*]] = remat.task 2 @tanh(%[[S]])
// CHECK-NEXT:    remat.return %[[NEXT]]
// CHECK:       remat.loop @cell_reverse_again count 20 reverse carried({{.*}} sliced(%[[K:[a-z0-9]*]], %[[K]]) again @cell_next slots 2 carried({{.*}} sliced(%[[K]])
// CHECK:       remat.loop @cell_short count 20 carried({{.*}} -> (tensor<16xf32>, tensor<20x16xf32>)
func.func private @cell(%h: tensor<16xf32>, %w: tensor<16x16xf32>) -> tensor<16xf32> {
  %z = arith.constant dense<0.0> : tensor<16xf32>
  %m = linalg.matvec ins(%w, %h : tensor<16x16xf32>, tensor<16xf32>) outs(%z : tensor<16xf32>) -> tensor<16xf32>
  %k = remat.tag %m {policy = #remat.policy<must_save>} : tensor<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %s = linalg.mul ins(%k, %k : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %c = linalg.tanh ins(%s : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @main(%h: tensor<16xf32>, %w: tensor<16x16xf32>) -> tensor<16xf32> {
  %r = remat.loop @cell count 20 carried(%h) invariant(%w) sliced() : (tensor<16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
//--- hidden.mlir
// CHECK-LABEL: remat.graph @main(
// CHECK:         remat.task 0 @loop{{.*}} -> tensor<16xf32>
// CHECK-NOT:     tensor<20x16xf32>
// CHECK:         remat.task {{[0-9]+}} @{{.*}}slots2
// CHECK-NOT:     tensor<20x16xf32>
// CHECK:         remat.return
func.func private @cell(%h: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %a = linalg.mul ins(%h, %w : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %c = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @main(%h: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %q = remat.checkpoint {
    %r = remat.loop @cell count 20 carried(%h) invariant(%w) sliced() : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    remat.yield %r : tensor<16xf32>
  } : tensor<16xf32>
  return %q : tensor<16xf32>
}
//--- trips.mlir
// CHECK-DAG: remat.loop @back_again count 20 trips(%{{.*}}) reverse {{.*}} again @step_next slots 10 carried(
// CHECK-DAG: remat.loop @step_short count 20 trips(%{{.*}}) carried(
// CHECK-DAG: remat.loop @back count 20 trips(%{{.*}}) reverse
// CHECK-DAG: remat.loop @until_short count 20 while carried(
// CHECK-DAG: remat.loop @back_again_{{[0-9]*}} count 20 trips(%{{.*}}) reverse {{.*}} again @until_next slots 10 carried(
func.func private @step(%a: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  %t = linalg.tanh ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %t, %a : tensor<16xf32>, tensor<16xf32>
}
func.func private @until(%g: tensor<i1>, %n: tensor<i64>, %a: tensor<16xf32>) -> (tensor<i1>, tensor<i64>, tensor<16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  %s = tensor.empty() : tensor<i64>
  %f = tensor.empty() : tensor<i1>
  %t = linalg.exp ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.add ins(%n, %n : tensor<i64>, tensor<i64>) outs(%s : tensor<i64>) -> tensor<i64>
  %h = linalg.copy ins(%g : tensor<i1>) outs(%f : tensor<i1>) -> tensor<i1>
  return %h, %m, %t, %a : tensor<i1>, tensor<i64>, tensor<16xf32>, tensor<16xf32>
}
func.func private @back(%d: tensor<16xf32>, %a: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %m = linalg.mul ins(%d, %a : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %m : tensor<16xf32>
}
func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>, %g: tensor<i1>, %z: tensor<i64>, %n: tensor<i64>, %m: tensor<i64>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %f:2 = remat.loop @step count 20 trips(%n) carried(%x) invariant() sliced() : (tensor<16xf32>, tensor<i64>) -> (tensor<16xf32>, tensor<20x16xf32>)
  %r = remat.loop @back count 20 trips(%n) reverse carried(%f#0) invariant() sliced(%f#1) : (tensor<16xf32>, tensor<20x16xf32>, tensor<i64>) -> tensor<16xf32>
  %h:2 = remat.loop @step count 20 trips(%n) carried(%y) invariant() sliced() : (tensor<16xf32>, tensor<i64>) -> (tensor<16xf32>, tensor<20x16xf32>)
  %s = remat.loop @back count 20 trips(%m) reverse carried(%h#0) invariant() sliced(%h#1) : (tensor<16xf32>, tensor<20x16xf32>, tensor<i64>) -> tensor<16xf32>
  %u:4 = remat.loop @until count 20 while carried(%g, %z, %r) invariant() sliced() : (tensor<i1>, tensor<i64>, tensor<16xf32>) -> (tensor<i1>, tensor<i64>, tensor<16xf32>, tensor<20x16xf32>)
  %v = remat.loop @back count 20 trips(%u#1) reverse carried(%u#2) invariant() sliced(%u#3) : (tensor<16xf32>, tensor<20x16xf32>, tensor<i64>) -> tensor<16xf32>
  return %r, %s, %v : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
