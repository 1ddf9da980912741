// RUN: remat-opt %s -split-input-file --remat-import-scatters | FileCheck %s

// Derivatives of scatters of a part of the updates have the shape of all.
// RUN: remat-opt %S/Inputs/scatter-one.mlir --remat-import-pipeline --remat-joint-pipeline="cotangents=true tangents=true" \
// RUN:   | FileCheck %s --check-prefix=JOINT
// JOINT: func.func @main({{.*}}) -> (tensor<10x4xf32>, tensor<10x4xf32>, tensor<1000x4xf32>,

// A loop that adds slices at computed places, which are checked.

// CHECK-LABEL: func.func @add
// CHECK-SAME:    (%[[X:.*]]: tensor<10x4xf32>, %[[U:.*]]: tensor<1000x4xf32>, %[[I:.*]]: tensor<1000xi64>)
// CHECK-NOT:     scf.for
// CHECK:         %[[R:.*]] = remat.scatter {{.*}}sizes = array<i64: 1000, 1, 4>{{.*}} ins(%[[U]] : tensor<1000x4xf32>) outs(%[[X]] :
// CHECK-NEXT:    ^bb0(%[[K:.*]]: index, %{{.*}}: index, %[[J:.*]]: index, %[[V:.*]]: f32):
// CHECK:           %[[E:.*]] = tensor.extract %[[I]][%[[K]]]
// CHECK:           %[[P:.*]] = arith.index_cast %[[E]]
// CHECK:           %[[C:.*]] = remat.check_index %[[P]]
// CHECK:           %[[T:.*]] = math.exp %[[V]]
// CHECK:           remat.yield %[[C]], %[[J]], %[[T]]
// CHECK:         return %[[R]]
func.func @add(%x: tensor<10x4xf32>, %u: tensor<1000x4xf32>, %ids: tensor<1000xi64>) -> tensor<10x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %r = scf.for %i = %c0 to %c1000 step %c1 iter_args(%a = %x) -> (tensor<10x4xf32>) {
    %e = tensor.extract %ids[%i] : tensor<1000xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<1000x4xf32> to tensor<1x4xf32>
    %t = tensor.extract_slice %a[%p, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<1x4xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1x4xf32>) outs(%t : tensor<1x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %f = math.exp %in : f32
      %y = arith.addf %out, %f : f32
      linalg.yield %y : f32
    } -> tensor<1x4xf32>
    %n = tensor.insert_slice %g into %a[%p, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<10x4xf32>
    scf.yield %n : tensor<10x4xf32>
  }
  return %r : tensor<10x4xf32>
}

// -----

// One that overwrites: the last update of each row is found, and read.

// CHECK-LABEL: func.func @overwrite
// CHECK-SAME:    (%[[X:.*]]: tensor<10x4xf32>, %[[U:.*]]: tensor<1000x4xf32>, %[[I:.*]]: tensor<1000xi64>)
// CHECK-NOT:     scf.for
// CHECK:         %[[LAST:.*]] = remat.scatter {indexing_maps = [], maximum, sizes = array<i64: 1000>}
// CHECK:           remat.check_index
// CHECK:         -> tensor<10xindex>
// CHECK:         linalg.generic {{.*}} ins(%[[LAST]], %[[X]] :
// CHECK:           arith.cmpi sge
// CHECK:           tensor.extract %[[U]]
// CHECK:           arith.select
func.func @overwrite(%x: tensor<10x4xf32>, %u: tensor<1000x4xf32>, %ids: tensor<1000xi64>) -> tensor<10x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %r = scf.for %i = %c0 to %c1000 step %c1 iter_args(%a = %x) -> (tensor<10x4xf32>) {
    %e = tensor.extract %ids[%i] : tensor<1000xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<1000x4xf32> to tensor<4xf32>
    %n = tensor.insert_slice %s into %a[%p, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %n : tensor<10x4xf32>
  }
  return %r : tensor<10x4xf32>
}

// -----

// A loop that begins later, leaves updates out or ends before the last one: the
// scatter is over those that it reads, and places are those of its counter.

