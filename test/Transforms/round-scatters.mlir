// A scatter in f32 that is read rounded only makes the rounded result, and keeps its sums in f32.

// RUN: remat-opt %s --remat-round-scatters | FileCheck %s
// RUN: sed 's/"cpu"/"cuda"/' %s | remat-opt --remat-round-scatters | FileCheck %s --check-prefix=OFF
// OFF-NOT: remat.scatter {{.*}}bf16> {
// OFF: func.func @column

#row = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
module attributes {remat.target = #remat.target<"cpu">} {

// CHECK-LABEL: func.func @table(
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} -> tensor<500x40xbf16>
// CHECK-NEXT: %[[S:.*]] = remat.scatter {{.*}} outs(%[[Z]] : tensor<500x40xbf16>) {
// CHECK-NEXT: ^bb0({{.*}}%[[V:.*]]: f32):
// CHECK: remat.yield {{.*}}, %[[V]] : index, index, f32
// CHECK: return %[[S]] : tensor<500x40xbf16>
func.func @table(%rows: tensor<64xi64>, %g: tensor<64x40xf32>) -> tensor<500x40xbf16> {
  %zero = arith.constant dense<0.0> : tensor<500x40xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 64, 40>} ins(%rows, %g : tensor<64xi64>, tensor<64x40xf32>) outs(%zero : tensor<500x40xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<500x40xf32>
  %e = tensor.empty() : tensor<500x40xbf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%e : tensor<500x40xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<500x40xbf16>
  return %n : tensor<500x40xbf16>
}

// Who reads the sums as well gets them.
// CHECK-LABEL: func.func @both(
// CHECK: remat.scatter {{.*}} outs(%{{.*}} : tensor<500x40xf32>)
func.func @both(%rows: tensor<64xi64>, %g: tensor<64x40xf32>) -> (tensor<500x40xf32>, tensor<500x40xbf16>) {
  %zero = arith.constant dense<0.0> : tensor<500x40xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 64, 40>} ins(%rows, %g : tensor<64xi64>, tensor<64x40xf32>) outs(%zero : tensor<500x40xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<500x40xf32>
  %e = tensor.empty() : tensor<500x40xbf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%e : tensor<500x40xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<500x40xbf16>
  return %s, %n : tensor<500x40xf32>, tensor<500x40xbf16>
}

// Each column has its own rows.
// CHECK-LABEL: func.func @column(
// CHECK: remat.scatter {{.*}} outs(%{{.*}} : tensor<500x40xf32>)
func.func @column(%rows: tensor<64x40xi64>, %g: tensor<64x40xf32>) -> tensor<500x40xbf16> {
  %zero = arith.constant dense<0.0> : tensor<500x40xf32>
  %s = remat.scatter {indexing_maps = [#id, #id], sizes = array<i64: 64, 40>} ins(%rows, %g : tensor<64x40xi64>, tensor<64x40xf32>) outs(%zero : tensor<500x40xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<500x40xf32>
  %e = tensor.empty() : tensor<500x40xbf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%e : tensor<500x40xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<500x40xbf16>
  return %n : tensor<500x40xbf16>
}
}
