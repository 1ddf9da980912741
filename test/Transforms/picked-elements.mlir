// RUN: remat-opt %s --remat-scatter-to-one-hot --remat-sink-into-gathers | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0) -> (d0)>

// One element of each row: a comparison.
// CHECK-LABEL: @one_hot
// CHECK-NOT: remat.scatter
// CHECK: linalg.generic
// CHECK: %[[COLUMN:.*]] = linalg.index 1
// CHECK: arith.cmpi eq, %[[COLUMN]]
// CHECK: arith.select
func.func @one_hot(%ids: tensor<4xi64>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = remat.scatter {indexing_maps = [#one, #one], sizes = array<i64: 4>}
      ins(%ids, %v : tensor<4xi64>, tensor<4xf32>) outs(%z : tensor<4x8xf32>) {
  ^bb0(%i: index, %id: i64, %a: f32):
    %j = arith.index_cast %id : i64 to index
    remat.yield %i, %j, %a : index, index, f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Rows that may meet are added up.
// CHECK-LABEL: @embedding
// CHECK: remat.scatter
func.func @embedding(%ids: tensor<4xi64>, %v: tensor<4x8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = remat.scatter {indexing_maps = [affine_map<(d0, d1) -> (d0)>, #id], sizes = array<i64: 4, 8>}
      ins(%ids, %v : tensor<4xi64>, tensor<4x8xf32>) outs(%z : tensor<16x8xf32>) {
  ^bb0(%i: index, %k: index, %id: i64, %a: f32):
    %j = arith.index_cast %id : i64 to index
    remat.yield %j, %k, %a : index, index, f32
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// Of the exponentials, those that are read are computed.
// CHECK-LABEL: @picked
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>,
// CHECK: linalg.generic
// CHECK: %[[A:.*]] = tensor.extract %[[X]]
// CHECK: math.exp %[[A]]
// CHECK-NOT: linalg.generic
func.func @picked(%x: tensor<4x8xf32>, %ids: tensor<4xi64>) -> tensor<4xf32> {
  %big = tensor.empty() : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%big : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %id : i64 to index
    %r = tensor.extract %p[%i, %j] : tensor<4x8xf32>
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What is widened for a sum is picked from before, through a view.
// CHECK-LABEL: @widened
// CHECK-SAME: %[[X:.*]]: tensor<2x2x8xbf16>
// CHECK: %[[WIDE:.*]] = linalg.generic
// CHECK: %[[VIEW:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<2x2x8xbf16> into tensor<4x8xbf16>
// CHECK: %[[ONE:.*]] = tensor.extract %[[VIEW]]
// CHECK-NEXT: arith.extf %[[ONE]] : bf16 to f32
func.func @widened(%x: tensor<2x2x8xbf16>, %ids: tensor<4xi64>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %e3 = tensor.empty() : tensor<2x2x8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x2x8xbf16>) outs(%e3 : tensor<2x2x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<2x2x8xf32>
  %flat = tensor.collapse_shape %wide [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%ids : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%id: i64, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %id : i64 to index
    %0 = tensor.extract %flat[%i, %j] : tensor<4x8xf32>
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r, %flat : tensor<4xf32>, tensor<4x8xf32>
}

// Few of many exponentials are computed once more for who picks them, although
// others read all of them.
// CHECK-LABEL: @few
// CHECK-SAME: (%[[X:.*]]: tensor<4x8192xf32>,
// CHECK: %[[ALL:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: %[[PICKED:.*]] = linalg.generic
// CHECK: %[[A:.*]] = tensor.extract %[[X]]
// CHECK: math.exp %[[A]]
// CHECK: return %[[PICKED]], %[[ALL]]
func.func @few(%x: tensor<4x8192xf32>, %ids: tensor<4xi64>) -> (tensor<4xf32>, tensor<4x8192xf32>) {
  %big = tensor.empty() : tensor<4x8192xf32>
  %e = tensor.empty() : tensor<4xf32>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8192xf32>) outs(%big : tensor<4x8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8192xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %id : i64 to index
    %r = tensor.extract %p[%i, %j] : tensor<4x8192xf32>
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y, %p : tensor<4xf32>, tensor<4x8192xf32>
}

// Not where the indices are made of them: what they are made of would be kept
// until then.
// CHECK-LABEL: @late
// CHECK: %[[ALL:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: tensor.extract %[[ALL]]
// CHECK-NOT: math.exp
func.func @late(%x: tensor<4x8192xf32>) -> (tensor<4xf32>, tensor<4x8192xf32>) {
  %big = tensor.empty() : tensor<4x8192xf32>
  %e = tensor.empty() : tensor<4xf32>
  %ei = tensor.empty() : tensor<4xi64>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8192xf32>) outs(%big : tensor<4x8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8192xf32>
  %ends = tensor.extract_slice %p[0, 0] [4, 1] [1, 1] : tensor<4x8192xf32> to tensor<4xf32>
  %ids = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%ends : tensor<4xf32>) outs(%ei : tensor<4xi64>) {
  ^bb0(%a: f32, %o: i64):
    %r = arith.fptosi %a : f32 to i64
    linalg.yield %r : i64
  } -> tensor<4xi64>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %id : i64 to index
    %r = tensor.extract %p[%i, %j] : tensor<4x8192xf32>
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y, %p : tensor<4xf32>, tensor<4x8192xf32>
}

// The sum of such a row, multiplied, is its element if that is in the row, and
// zero times the factor, which may be infinite. It has no loop over the row.
// CHECK-LABEL: @row_sum
// CHECK: linalg.generic {indexing_maps = [{{[^]]*}}], iterator_types = ["parallel"]} ins(%{{.*}} : tensor<4x1xi64>, f32, tensor<4x1xf32>)
// CHECK: %[[NUMBER:.*]] = arith.index_cast
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %[[NUMBER]], %{{.*}} : index
// CHECK: %[[ONE:.*]] = arith.select %[[THERE]]
// CHECK: %[[A:.*]] = arith.mulf %[[ONE]], %[[F:.*]] : f32
// CHECK: %[[C:.*]] = arith.addf %{{.*}}, %[[A]] : f32
// CHECK: %[[B:.*]] = arith.mulf %{{.*}}, %[[F]] : f32
// CHECK: arith.addf %[[C]], %[[B]] : f32
// CHECK-NOT: "reduction"
func.func @row_sum(%ids: tensor<4x1xi64>, %v: f32, %g: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> ()>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids, %v : tensor<4x1xi64>, f32) outs(%e : tensor<4x8xf32>) {
  ^bb0(%id: i64, %a: f32, %o: f32):
    %p = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %c = arith.cmpi eq, %p, %j : index
    %r = arith.select %c, %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %product = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i, 0)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rows, %g : tensor<4x8xf32>, tensor<4x1xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%product : tensor<4x8xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %sum, %product : tensor<4xf32>, tensor<4x8xf32>
}

// Columns have several such elements, and other factors change along a row.
// CHECK-LABEL: @other_sums
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: iterator_types = ["parallel", "reduction"]
func.func @other_sums(%ids: tensor<4xi64>, %g: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %more = arith.constant dense<0.0> : tensor<8xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%id: i64, %o: f32):
    %p = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %c = arith.cmpi eq, %p, %j : index
    %r = arith.select %c, %one, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %columns = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%rows : tensor<4x8xf32>) outs(%more : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rows, %g : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%product : tensor<4x8xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %columns, %sum : tensor<8xf32>, tensor<4xf32>
}

// The row may be multiplied where it is made, with a factor that is computed
// there, and converted where it is added up.
// CHECK-LABEL: @row_sum_of_one
// CHECK-NOT: "reduction"
// CHECK: linalg.generic {indexing_maps = [{{[^]]*}}], iterator_types = ["parallel"]} ins(%{{.*}}, %{{.*}} : tensor<4xi64>, tensor<4xf32>)
// CHECK: %[[PLACE:.*]] = arith.index_cast
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[PLACE]]
// CHECK: %[[E:.*]] = arith.select %[[IN]]
// CHECK: %[[FACTOR:.*]] = arith.negf
// CHECK: %[[M:.*]] = arith.mulf %[[FACTOR]], %[[E]] : f32
// CHECK: %[[N:.*]] = arith.truncf %[[M]] : f32 to bf16
// CHECK: arith.extf %[[N]] : bf16 to f32
// CHECK-NOT: "reduction"
func.func @row_sum_of_one(%ids: tensor<4xi64>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant -1.0 : f32
  %e = tensor.empty() : tensor<4x8xbf16>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids, %g : tensor<4xi64>, tensor<4xf32>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%id: i64, %b: f32, %o: bf16):
    %p = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %c = arith.cmpi eq, %p, %j : index
    %a = arith.select %c, %one, %zero : f32
    %n = arith.negf %b : f32
    %m = arith.mulf %n, %a : f32
    %r = arith.truncf %m : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x8xbf16>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%rows : tensor<4x8xbf16>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %r = arith.addf %w, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %sum, %rows : tensor<4xf32>, tensor<4x8xbf16>
}

// What is added to zeros, or compared with another loop's number, is no such row.
// CHECK-LABEL: @no_rows
// CHECK-COUNT-2: iterator_types = ["parallel", "reduction"]
func.func @no_rows(%ids: tensor<4xi64>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %first = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids, %g : tensor<4xi64>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%id: i64, %b: f32, %o: f32):
    %p = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %c = arith.cmpi eq, %p, %j : index
    %a = arith.select %c, %one, %zero : f32
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %second = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%id: i64, %o: f32):
    %p = arith.index_cast %id : i64 to index
    %j = linalg.index 0 : index
    %c = arith.cmpi eq, %p, %j : index
    %r = arith.select %c, %one, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%first : tensor<4x8xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %other = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%second : tensor<4x8xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %sum, %other : tensor<4xf32>, tensor<4xf32>
}
