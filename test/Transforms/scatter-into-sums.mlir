// RUN: remat-opt %s --remat-scatter-into-sums | FileCheck %s
// RUN: remat-opt %s --remat-tasks-pipeline=function=placed --remat-plan-pipeline | FileCheck %s --check-prefix=PLACED

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// What is scattered is added to the other terms, and these to what the argument
// holds.
// CHECK-LABEL: @sum
// CHECK:       %[[PRODUCT:.*]] = linalg.contract
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}} ins(%arg0, %[[PRODUCT]]
// CHECK:       %[[ALL:.*]] = remat.scatter {{.*}} outs(%[[SUM]] : tensor<64x8xf32>)
// CHECK:       return %[[ALL]]
func.func private @sum(%sum: tensor<64x8xf32> {remat.donated = 0 : i64}, %a: tensor<16x64xf32>, %b: tensor<16x8xf32>, %rows: tensor<16xi64>) -> tensor<64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x8xf32>) -> tensor<64x8xf32>
  %p = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<16x64xf32>, tensor<16x8xf32>) outs(%z : tensor<64x8xf32>) -> tensor<64x8xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %b : tensor<16xi64>, tensor<16x8xf32>) outs(%z : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    %c64 = arith.constant 64 : index
    %n = remat.check_index %r, %c64 : index
    remat.yield %n, %j, %v : index, index, f32
  } -> tensor<64x8xf32>
  %both = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  %all = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum, %both : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  return %all : tensor<64x8xf32>
}

// What a caller adds up is rounded once.
// CHECK-LABEL: @callers
// CHECK:       %[[BOTH:.*]] = remat.scatter
// CHECK:       linalg.generic {{.*}} ins(%arg0, %[[BOTH]]
func.func @callers(%sum: tensor<64x8xf32> {remat.donated = 0 : i64}, %a: tensor<16x64xf32>, %b: tensor<16x8xf32>, %rows: tensor<16xi64>) -> tensor<64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x8xf32>) -> tensor<64x8xf32>
  %p = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<16x64xf32>, tensor<16x8xf32>) outs(%z : tensor<64x8xf32>) -> tensor<64x8xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %b : tensor<16xi64>, tensor<16x8xf32>) outs(%z : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    %c64 = arith.constant 64 : index
    %n = remat.check_index %r, %c64 : index
    remat.yield %n, %j, %v : index, index, f32
  } -> tensor<64x8xf32>
  %both = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  %all = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum, %both : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  return %all : tensor<64x8xf32>
}

// In the end all is added where the argument lies, and the scatter needs no
// workspace.
// CHECK-LABEL: @placed
// PLACED:      remat.graph @placed
// PLACED:      remat.task {{.*}} at [operand 2{{(, workspace [0-9]+)?}}] :
// PLACED:      remat.task {{.*}}scatter{{.*}} at [operand 2] :
func.func @placed(%sum: tensor<64x8xf32> {remat.donated = 0 : i64}, %a: tensor<16x64xf32>, %b: tensor<16x8xf32>, %rows: tensor<16xi64>) -> tensor<64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x8xf32>) -> tensor<64x8xf32>
  %p = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<16x64xf32>, tensor<16x8xf32>) outs(%z : tensor<64x8xf32>) -> tensor<64x8xf32>
  %both = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum, %p : tensor<64x8xf32>, tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  %all = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 16, 8>} ins(%rows, %b : tensor<16xi64>, tensor<16x8xf32>) outs(%both : tensor<64x8xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    %c64 = arith.constant 64 : index
    %n = remat.check_index %r, %c64 : index
    remat.yield %n, %j, %v : index, index, f32
  } -> tensor<64x8xf32>
  return %all : tensor<64x8xf32>
}

// Terms of 16 bits would be rounded where they are added to something large.
// CHECK-LABEL: @narrow
// CHECK:       remat.scatter
// CHECK:       linalg.generic
func.func @narrow(%a: tensor<4xbf16>, %b: tensor<2xbf16>, %rows: tensor<2xi64>) -> tensor<4xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<4xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<4xbf16>) -> tensor<4xbf16>
  %s = remat.scatter {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], sizes = array<i64: 2>} ins(%rows, %b : tensor<2xi64>, tensor<2xbf16>) outs(%z : tensor<4xbf16>) {
  ^bb0(%i: index, %row: i64, %v: bf16):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %v : index, bf16
  } -> tensor<4xbf16>
  %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a, %s : tensor<4xbf16>, tensor<4xbf16>) outs(%e : tensor<4xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %r = arith.addf %x, %y : bf16
    linalg.yield %r : bf16
  } -> tensor<4xbf16>
  return %all : tensor<4xbf16>
}

// Two of three terms are scattered: one after the other, to the third. What the
// sum makes of other inputs stays.
// CHECK-LABEL: @three
// CHECK:       %[[FIRST:.*]] = remat.scatter {{.*}} outs(%arg0 : tensor<4xf32>)
// CHECK:       %[[SECOND:.*]] = remat.scatter {{.*}} outs(%[[FIRST]] : tensor<4xf32>)
// CHECK:       %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[SECOND]], %arg2
// CHECK-NEXT:  ^bb0(%[[X:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[X]], %[[S]]
// CHECK-NEXT:    linalg.yield %[[P]]
// CHECK:       %[[THIRD:.*]] = remat.scatter {{.*}} outs(%[[SCALED]] : tensor<4xf32>)
// CHECK:       return %[[THIRD]]
func.func private @three(%a: tensor<4xf32>, %b: tensor<2xf32>, %scale: tensor<f32>, %rows: tensor<2xi64>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = remat.scatter {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], sizes = array<i64: 2>} ins(%rows, %b : tensor<2xi64>, tensor<2xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%i: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %v : index, f32
  } -> tensor<4xf32>
  %t = remat.scatter {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], sizes = array<i64: 2>} ins(%rows, %b : tensor<2xi64>, tensor<2xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%i: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    %n = arith.negf %v : f32
    remat.yield %r, %n : index, f32
  } -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a, %s, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    %q = arith.addf %w, %r : f32
    linalg.yield %q : f32
  } -> tensor<4xf32>
  %u = remat.scatter {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], sizes = array<i64: 2>} ins(%rows, %b : tensor<2xi64>, tensor<2xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%i: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %v : index, f32
  } -> tensor<4xf32>
  %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum, %scale, %u : tensor<4xf32>, tensor<f32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %r = arith.addf %p, %w : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %all : tensor<4xf32>
}

// A term that is more than added is no term.
// CHECK-LABEL: @scaled
// CHECK:       remat.scatter
// CHECK:       linalg.generic
func.func @scaled(%a: tensor<4xf32>, %b: tensor<2xf32>, %rows: tensor<2xi64>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = remat.scatter {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], sizes = array<i64: 2>} ins(%rows, %b : tensor<2xi64>, tensor<2xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%i: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %v : index, f32
  } -> tensor<4xf32>
  %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    %d = arith.mulf %r, %x : f32
    linalg.yield %d : f32
  } -> tensor<4xf32>
  return %all : tensor<4xf32>
}