// CHECK-LABEL: func.func @add_some
// CHECK-SAME:    (%[[X:.*]]: tensor<10x4xf32>, %[[U:.*]]: tensor<1000x4xf32>, %[[I:.*]]: tensor<1000xi64>)
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[U]][2, 0] [332, 4] [3, 1] : tensor<1000x4xf32> to tensor<332x4xf32>
// CHECK:         remat.scatter {{.*}}sizes = array<i64: 332, 1, 4>{{.*}} ins(%[[S]] : tensor<332x4xf32>)
// CHECK-NEXT:    ^bb0(%[[K:.*]]: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32):
// CHECK:           %[[M:.*]] = arith.muli %[[K]], %{{.*}}
// CHECK:           %[[A:.*]] = arith.addi %[[M]], %{{.*}}
// CHECK:           %[[C:.*]] = arith.index_cast %[[A]] : index to i64
// CHECK:           %[[D:.*]] = arith.index_cast %[[C]] : i64 to index
// CHECK:           tensor.extract %[[I]][%[[D]]]
func.func @add_some(%x: tensor<10x4xf32>, %u: tensor<1000x4xf32>, %ids: tensor<1000xi64>) -> tensor<10x4xf32> {
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c998 = arith.constant 998 : i64
  %r = scf.for %c = %c2 to %c998 step %c3 iter_args(%a = %x) -> (tensor<10x4xf32>) : i64 {
    %i = arith.index_cast %c : i64 to index
    %e = tensor.extract %ids[%i] : tensor<1000xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<1000x4xf32> to tensor<1x4xf32>
    %t = tensor.extract_slice %a[%p, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<1x4xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1x4xf32>) outs(%t : tensor<1x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %y = arith.addf %out, %in : f32
      linalg.yield %y : f32
    } -> tensor<1x4xf32>
    %n = tensor.insert_slice %g into %a[%p, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<10x4xf32>
    scf.yield %n : tensor<10x4xf32>
  }
  return %r : tensor<10x4xf32>
}

// -----

// The same of one that overwrites: the last update is one of two.

// CHECK-LABEL: func.func @overwrite_some
// CHECK-SAME:    (%{{.*}}: tensor<10x4xf32>, %[[U:.*]]: tensor<1000x4xf32>
// CHECK:         remat.scatter {indexing_maps = [], maximum, sizes = array<i64: 2>}
// CHECK:         %[[IS:.*]] = arith.cmpi sge
// CHECK:         %[[N:.*]] = arith.select %[[IS]]
// CHECK:         %[[A:.*]] = arith.addi %[[N]], %{{.*}}
// CHECK:         tensor.extract %[[U]][%[[A]],
func.func @overwrite_some(%x: tensor<10x4xf32>, %u: tensor<1000x4xf32>, %ids: tensor<1000xi64>) -> tensor<10x4xf32> {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c1 to %c3 step %c1 iter_args(%a = %x) -> (tensor<10x4xf32>) {
    %e = tensor.extract %ids[%i] : tensor<1000xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<1000x4xf32> to tensor<4xf32>
    %n = tensor.insert_slice %s into %a[%p, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %n : tensor<10x4xf32>
  }
  return %r : tensor<10x4xf32>
}

// -----

// A loop that goes beyond the updates is left to what refuses it.

// CHECK-LABEL: func.func @beyond
// CHECK:         scf.for
func.func @beyond(%x: tensor<10x4xf32>, %u: tensor<3x4xf32>, %ids: tensor<4xi64>) -> tensor<10x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<10x4xf32>) {
    %e = tensor.extract %ids[%i] : tensor<4xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %n = tensor.insert_slice %s into %a[%p, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %n : tensor<10x4xf32>
  }
  return %r : tensor<10x4xf32>
}

// -----

// What the loop carries is read otherwise, or written at the iteration's own
// place: left as it is.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: scf.for
func.func @others(%x: tensor<10xf32>, %ids: tensor<10xi64>) -> (tensor<10xf32>, tensor<10xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %x) -> (tensor<10xf32>) {
    %e = tensor.extract %ids[%i] : tensor<10xi64>
    %p = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %a[%i] [1] [1] : tensor<10xf32> to tensor<f32>
    %n = tensor.insert_slice %s into %a[%p] [1] [1] : tensor<f32> into tensor<10xf32>
    scf.yield %n : tensor<10xf32>
  }
  %q = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %x) -> (tensor<10xf32>) {
    %s = tensor.extract_slice %r[%i] [1] [1] : tensor<10xf32> to tensor<f32>
    %n = tensor.insert_slice %s into %a[%i] [1] [1] : tensor<f32> into tensor<10xf32>
    scf.yield %n : tensor<10xf32>
  }
  return %r, %q : tensor<10xf32>, tensor<10xf32>
}
