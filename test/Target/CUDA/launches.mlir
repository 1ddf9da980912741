// The launches of kernels: see the description of remat-lower-cuda.

// RUN: remat-opt %s --remat-annotate-costs --remat-plan \
// RUN:   --remat-assign-buffers --remat-place --remat-lower-cuda | FileCheck %s

module attributes {remat.target = #remat.target<"cuda", alignment = 256>} {

// Four neighbouring floats for each thread, loaded by one instruction.
// CHECK-LABEL: gpu.func @scale_0
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4096xf32> {llvm.noalias}
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: gpu.block_id x upper_bound 4
// CHECK: gpu.thread_id x upper_bound 256
// CHECK: vector.load %[[X]][%{{.*}}] {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
func.func private @scale(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// A sum along memory is a block's, whose threads add what they have in a tree
// of shared memory.
// CHECK-LABEL: gpu.func @rows_0
// CHECK: gpu.dynamic_shared_memory
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: gpu.barrier
// CHECK: gpu.barrier
func.func private @rows(%x: tensor<64x64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %2 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<64x64xf32>) outs(%1 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// Few and long sums are shared by blocks, and a second launch adds up what they
// leave in the workspace.
// CHECK-LABEL: gpu.func @columns_0
// CHECK-SAME: memref<{{[0-9]+}}xf64>
// CHECK: gpu.barrier
// CHECK-LABEL: gpu.func @columns_1
// CHECK-NOT: gpu.barrier
// CHECK: arith.addf {{.*}} : f64
func.func private @columns(%x: tensor<65536x32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<32xf32>) -> tensor<32xf32>
  %2 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<65536x32xf32>) outs(%1 : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

remat.graph @main(%x: tensor<64x64xf32>, %y: tensor<65536x32xf32>)
    -> (tensor<64x64xf32>, tensor<64xf32>, tensor<32xf32>) {
  %0 = remat.task 0 @scale(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = remat.task 1 @rows(%x) : (tensor<64x64xf32>) -> tensor<64xf32>
  %2 = remat.task 2 @columns(%y) : (tensor<65536x32xf32>) -> tensor<32xf32>
  remat.return %0, %1, %2 : tensor<64x64xf32>, tensor<64xf32>, tensor<32xf32>
}
}
