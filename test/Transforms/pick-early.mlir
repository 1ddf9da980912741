// RUN: remat-opt %s --remat-pick-early -split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-pick-early -split-input-file --remat-form-tasks --remat-order-tasks --remat-plan --remat-assign-buffers | FileCheck %s --check-prefix=PLACES

// A cross entropy picks an element of each row behind the rows' maxima. It
// picks them before, with the slice of labels that it needs for that, and the
// gradient lies where the rows did.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: @main
// CHECK:      %[[ROWS:.*]] = linalg.matmul
// CHECK:      %[[SOME:.*]] = tensor.extract_slice %arg2
// CHECK:      %[[PICKED:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[SOME]] : tensor<4xi64>)
// CHECK:        tensor.extract %[[ROWS]]
// CHECK:      %[[MAXIMA:.*]] = linalg.generic
// CHECK:      linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[SOME]], %[[MAXIMA]], %[[PICKED]] :
// CHECK-NOT:    tensor.extract
// CHECK:      return

// PLACES-LABEL: remat.graph @main
// PLACES:      %[[ROWS:.*]] = remat.task {{[0-9]+}} @matmul(
// PLACES:      remat.task {{[0-9]+}} @gather(%{{.*}}, %[[ROWS]])
// PLACES:      remat.task {{[0-9]+}} @{{.*}}(%[[ROWS]]) at [_, operand 0]
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x8192xf32>, %labels: tensor<8xi64>) -> (tensor<f32>, tensor<4x8192xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8192xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8192xf32>) -> tensor<4x8192xf32>
  %rows = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8192xf32>) outs(%zeros : tensor<4x8192xf32>) -> tensor<4x8192xf32>
  %least = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%least : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %maxima = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%rows : tensor<4x8192xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %some = tensor.extract_slice %labels[2] [4] [1] : tensor<8xi64> to tensor<4xi64>
  %loss = linalg.generic {indexing_maps = [#one, #one, #none], iterator_types = ["reduction"]} ins(%some, %maxima : tensor<4xi64>, tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%label: i64, %m: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %label : i64 to index
    %a = tensor.extract %rows[%i, %j] : tensor<4x8192xf32>
    %b = arith.subf %m, %a : f32
    %r = arith.addf %o, %b : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %gradient = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%rows, %maxima : tensor<4x8192xf32>, tensor<4xf32>) outs(%e : tensor<4x8192xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<4x8192xf32>
  return %loss, %gradient : tensor<f32>, tensor<4x8192xf32>
}

// -----

// What needs nothing that another reader makes stays as it is, and so does what
// picks many elements or is of another phase.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: @others
// CHECK:       linalg.generic {{.*}}["parallel", "parallel"]
// CHECK:       linalg.generic {{.*}}["parallel", "reduction"]
// CHECK-COUNT-3: linalg.generic {{.*}}["reduction"]
// CHECK-NOT:   linalg.generic
func.func @others(%x: tensor<4x8192xf32>, %labels: tensor<4xi64>, %many: tensor<8192xi64>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %e = tensor.empty() : tensor<4x8192xf32>
  %rows = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8192xf32>) outs(%e : tensor<4x8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8192xf32>
  %least = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%least : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %maxima = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%rows : tensor<4x8192xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %e0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %alone = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]} ins(%labels : tensor<4xi64>) outs(%z : tensor<f32>) {
  ^bb0(%label: i64, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %label : i64 to index
    %a = tensor.extract %rows[%i, %j] : tensor<4x8192xf32>
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %most = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]} ins(%many : tensor<8192xi64>) outs(%z : tensor<f32>) {
  ^bb0(%label: i64, %o: f32):
    %j = arith.index_cast %label : i64 to index
    %a = tensor.extract %rows[%c0, %j] : tensor<4x8192xf32>
    %m = tensor.extract %maxima[%c0] : tensor<4xf32>
    %b = arith.subf %a, %m : f32
    %r = arith.addf %o, %b : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %later = linalg.generic {indexing_maps = [#one, #one, #none], iterator_types = ["reduction"]} ins(%labels, %maxima : tensor<4xi64>, tensor<4xf32>) outs(%z : tensor<f32>) attrs = {remat.backward} {
  ^bb0(%label: i64, %m: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %label : i64 to index
    %a = tensor.extract %rows[%i, %j] : tensor<4x8192xf32>
    %b = arith.subf %a, %m : f32
    %r = arith.addf %o, %b : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %maxima, %alone, %most, %later : tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
