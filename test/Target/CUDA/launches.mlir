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

// A sum along memory is a warp's or a block's. The threads of a warp add what
// they have in registers.
// CHECK-LABEL: gpu.func @rows_0
// CHECK-NOT: gpu.barrier
// CHECK: scf.for
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}} vector<4xf32>
// CHECK: gpu.shuffle xor
// CHECK-NOT: gpu.barrier
// CHECK: memref.store
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
// leave in the workspace. Terms that are not next to each other are read with
// those of neighbouring sums. A term's number is its place along the only loop
// of terms: a remainder there keeps ptxas from reading ahead.
// CHECK-LABEL: gpu.func @columns_0
// CHECK-SAME: memref<{{[0-9]+}}xf64>
// CHECK-NOT: arith.remui %{{[a-z0-9_]+}}, %c65536
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}} vector<4xf32>
// CHECK: gpu.barrier
// CHECK: vector.store {{.*}} {alignment = 32 : i64} : {{.*}} vector<4xf64>
// CHECK-LABEL: gpu.func @columns_1
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}} vector<2xf64>
// CHECK: arith.addf {{.*}} : f64
// CHECK: gpu.barrier
// CHECK: vector.store {{.*}} : {{.*}} vector<2xf32>
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

// What is contiguous along another dimension goes through shared memory, whose
// rows of 32 have one element more.
// CHECK-LABEL: gpu.func @transpose_0
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8192xf32>
// CHECK: memref.view {{.*}} to memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK: vector.load %[[X]]{{.*}} {alignment = 16 : i64} : {{.*}} vector<4xf32>
// CHECK: gpu.barrier
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : {{.*}} vector<4xf32>
func.func private @transpose(%x: tensor<64x128xf32>) -> tensor<128x64xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<128x64xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<64x128xf32>) outs(%0 : tensor<128x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<128x64xf32>
  return %1 : tensor<128x64xf32>
}

// A row that is too long for shared memory is read twice by one launch: what
// two operations read is not in memory, and both compute it.
// CHECK-LABEL: gpu.func @softmax_0
// CHECK-SAME: (%{{[a-z0-9]+}}: memref<3276800xf32> {llvm.noalias}, %{{[a-z0-9]+}}: memref<3276800xf32> {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr)
// CHECK: scf.for
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: math.exp
// CHECK: arith.divf
// CHECK-NOT: gpu.func @softmax_1
func.func private @softmax(%x: tensor<64x51200xf32>) -> tensor<64x51200xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x51200xf32>
  %1 = tensor.empty() : tensor<64xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
  %3 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<64x51200xf32>) outs(%0 : tensor<64x51200xf32>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%in: f32, %out: f32):
    %6 = math.exp %in : f32
    linalg.yield %6 : f32
  } -> tensor<64x51200xf32>
  %4 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%3 : tensor<64x51200xf32>) outs(%2 : tensor<64xf32>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%in: f32, %out: f32):
    %6 = arith.addf %out, %in : f32
    linalg.yield %6 : f32
  } -> tensor<64xf32>
  %5 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%3, %4 : tensor<64x51200xf32>, tensor<64xf32>) outs(%0 : tensor<64x51200xf32>) attrs = {remat.rows = array<i64: 0>} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %6 = arith.divf %in, %sum : f32
    linalg.yield %6 : f32
  } -> tensor<64x51200xf32>
  return %5 : tensor<64x51200xf32>
}

// Rows of a table are read 16 bytes at once. The four neighbours share the check of the row.
// CHECK-LABEL: gpu.func @gather_0
// CHECK-SAME: (%{{[a-z0-9]+}}: memref<64xi64> {llvm.noalias}, %[[TABLE:[a-z0-9]+]]: memref<6400xf32>
// CHECK: scf.if
// CHECK: llvm.call @remat_kernel_fail
// CHECK-NOT: llvm.call @remat_kernel_fail
// CHECK: vector.load %[[TABLE]][%{{.*}}] {alignment = 16 : i64} : memref<6400xf32>, vector<4xf32>
// CHECK-NOT: memref.load %[[TABLE]]
// CHECK-NOT: llvm.call @remat_kernel_fail
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
func.func private @gather(%rows: tensor<64xi64>, %table: tensor<100x64xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %c100 = arith.constant 100 : index
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%rows : tensor<64xi64>) outs(%0 : tensor<64x64xf32>) {
  ^bb0(%in: i64, %out: f32):
    %2 = arith.index_cast %in : i64 to index
    %3 = remat.check_index %2, %c100 : index
    %4 = linalg.index 1 : index
    %5 = tensor.extract %table[%3, %4] : tensor<100x64xf32>
    linalg.yield %5 : f32
  } -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// Columns of a table are not next to each other, and rows of 67 elements begin
