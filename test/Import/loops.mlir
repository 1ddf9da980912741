// RUN: remat-opt %s -split-input-file --remat-import-loops --canonicalize | FileCheck %s

// A loop is unrolled; what it carries are values. Bounds of inner loops may
// depend on outer ones.

// CHECK-LABEL: func.func @nested
// CHECK-COUNT-3: linalg.exp
// CHECK-NOT:     linalg.exp
// CHECK:         return
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4xf32>
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %r = scf.for %j = %c0 to %i step %c1 iter_args(%b = %a) -> (tensor<4xf32>) {
      %v = linalg.exp ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %v : tensor<4xf32>
    }
    scf.yield %r : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// No iteration: the result is what the loop starts from.

// CHECK-LABEL: func.func @none
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK:         return %[[X]]
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c1 to %c0 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Both branches are computed and one is chosen.

// CHECK-LABEL: func.func @choice
// CHECK-DAG:     %[[A:.*]] = linalg.exp
// CHECK-DAG:     %[[B:.*]] = linalg.log
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[B]] :
// CHECK:           arith.select
// CHECK-NOT:     scf.if
func.func @choice(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %condition = tensor.extract %c[] : tensor<i1>
  %y = scf.if %condition -> (tensor<4xf32>) {
    %v = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  } else {
    %v = linalg.log ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Of a choice that is known only the branch is left.

// CHECK-LABEL: func.func @known
// CHECK-COUNT-1: linalg.exp
// CHECK-COUNT-1: linalg.log
// CHECK:         return
func.func @known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<4xf32>
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %first = arith.cmpi eq, %i, %c0 : index
    %r = scf.if %first -> (tensor<4xf32>) {
      %v = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %v : tensor<4xf32>
    } else {
      %v = linalg.log ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %v : tensor<4xf32>
    }
    scf.yield %r : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Shapes that depend on the iteration are known once it is written out.

// CHECK-LABEL: func.func @shapes
// CHECK-NOT:     ?
// CHECK:         tensor.extract_slice %{{.*}}[1] [3] [1] : tensor<4xf32> to tensor<3xf32>
// CHECK-NOT:     ?
// CHECK:         return
func.func @shapes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %from = arith.addi %i, %c1 : index
    %size = arith.subi %c3, %i : index
    %s = tensor.extract_slice %a[%from] [%size] [1] : tensor<4xf32> to tensor<?xf32>
    %e = tensor.empty(%size) : tensor<?xf32>
    %v = linalg.exp ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %n = tensor.insert_slice %v into %a[%from] [%size] [1] : tensor<?xf32> into tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Calls in a choice, of functions without effects.

// CHECK-LABEL: func.func @calls
// CHECK:         call @scale
// CHECK:         arith.select
func.func private @scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>, %which: tensor<i1>) -> tensor<4xf32> {
  %p = tensor.extract %which[] : tensor<i1>
  %y = scf.if %p -> (tensor<4xf32>) {
    %v = func.call @scale(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Counters without a sign: from 1 to 255 by 2 they end at 253.

// CHECK-LABEL: func.func @unsigned
// CHECK:         %[[LAST:.*]] = arith.constant dense<-3> : tensor<i8>
// CHECK:         return %[[LAST]]
func.func @unsigned(%x: tensor<i8>) -> tensor<i8> {
  %high = arith.constant 255 : i8
  %c1 = arith.constant 1 : i8
  %c2 = arith.constant 2 : i8
  %y = scf.for unsigned %i = %c1 to %high step %c2 iter_args(%s = %x) -> (tensor<i8>) : i8 {
    %v = tensor.from_elements %i : tensor<i8>
    scf.yield %v : tensor<i8>
  }
  return %y : tensor<i8>
}
