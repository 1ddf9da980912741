// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=reverse --canonicalize --cse | FileCheck %s

// The derivative of tanh reads the stored result and not the operand, and
// the gradient of the bias is the sum of what was computed for the matrix.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[G:[a-z0-9]*]]: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>)
// CHECK:         %[[Y:.*]] = linalg.generic
// CHECK:           math.tanh
// CHECK:         %[[DX:.*]] = linalg.generic {{.*}}"parallel", "parallel"]} ins(%[[G]], %[[Y]] : {{.*}} attrs = {remat.backward}
// CHECK-NOT:       math.tanh
// CHECK:         %[[DB:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]], iterator_types = ["reduction", "parallel"]} ins(%[[DX]] :
// CHECK:         return %[[Y]], %[[DX]], %[[DB]]
func.func @main(%x0: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %x = remat.tag %x0 {name = "x"} : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// relu(x) > 0 if and only if x > 0: the derivative reads the stored result and
// not the sum before it.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[G:[a-z0-9]*]]: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.0
// CHECK:         %[[Y:.*]] = linalg.generic
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}}"parallel", "parallel"]} ins(%[[G]], %[[Y]] : {{.*}} attrs = {remat.backward}
// CHECK-NEXT:    ^bb0(%[[E:.*]]: f32, %[[V:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[C:.*]] = arith.cmpf ugt, %[[V]], %[[ZERO]]
// CHECK-NEXT:      %[[S:.*]] = arith.select %[[C]], %[[E]], %[[ZERO]]
// CHECK-NEXT:      linalg.yield %[[S]]
func.func @main(%x0: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = remat.tag %x0 {name = "x"} : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = arith.cmpf ugt, %0, %zero : f32
    %2 = arith.select %1, %0, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Not so where numbers above a bound become one that is not: min(x, 6) says
// nothing of x at 6.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[B:[a-z0-9]*]]: tensor<8xf32>, %[[G:[a-z0-9]*]]: tensor<4x8xf32>)
// CHECK:         %[[X:.*]] = remat.tag
// CHECK:         linalg.generic {{.*}}"parallel", "parallel"]} ins(%[[G]], %[[X]], %[[B]] : {{.*}} attrs = {remat.backward}
func.func @main(%x0: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %six = arith.constant 6.0 : f32
  %x = remat.tag %x0 {name = "x"} : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = arith.cmpf ogt, %0, %six : f32
    %2 = arith.select %1, %six, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Ties of a maximum share its cotangent: they are counted first.

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<4x8xf32>, %[[G:[a-z0-9]*]]: tensor<4xf32>)
// CHECK:         %[[M:.*]] = linalg.generic
// CHECK:           arith.maximumf
// CHECK:         %[[COUNT:.*]] = linalg.generic {{.*}}"parallel", "reduction"]} ins(%[[X]], %[[M]] :
// CHECK:           arith.cmpf oeq
// CHECK:         linalg.generic {{.*}}"parallel", "parallel"]} ins(%[[X]], %[[G]], %[[M]], %[[COUNT]] :
// CHECK:           arith.divf
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %min = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%min : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A sum of narrow elements is formed in f32.

#v = affine_map<(d0, d1) -> (d0, d1)>
#w = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @main
// CHECK:         linalg.fill {{.*}} -> tensor<8xf32>
// CHECK:         linalg.generic {{.*}} outs({{.*}} : tensor<8xf32>)
// CHECK:           arith.extf {{.*}} : bf16 to f32
// CHECK:         } -> tensor<8xf32>
// CHECK:           arith.truncf {{.*}} : f32 to bf16
func.func @main(%x: tensor<4x8xbf16>, %b: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %e = tensor.empty() : tensor<4x8xbf16>
  %y = linalg.generic {indexing_maps = [#v, #w, #v], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<4x8xbf16>, tensor<8xbf16>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%i: bf16, %j: bf16, %o: bf16):
    %0 = arith.mulf %i, %j : bf16
    linalg.yield %0 : bf16
  } -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

// A gather goes back through a scatter that computes the indices again.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %{{.*}}: tensor<10x8xf32>, %[[IDS:[a-z0-9]*]]: tensor<4xi64>, %[[G:[a-z0-9]*]]: tensor<4x8xf32>)
// CHECK:         remat.scatter {{.*}}ins(%[[G]], %[[IDS]] :
// CHECK:         ^bb0(%{{.*}}: index, %[[COL:.*]]: index, %[[UPDATE:.*]]: f32, %[[ID:.*]]: i64):
// CHECK:           %[[ROW:.*]] = arith.index_cast %[[ID]]
// CHECK:           remat.yield %[[ROW]], %[[COL]], %[[UPDATE]]
func.func @main(%t: tensor<10x8xf32>, %ids: tensor<4xi64>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: i64, %o: f32):
    %r = arith.index_cast %i : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %t[%r, %c] : tensor<10x8xf32>
    linalg.yield %v : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
