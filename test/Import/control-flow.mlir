// RUN: remat-opt %s --remat-import-control-flow -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @choice(
// CHECK-SAME:    %[[X:.*]]: tensor<6xf32>, %[[I:.*]]: index
// CHECK:         %[[IS1:.*]] = arith.cmpi eq, %[[I]], %c1
// CHECK:         %[[R:.*]] = scf.if %[[IS1]] -> (tensor<6xf32>) {
// CHECK:           %[[E:.*]] = math.exp %[[X]]
// CHECK:           scf.yield %[[E]]
// CHECK:         } else {
// CHECK:           %[[IS4:.*]] = arith.cmpi eq, %[[I]], %c4
// CHECK:           %[[INNER:.*]] = scf.if %[[IS4]]
// CHECK:             arith.mulf
// CHECK:           } else {
// CHECK:             scf.yield %[[X]]
// CHECK:           scf.yield %[[INNER]]
// CHECK:         } {remat.name = "chosen"}
// CHECK:         %[[SUM:.*]] = arith.addf %[[R]], %[[X]]
// CHECK:         return %[[SUM]]
func.func @choice(%x: tensor<6xf32>, %i: index) -> tensor<6xf32> {
  %r = scf.index_switch %i {remat.name = "chosen"} -> tensor<6xf32>
  case 1 {
    %e = math.exp %x : tensor<6xf32>
    scf.yield %e : tensor<6xf32>
  }
  case 4 {
    %e = arith.mulf %x, %x : tensor<6xf32>
    scf.yield %e : tensor<6xf32>
  }
  default {
    scf.yield %x : tensor<6xf32>
  }
  %only = scf.index_switch %i -> tensor<6xf32>
  default {
    %e = arith.addf %r, %x : tensor<6xf32>
    scf.yield %e : tensor<6xf32>
  }
  return %only : tensor<6xf32>
}

// -----

// Two loops, which read what was there before.
// CHECK-LABEL: func @parallel(
// CHECK-SAME:    %[[X:.*]]: tensor<4x6xf32>, %[[Y:.*]]: tensor<4x6xf32>
// CHECK:         %[[R:.*]]:2 = scf.for %[[I:.*]] = %c0{{.*}} to %c4{{.*}} step %c1{{.*}} iter_args(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[Y]])
// CHECK:           %[[INNER:.*]]:2 = scf.for %[[J:.*]] = %c0{{.*}} to %c6{{.*}} step %c3{{.*}} iter_args(%[[C:.*]] = %[[A]], %[[D:.*]] = %[[B]])
// CHECK:             %[[S:.*]] = tensor.extract_slice %[[X]][%[[I]], %[[J]]] [1, 3] [1, 1]
// CHECK:             %[[E:.*]] = math.exp %[[S]]
// CHECK:             %[[NEW_D:.*]] = tensor.insert_slice %[[E]] into %[[D]][%[[I]], %[[J]]]
// CHECK:             %[[NEW_C:.*]] = tensor.insert_slice %[[S]] into %[[C]][%[[I]], %[[J]]]
// CHECK:             scf.yield %[[NEW_C]], %[[NEW_D]]
// CHECK:           scf.yield %[[INNER]]#0, %[[INNER]]#1
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @parallel(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %r:2 = scf.forall (%i, %j) = (0, 0) to (4, 6) step (1, 3) shared_outs(%o = %x, %q = %y) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %s = tensor.extract_slice %o[%i, %j] [1, 3] [1, 1] : tensor<4x6xf32> to tensor<1x3xf32>
    %e = math.exp %s : tensor<1x3xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %q[%i, %j] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<4x6xf32>
      tensor.parallel_insert_slice %s into %o[%i, %j] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<4x6xf32>
    }
  }
  return %r#0, %r#1 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Loops without anything to share, and none at all.
// CHECK-LABEL: func @effects(
// CHECK:         scf.for %[[I:.*]] = %c0{{.*}} to %c4
// CHECK:           memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK-NOT:       yield
// CHECK:         }
// CHECK-NOT:     scf
// CHECK:         %[[E:.*]] = math.exp
// CHECK-NEXT:    tensor.insert_slice %[[E]]
func.func @effects(%m: memref<4xf32>, %v: f32, %x: tensor<4xf32>) -> tensor<4xf32> {
  scf.forall (%i) in (4) {
    memref.store %v, %m[%i] : memref<4xf32>
  }
  %r = scf.forall () = () to () step () shared_outs(%o = %x) -> (tensor<4xf32>) {
    %e = math.exp %o : tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}
