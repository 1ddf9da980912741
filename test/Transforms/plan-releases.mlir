// What a policy sends to the host is kept until its transfer has ended, as far as
// the budget has room for it, so that tasks need not wait for the transfer.

// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=min link-bandwidth=1GB/s" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=383 link-bandwidth=1GB/s" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=1GB/s" | FileCheck %s --check-prefix=ROOM
// Where transfers take no time, there is nothing to gain.
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=inf" | FileCheck %s --check-prefix=TIGHT
// The link of the target, which a policy asks for by itself.
// RUN: sed 's/^\(remat.graph .*\) {/\1 attributes {remat.target = #remat.target<"cpu", link_bandwidth = 1000000000>} {/' %s > %t.mlir
// RUN: remat-opt %t.mlir --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=target" | FileCheck %s --check-prefix=ROOM
// RUN: remat-opt %t.mlir --remat-plan="reuse-result-buffers=false budget=384" | FileCheck %s --check-prefix=ROOM
// RUN: remat-opt %t.mlir --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=inf" | FileCheck %s --check-prefix=TIGHT
// What needs no transfer may have one.
// RUN: sed -e 's/ {policies = .*_offload>\]}//' -e 's/cost 100 :/cost 10000 :/' %t.mlir | remat-opt --remat-plan="reuse-result-buffers=false budget=256 link-bandwidth=target" | FileCheck %s --check-prefix=MAY
// RUN: sed -e 's/ {policies = .*_offload>\]}//' -e 's/cost 100 :/cost 10000 :/' %t.mlir | remat-opt --remat-plan="reuse-result-buffers=false budget=256" | FileCheck %s --check-prefix=MAY-NOT
// MAY: remat.offload
// MAY-NOT-NOT: remat.offload
// The placed graph has the bytes of the plan.
// RUN: remat-opt %s --remat-plan="reuse-result-buffers=false budget=384 link-bandwidth=1GB/s" --remat-place | FileCheck %s --check-prefix=PLACED

// The large value has 256 bytes, which take 256 ns, and others have 128. Beside
// the large one there is room for one of the others, but not for two.
func.func private @large(%a: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  return %a : tensor<64xf32>
}
func.func private @small(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// TIGHT: remat.graph {{.*}}planned_peak = 256
// TIGHT-NOT: remat.release
// ROOM: remat.graph {{.*}}planned_peak = 384
// ROOM:      %[[P:.*]] = remat.task 0
// ROOM-NEXT: %[[H:.*]] = remat.offload %[[P]]
// ROOM-NEXT: remat.task 1
// ROOM-NEXT: remat.release %[[P]] : tensor<64xf32>
// ROOM-NEXT: remat.task 2
// ROOM:      remat.reload %[[H]]
// PLACED: remat.graph {{.*}}arena_bytes = 384
// PLACED: remat.task 0 {{.*}} at [arena 0]
// PLACED: remat.task 1 {{.*}} at [arena 256]
// PLACED: remat.release
// PLACED: remat.task 2 {{.*}} at [arena 0]
remat.graph @step(%x: tensor<32xf32>, %y: tensor<64xf32>) -> (tensor<32xf32>, tensor<64xf32>) {
  %p = remat.task 0 @large(%y) cost 100 {policies = [#remat.policy<must_cpu_offload>]} : (tensor<64xf32>) -> tensor<64xf32>
  %q = remat.task 1 @small(%x) cost 100 : (tensor<32xf32>) -> tensor<32xf32>
  %r = remat.task 2 @small(%q) cost 100 : (tensor<32xf32>) -> tensor<32xf32>
  %s = remat.task 3 @small(%r) backward cost 100 : (tensor<32xf32>) -> tensor<32xf32>
  %t = remat.task 4 @large(%p) backward cost 100 : (tensor<64xf32>) -> tensor<64xf32>
  remat.return %s, %t : tensor<32xf32>, tensor<64xf32>
}
