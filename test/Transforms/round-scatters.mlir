// A scatter in f32 that is read rounded only makes the rounded result, and keeps its sums in f32.

// RUN: remat-opt %s --remat-round-scatters | FileCheck %s
// So it does for a GPU. Where memory is so fast that looking at points takes longer than writing sums, it does not.

// RUN: sed 's/"cpu"/"cuda", loop_flops = 30000000000000, bandwidth = 4000000000000/' %s | remat-opt --remat-round-scatters | FileCheck %s
// RUN: sed 's/"cpu"/"cpu", bandwidth = 9000000000000/' %s | remat-opt --remat-round-scatters | FileCheck %s --check-prefix=OFF
// OFF-NOT: remat.scatter {{.*}}bf16>)
// OFF: func.func @column

// A target that looks for the windows of an element rounds their sum.
// RUN: sed 's/"cpu"/"cuda", windows = true/' %s | remat-opt --remat-round-scatters | FileCheck %s --check-prefix=WINDOWS

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

// A reader may do more with what it rounds, and there may be several.
// CHECK-LABEL: func.func @tied(
// CHECK: %[[S:.*]] = remat.scatter {{.*}} outs(%{{.*}} : tensor<500x40xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[S]] : tensor<500x40xbf16>, tensor<500x40xbf16>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: arith.addf %[[A]], %[[B]] : bf16
// CHECK: return %{{.*}}, %[[S]] : tensor<500x40xbf16>, tensor<500x40xbf16>
func.func @tied(%rows: tensor<64xi64>, %g: tensor<64x40xf32>, %other: tensor<500x40xbf16>) -> (tensor<500x40xbf16>, tensor<500x40xbf16>) {
  %zero = arith.constant dense<0.0> : tensor<500x40xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 64, 40>} ins(%rows, %g : tensor<64xi64>, tensor<64x40xf32>) outs(%zero : tensor<500x40xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<500x40xf32>
  %e = tensor.empty() : tensor<500x40xbf16>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%other, %s : tensor<500x40xbf16>, tensor<500x40xf32>) outs(%e : tensor<500x40xbf16>) {
  ^bb0(%o: bf16, %x: f32, %out: bf16):
    %t = arith.truncf %x : f32 to bf16
    %a = arith.addf %o, %t : bf16
    linalg.yield %a : bf16
  } -> tensor<500x40xbf16>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%e : tensor<500x40xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<500x40xbf16>
  return %n, %m : tensor<500x40xbf16>, tensor<500x40xbf16>
}

// Readers that round to different types, or read the sums beside rounding them,
// get the sums.
// CHECK-LABEL: func.func @types(
// CHECK: remat.scatter {{.*}} outs(%{{.*}} : tensor<500x40xf32>)
func.func @types(%rows: tensor<64xi64>, %g: tensor<64x40xf32>) -> (tensor<500x40xbf16>, tensor<500x40xf16>) {
  %zero = arith.constant dense<0.0> : tensor<500x40xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 64, 40>} ins(%rows, %g : tensor<64xi64>, tensor<64x40xf32>) outs(%zero : tensor<500x40xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<500x40xf32>
  %e = tensor.empty() : tensor<500x40xbf16>
  %f = tensor.empty() : tensor<500x40xf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%e : tensor<500x40xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<500x40xbf16>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%f : tensor<500x40xf16>) {
  ^bb0(%x: f32, %out: f16):
    %t = arith.truncf %x : f32 to f16
    linalg.yield %t : f16
  } -> tensor<500x40xf16>
  return %n, %m : tensor<500x40xbf16>, tensor<500x40xf16>
}

// CHECK-LABEL: func.func @whole(
// CHECK: remat.scatter {{.*}} outs(%{{.*}} : tensor<500x40xf32>)
func.func @whole(%rows: tensor<64xi64>, %g: tensor<64x40xf32>) -> tensor<500x40xf32> {
  %zero = arith.constant dense<0.0> : tensor<500x40xf32>
  %s = remat.scatter {indexing_maps = [#row, #id], sizes = array<i64: 64, 40>} ins(%rows, %g : tensor<64xi64>, tensor<64x40xf32>) outs(%zero : tensor<500x40xf32>) {
  ^bb0(%i: index, %j: index, %row: i64, %v: f32):
    %r = arith.index_cast %row : i64 to index
    remat.yield %r, %j, %v : index, index, f32
  } -> tensor<500x40xf32>
  %e = tensor.empty() : tensor<500x40xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<500x40xf32>) outs(%e : tensor<500x40xf32>) {
  ^bb0(%x: f32, %out: f32):
    %t = arith.truncf %x : f32 to bf16
    %w = arith.extf %t : bf16 to f32
    %d = arith.subf %x, %w : f32
    linalg.yield %d : f32
  } -> tensor<500x40xf32>
  return %n : tensor<500x40xf32>
}

// The gradient of a maximum over windows of 3 elements in steps of 2. The
// gradient that comes in is rounded before, and widened where it is added.
// CHECK-LABEL: func.func @windows(
// CHECK: %[[G:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xbf16>)
// CHECK: linalg.yield %{{.*}} : bf16
// CHECK: remat.scatter {{.*}} ins(%{{.*}}, %[[G]] : tensor<4x8xi8>, tensor<4x8xbf16>) outs(%{{.*}} : tensor<9x8xf32>)
// CHECK-NEXT: ^bb0({{.*}}%[[V:.*]]: bf16):
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[V]] : bf16 to f32
// CHECK: remat.yield {{.*}}, %[[W]] : index, index, f32
// WINDOWS-LABEL: func.func @windows(
// WINDOWS: %[[S:.*]] = remat.scatter {{.*}} outs(%{{.*}} : tensor<9x8xbf16>)
// WINDOWS: remat.yield {{.*}} : index, index, f32
// WINDOWS: return %[[S]] : tensor<9x8xbf16>
func.func @windows(%places: tensor<4x8xi8>, %g: tensor<4x8xf32>) -> tensor<9x8xbf16> {
  %zero = arith.constant dense<0.0> : tensor<9x8xf32>
  %0 = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%g : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %t = arith.truncf %x : f32 to bf16
    %w = arith.extf %t : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<4x8xf32>
  %s = remat.scatter {indexing_maps = [#id, #id], sizes = array<i64: 4, 8>} ins(%places, %r : tensor<4x8xi8>, tensor<4x8xf32>) outs(%zero : tensor<9x8xf32>) {
  ^bb0(%i: index, %j: index, %place: i8, %v: f32):
    %c2 = arith.constant 2 : index
    %p = arith.index_castui %place : i8 to index
    %q = arith.minui %p, %c2 : index
    %d = arith.muli %i, %c2 : index
    %k = arith.addi %d, %q : index
    remat.yield %k, %j, %v : index, index, f32
  } -> tensor<9x8xf32>
  %e = tensor.empty() : tensor<9x8xbf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<9x8xf32>) outs(%e : tensor<9x8xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<9x8xbf16>
  return %n : tensor<9x8xbf16>
}
}
