// RUN: remat-opt %s --remat-derivative-function='function=f kind=jacobian wrt=0' --remat-derivative-function='function=g kind=jacobian' --remat-derivative-function='function=h kind=jacobian' --remat-expand-derivatives --canonicalize --cse | FileCheck %s
// RUN: remat-opt %s --remat-derivative-function='function=f kind=jacobian wrt=0' --remat-expand-derivatives=batch=false --canonicalize --cse | FileCheck %s --check-prefix=ROWS

// The rows of a Jacobian are computed together: one operation for each of the
// gradient's, with one more dimension. The function is computed once.

// CHECK-LABEL: func.func @f.jacobian
// CHECK-COUNT-1: linalg.tanh
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<20x20xf32>) attrs =  {remat.backward}
// CHECK:         linalg.contract {{.*}} -> tensor<20x7xf32>
// CHECK-NOT:     linalg.contract
// CHECK:         return %{{.*}} : tensor<20x7xf32>
// ROWS-LABEL: func.func @f.jacobian
// ROWS-COUNT-20: linalg.contract {{.*}} -> tensor<7xf32>
func.func @f(%x: tensor<7xf32>, %w: tensor<20x7xf32>) -> tensor<20xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<20xf32>) -> tensor<20xf32>
  %p = linalg.matvec ins(%w, %x : tensor<20x7xf32>, tensor<7xf32>) outs(%z : tensor<20xf32>) -> tensor<20xf32>
  %y = linalg.tanh ins(%p : tensor<20xf32>) outs(%e : tensor<20xf32>) -> tensor<20xf32>
  return %y : tensor<20xf32>
}

// Operations of tensors, and a gather: its adjoint scatters with one more point.

// CHECK-LABEL: func.func @g.jacobian
// CHECK-COUNT-1: remat.scatter {{.*}}sizes = array<i64: 6, 6>
// CHECK-NOT:     remat.scatter
// CHECK:         return %{{.*}} : tensor<3x2x4xf32>
func.func @g(%x: tensor<4xf32>, %ids: tensor<6xi64>) -> tensor<3x2xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%ids : tensor<6xi64>) outs(%e : tensor<6xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %s = arith.mulf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %r = tensor.expand_shape %y [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// Scalars have no further dimension: the rows are computed one by one.

// CHECK-LABEL: func.func @h.jacobian
// CHECK-COUNT-3: tensor.extract_slice
// CHECK:         return %{{.*}} : tensor<3x3xf32>
func.func @h(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c1 = arith.constant 1 : index
  %v = tensor.extract %x[%c1] : tensor<3xf32>
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.mulf %in, %v : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}
