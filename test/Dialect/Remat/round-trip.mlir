// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s --emit-bytecode | remat-opt | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK: #[[WRITER:[a-z0-9]+]] = loc("model.py":3:1)
// CHECK-LABEL: func.func @capture
func.func @capture(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: remat.checkpoint {
  // CHECK:   remat.tag %{{.*}} {name = "act"} : tensor<4x8xf32>
  // CHECK:   remat.yield %{{.*}} : tensor<4x8xf32>
  // CHECK: } : tensor<4x8xf32>
  %0 = remat.checkpoint {
    %t = remat.tag %x {name = "act"} : tensor<4x8xf32>
    remat.yield %t : tensor<4x8xf32>
  } : tensor<4x8xf32>
  // CHECK: remat.checkpoint attributes {early_stop = false, policy = #remat.policy<prefer_recompute>} {
  %1 = remat.checkpoint attributes {early_stop = false, policy = #remat.policy<prefer_recompute>} {
    // CHECK: remat.checkpoint
    %n = remat.checkpoint {
      remat.yield %0 : tensor<4x8xf32>
    } : tensor<4x8xf32>
    remat.yield %n : tensor<4x8xf32>
  } : tensor<4x8xf32>
  // CHECK: remat.stop_gradient %{{.*}} : tensor<4x8xf32>
  %2 = remat.stop_gradient %1 : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {policy = #remat.policy<must_save>}
  %3 = remat.tag %2 {policy = #remat.policy<must_save>} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {policy = #remat.policy<prefer_save>}
  %4 = remat.tag %3 {policy = #remat.policy<prefer_save>} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {policy = #remat.policy<must_recompute>}
  %5 = remat.tag %4 {policy = #remat.policy<must_recompute>} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {policy = #remat.policy<must_cpu_offload>}
  %6 = remat.tag %5 {policy = #remat.policy<must_cpu_offload>} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {name = "x", policy = #remat.policy<prefer_cpu_offload>}
  %7 = remat.tag %6 {name = "x", policy = #remat.policy<prefer_cpu_offload>} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {codec = "int8", for_readers} : tensor<4x8xf32>
  %8 = remat.tag %7 {codec = "int8", for_readers} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {overwritten = #[[WRITER]]} : tensor<4x8xf32>
  %9 = remat.tag %8 {overwritten = loc("model.py":3:1)} : tensor<4x8xf32>
  // CHECK: remat.tag %{{.*}} {keep_apart} : tensor<4x8xf32>
  %10 = remat.tag %9 {keep_apart} : tensor<4x8xf32>
  // CHECK: remat.overwritten %{{.*}} by %{{.*}} in buffer 2 : tensor<4x8xf32>
  remat.overwritten %9 by %10 in buffer 2 : tensor<4x8xf32>
  return %7, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Attributes of the dialect on other operations, arguments and results.
// CHECK-LABEL: func.func private @either
// CHECK-SAME: attributes {remat.implementation = #remat.implementation<generated>, remat.kernel}
func.func private @either(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.kernel, remat.implementation = #remat.implementation<generated>} {
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @discardable
// CHECK-SAME: {remat.name = "x", remat.phase = 1 : i64, remat.policy = #remat.policy<must_save>}
// CHECK-SAME: {remat.initial_value = dense<0> : tensor<i64>}
// CHECK-SAME: {remat.name = "y"}
func.func @discardable(
    %x: tensor<4xf32> {remat.name = "x", remat.phase = 1, remat.policy = #remat.policy<must_save>},
    %seed: tensor<i64> {remat.initial_value = dense<0> : tensor<i64>})
    -> (tensor<4xf32> {remat.name = "y"}) {
  // CHECK: remat.block = 8 : i64, remat.inits = [unit, 0.000000e+00 : f32], remat.rows = array<i64: 0>
  %0 = math.exp %x {remat.block = 8 : i64, remat.inits = [unit, 0.0 : f32], remat.rows = array<i64: 0>}
      : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @compute
func.func @compute(%ids: tensor<32xi64>, %g: tensor<32x64xf32>, %zero: tensor<256x64xf32>,
                   %x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>, %i: index)
    -> (tensor<256x64xf32>, tensor<8x4x8x8xf32>, tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>, index) {
  // CHECK: remat.scatter {indexing_maps = [#{{.*}}, #{{.*}}], sizes = array<i64: 32, 64>} ins(
  // CHECK: remat.yield %{{.*}}, %{{.*}}, %{{.*}} : index, index, f32
  %0 = remat.scatter {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
                      sizes = array<i64: 32, 64>}
      ins(%ids, %g : tensor<32xi64>, tensor<32x64xf32>) outs(%zero : tensor<256x64xf32>) {
  ^bb0(%p0: index, %p1: index, %id: i64, %v: f32):
    %row = arith.index_cast %id : i64 to index
    remat.yield %row, %p1, %v : index, index, f32
  } -> tensor<256x64xf32>
  // CHECK: remat.scatter {indexing_maps = [#{{.*}}], maximum, sizes = array<i64: 32>} ins(
  %none = arith.constant dense<-1> : tensor<256xindex>
  %last = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], maximum, sizes = array<i64: 32>}
      ins(%ids : tensor<32xi64>) outs(%none : tensor<256xindex>) {
  ^bb0(%p0: index, %id: i64):
    %row = arith.index_cast %id : i64 to index
    remat.yield %row, %p0 : index, index
  } -> tensor<256xindex>
  // CHECK: remat.order %{{.*}}, %{{.*}} along 0 : tensor<32xi64>, tensor<32xi64> -> tensor<5xi64>
  %order = remat.order %ids, %ids along 0 : tensor<32xi64>, tensor<32xi64> -> tensor<5xi64>
  // CHECK: remat.conv forward(
  %y = remat.conv forward(%x, %w) {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32>
  // CHECK: remat.conv input_grad(
  %dx = remat.conv input_grad(%y, %w) {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<8x3x16x16xf32>
  // CHECK: remat.conv filter_grad(
  %dw = remat.conv filter_grad(%x, %y) {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<8x4x8x8xf32>) -> tensor<4x3x3x3xf32>
  // CHECK: remat.check_index %{{.*}}, %{{.*}} : index
  %c256 = arith.constant 256 : index
  %j = remat.check_index %i, %c256 : index
  return %0, %y, %dx, %dw, %j
      : tensor<256x64xf32>, tensor<8x4x8x8xf32>, tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>, index
}

// CHECK: func.func private @kernel({{.*}}) -> tensor<4x8xf32> attributes {remat.kernel}
func.func private @kernel(%a: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {remat.kernel} {
  return %a : tensor<4x8xf32>
}

// The peak is at the reload: %0 lives until task 2, and 128 bytes each.
// CHECK-LABEL: remat.graph @placed
// CHECK-SAME: arena_bytes = 256
// CHECK-SAME: planned_peak = 256
remat.graph @placed(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {budget = 300 : i64, planned_peak = 256 : i64, arena_bytes = 256 : i64, host_arena_bytes = 128 : i64} {
  // CHECK: remat.task 0 @kernel(%{{.*}}) cost 10 at [arena 0] {layers = ["h.0"]} :
  %0 = remat.task 0 @kernel(%x) cost 10 at [arena 0] {layers = ["h.0"]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: remat.offload %{{.*}} at host 0 : tensor<4x8xf32>
  %h = remat.offload %0 at host 0 : tensor<4x8xf32>
  // CHECK: remat.reload %{{.*}} at arena 128 : tensor<4x8xf32>
  %1 = remat.reload %h at arena 128 : tensor<4x8xf32>
  %2 = remat.task 1 @kernel(%0) at [result 0]
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: remat.release %{{.*}} : tensor<4x8xf32>
  remat.release %0 : tensor<4x8xf32>
  // CHECK: remat.return
  remat.return %2 : tensor<4x8xf32>
}