// anywhere.
// CHECK-LABEL: gpu.func @gather_columns_0
// CHECK-NOT: vector.load {{.*}} vector<4xf32>
// CHECK: vector.store
func.func private @gather_columns(%rows: tensor<64xi64>, %table: tensor<64x100xf32>, %odd: tensor<100x67xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %c100 = arith.constant 100 : index
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%rows : tensor<64xi64>) outs(%0 : tensor<64x64xf32>) {
  ^bb0(%in: i64, %out: f32):
    %2 = arith.index_cast %in : i64 to index
    %3 = remat.check_index %2, %c100 : index
    %4 = linalg.index 1 : index
    %5 = tensor.extract %table[%4, %3] : tensor<64x100xf32>
    %6 = tensor.extract %odd[%3, %4] : tensor<100x67xf32>
    %7 = arith.addf %5, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// Images of 7 x 7 follow each other without a gap: four points may be of two
// channels, each with its own factor.
// CHECK-LABEL: gpu.func @lines_0
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<1568xf32> {llvm.noalias}, %[[FACTORS:[a-z0-9]+]]: memref<4xf32>
// CHECK: arith.cmpi uge
// CHECK: vector.load %[[X]][%{{.*}}] {alignment = 16 : i64} : memref<1568xf32>, vector<4xf32>
// CHECK-COUNT-4: memref.load %[[FACTORS]]
// CHECK-NOT: memref.load %[[FACTORS]]
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<1568xf32>, vector<4xf32>
func.func private @lines(%x: tensor<8x4x49xf32>, %factors: tensor<4xf32>) -> tensor<8x4x49xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<8x4x49xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(n, c, i) -> (n, c, i)>, affine_map<(n, c, i) -> (c)>, affine_map<(n, c, i) -> (n, c, i)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  } ins(%x, %factors : tensor<8x4x49xf32>, tensor<4xf32>) outs(%0 : tensor<8x4x49xf32>) {
  ^bb0(%in: f32, %factor: f32, %out: f32):
    %2 = arith.mulf %in, %factor : f32
    linalg.yield %2 : f32
  } -> tensor<8x4x49xf32>
  return %1 : tensor<8x4x49xf32>
}

// Rows of an odd number of elements begin anywhere: a thread reads the elements
// of four rounds before it adds any of them up, and then those that are left.
// CHECK-LABEL: gpu.func @odd_rows_0
// CHECK: scf.for
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: memref.load
// CHECK-NOT: memref.load
// CHECK: scf.yield
// CHECK: gpu.shuffle xor
func.func private @odd_rows(%x: tensor<64x3001xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %2 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<64x3001xf32>) outs(%1 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// So many that the device is busy: four blocks for each multiprocessor of an
// H100, whatever the width of the sums. What they leave has several blocks, too.
// CHECK-LABEL: gpu.func @few_columns_0
// CHECK: gpu.block_id x upper_bound 512
// CHECK-LABEL: gpu.func @few_columns_1
// CHECK: gpu.block_id x upper_bound 2
// CHECK: gpu.thread_id x upper_bound 256
func.func private @few_columns(%x: tensor<1048576x32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<32xf32>) -> tensor<32xf32>
  %2 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<1048576x32xf32>) outs(%1 : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

remat.graph @main(%x: tensor<64x64xf32>, %y: tensor<65536x32xf32>, %z: tensor<64x128xf32>, %l: tensor<64x51200xf32>,
    %g: tensor<64xi64>, %t: tensor<100x64xf32>, %tc: tensor<64x100xf32>, %to: tensor<100x67xf32>, %i: tensor<8x4x49xf32>, %f: tensor<4xf32>, %o: tensor<64x3001xf32>, %w: tensor<1048576x32xf32>)
    -> (tensor<32xf32>, tensor<64xf32>, tensor<8x4x49xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<32xf32>, tensor<128x64xf32>, tensor<64x51200xf32>) {
  %0 = remat.task 0 @scale(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = remat.task 1 @rows(%x) : (tensor<64x64xf32>) -> tensor<64xf32>
  %2 = remat.task 2 @columns(%y) : (tensor<65536x32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @transpose(%z) : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %4 = remat.task 4 @softmax(%l) : (tensor<64x51200xf32>) -> tensor<64x51200xf32>
  %5 = remat.task 5 @gather(%g, %t) : (tensor<64xi64>, tensor<100x64xf32>) -> tensor<64x64xf32>
  %6 = remat.task 6 @gather_columns(%g, %tc, %to) : (tensor<64xi64>, tensor<64x100xf32>, tensor<100x67xf32>) -> tensor<64x64xf32>
  %7 = remat.task 7 @lines(%i, %f) : (tensor<8x4x49xf32>, tensor<4xf32>) -> tensor<8x4x49xf32>
  %8 = remat.task 8 @odd_rows(%o) : (tensor<64x3001xf32>) -> tensor<64xf32>
  %9 = remat.task 9 @few_columns(%w) : (tensor<1048576x32xf32>) -> tensor<32xf32>
  remat.return %9, %8, %7, %5, %6, %0, %1, %2, %3, %4 : tensor<32xf32>, tensor<64xf32>, tensor<8x4x49xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<32xf32>, tensor<128x64xf32>, tensor<64x51200xf32>
}
}
