// RUN: remat-opt %s -split-input-file --remat-import-buffers=allow-mutation-on-saved-tensors -canonicalize | FileCheck %s

// Programs on memrefs, which no exporter made functional.

// Destination passing: what is written is a result.
// CHECK-LABEL: func.func @destination
// CHECK-SAME:  (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32> {remat.name = "y"}) -> (tensor<4xf32> {remat.name = "y"})
// CHECK:       %[[EXP:.*]] = linalg.exp ins(%[[X]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xf32>) -> tensor<4xf32>
// CHECK:       return %[[EXP]] : tensor<4xf32>
func.func @destination(%x: memref<4xf32>, %y: memref<4xf32> {remat.name = "y"}) {
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// Reads see the latest contents; copies are values of their own, but no
// operations that could run again.
// CHECK-LABEL: func.func @order
// CHECK-SAME:  (%[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK:       %[[TWICE:.*]] = linalg.add ins(%[[X]], %[[X]] : tensor<4xf32>, tensor<4xf32>)
// CHECK:       %[[SQUARE:.*]] = linalg.mul ins(%[[TWICE]], %[[TWICE]] : tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:   copy
// CHECK:       return %[[TWICE]], %[[SQUARE]]
func.func @order(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  linalg.mul ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%a : memref<4xf32>)
  return %b, %a : memref<4xf32>, memref<4xf32>
}

// -----

// Views, elements, and bufferization's own operations.
// CHECK-LABEL: func.func @views
// CHECK-SAME:  (%[[X:.*]]: tensor<2x6xf32>, %[[T:.*]]: tensor<3xf32>) -> (tensor<12xf32>, tensor<2x6xf32>)
// CHECK:       %[[ROW:.*]] = tensor.expand_shape %[[T]] {{\[\[}}0, 1]]
// CHECK:       %[[PUT:.*]] = tensor.insert_slice %[[ROW]] into %[[X]][1, 2] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<2x6xf32>
// CHECK:       %[[E:.*]] = tensor.extract %[[PUT]][%{{.*}}, %{{.*}}]
// CHECK:       %[[NEW:.*]] = tensor.insert %[[E]] into %[[PUT]][%{{.*}}, %{{.*}}]
// CHECK:       %[[FLAT:.*]] = tensor.collapse_shape %[[NEW]] {{\[\[}}0, 1]]
// CHECK:       return %[[FLAT]], %[[NEW]]
func.func @views(%x: memref<2x6xf32>, %t: tensor<3xf32>) -> tensor<12xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %s = memref.subview %x[1, 2] [1, 3] [1, 1] : memref<2x6xf32> to memref<1x3xf32, strided<[6, 1], offset: 8>>
  %v = memref.collapse_shape %s [[0, 1]] : memref<1x3xf32, strided<[6, 1], offset: 8>> into memref<3xf32, strided<[1], offset: 8>>
  bufferization.materialize_in_destination %t in writable %v : (tensor<3xf32>, memref<3xf32, strided<[1], offset: 8>>) -> ()
  %e = memref.load %x[%c0, %c3] : memref<2x6xf32>
  memref.store %e, %x[%c0, %c0] : memref<2x6xf32>
  %f = memref.collapse_shape %x [[0, 1]] : memref<2x6xf32> into memref<12xf32>
  %r = bufferization.to_tensor %f restrict : memref<12xf32> to tensor<12xf32>
  return %r : tensor<12xf32>
}

// -----

// CHECK-LABEL: func.func @tensors
// CHECK-NOT:   memref
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %m = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  %a = memref.alloc() : memref<4xf32>
  linalg.exp ins(%m : memref<4xf32>) outs(%a : memref<4xf32>)
  %r = bufferization.to_tensor %a restrict writable : memref<4xf32> to tensor<4xf32>
  memref.dealloc %a : memref<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What a loop writes, it carries; what a choice writes, both branches yield; a
// checkpoint yields it. A view may have fewer dimensions.
// CHECK-LABEL: func.func @regions
// CHECK-SAME:  (%[[X:.*]]: tensor<2x4xf32>, %[[C:.*]]: i1) -> tensor<2x4xf32>
// CHECK:       %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[IN:.*]] = %[[X]]) -> (tensor<2x4xf32>)
// CHECK:         %[[IF:.*]] = scf.if %[[C]] -> (tensor<2x4xf32>)
// CHECK:           %[[ROW:.*]] = tensor.extract_slice %[[IN]][%{{.*}}, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
// CHECK:           %[[EXP:.*]] = linalg.exp ins(%[[ROW]] : tensor<4xf32>)
// CHECK:           %[[PUT:.*]] = tensor.insert_slice %[[EXP]] into %[[IN]][%{{.*}}, 0]
// CHECK:           scf.yield %[[PUT]]
// CHECK:         } else {
// CHECK:           scf.yield %[[IN]]
// CHECK:         scf.yield %[[IF]]
// CHECK:       %[[CHECKPOINT:.*]] = remat.checkpoint {
// CHECK:         %[[SIN:.*]] = linalg.exp ins(%[[LOOP]] : tensor<2x4xf32>)
// CHECK:         remat.yield %[[SIN]] : tensor<2x4xf32>
// CHECK:       return %[[CHECKPOINT]]
func.func @regions(%x: memref<2x4xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %row = memref.subview %x[%i, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    scf.if %c {
      linalg.exp ins(%row : memref<4xf32, strided<[1], offset: ?>>) outs(%row : memref<4xf32, strided<[1], offset: ?>>)
    }
  }
  remat.checkpoint {
    linalg.exp ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>)
    remat.yield
  }
  return
}
