// RUN: remat-opt %s -split-input-file --remat-keep-loops=limit=8 | FileCheck %s

// What is carried, what is the same in all iterations, what has an element for
// each, and what is made of all of them. What the body needs of constants, it
// makes itself.

// CHECK-LABEL: func.func @scan(
// CHECK-SAME:    %[[H:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>, %[[XS:.*]]: tensor<5x4xf32>)
// CHECK-NOT:     scf.for
// CHECK:         %[[R:.*]]:2 = remat.loop @scan_loop count 5 carried(%[[H]]) invariant(%[[W]]) sliced(%[[XS]])
// CHECK-SAME:        : (tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>)
// CHECK-NEXT:    return %[[R]]#0, %[[R]]#1
// CHECK:       func.func private @scan_loop(
// CHECK-SAME:      %[[H:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     index
// CHECK:         %[[ONE:.*]] = arith.constant 1.0
// CHECK:         %[[EMPTY:.*]] = tensor.empty
// CHECK:         %[[ONES:.*]] = linalg.fill ins(%[[ONE]] : f32) outs(%[[EMPTY]] :
// CHECK-NOT:     index
// CHECK:         %[[A:.*]] = arith.mulf %[[H]], %[[W]]
// CHECK:         %[[B:.*]] = arith.addf %[[A]], %[[X]]
// CHECK:         %[[C:.*]] = arith.addf %[[B]], %[[ONES]]
// CHECK-NEXT:    return %[[C]], %[[B]]
func.func @scan(%h: tensor<4xf32>, %w: tensor<4xf32>, %xs: tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %ones = linalg.fill ins(%one : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %all = tensor.empty() : tensor<5x4xf32>
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %h, %s = %all) -> (tensor<4xf32>, tensor<5x4xf32>) {
    %x = tensor.extract_slice %xs[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %m = arith.mulf %a, %w : tensor<4xf32>
    %b = arith.addf %m, %x : tensor<4xf32>
    %c = arith.addf %b, %ones : tensor<4xf32>
    %t = tensor.insert_slice %b into %s[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    scf.yield %c, %t : tensor<4xf32>, tensor<5x4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<5x4xf32>
}

// -----

// Two iterations of four operations are not more than eight, regions of
// structured operations not counted.

// CHECK-LABEL: func.func @short
// CHECK:         scf.for
// CHECK-NOT:     remat.loop
func.func @short(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.map ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) (%in: f32, %out: f32) {
      %3 = arith.mulf %in, %in : f32
      %4 = arith.addf %3, %in : f32
      linalg.yield %4 : f32
    }
    %1 = math.exp %0 : tensor<4xf32>
    %2 = math.sin %1 : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// One iteration is none too many, however long; but the loop inside stays.

// CHECK-LABEL: func.func @once
// CHECK:         scf.for
// CHECK-NEXT:      remat.loop @once_loop count 9 carried
// CHECK:         scf.yield
func.func @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %q = scf.for %j = %c0 to %c9 step %c1 iter_args(%b = %a) -> (tensor<4xf32>) {
      %0 = math.exp %b : tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    }
    scf.yield %q : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// The operations of a loop in a loop count as often as it runs. Its own body is
// a function, too, if that alone is too long. It is sliced there.

// CHECK-LABEL: func.func @nested
// CHECK:         remat.loop @nested_loop count 2 carried(%{{.*}}) invariant() sliced(%{{.*}}) : (tensor<4xf32>, tensor<2x9x4xf32>)
// CHECK:       func.func private @nested_loop(%{{.*}}: tensor<4xf32>, %[[ROWS:.*]]: tensor<9x4xf32>)
// CHECK:         remat.loop @nested_loop_loop count 9 carried(%{{.*}}) invariant() sliced(%[[ROWS]])
// CHECK:       func.func private @nested_loop_loop(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-NOT:     scf.for
func.func @nested(%h: tensor<4xf32>, %xs: tensor<2x9x4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %h) -> (tensor<4xf32>) {
    %rows = tensor.extract_slice %xs[%i, 0, 0] [1, 9, 4] [1, 1, 1] : tensor<2x9x4xf32> to tensor<9x4xf32>
    %q = scf.for %j = %c0 to %c9 step %c1 iter_args(%b = %a) -> (tensor<4xf32>) {
      %x = tensor.extract_slice %rows[%j, 0] [1, 4] [1, 1] : tensor<9x4xf32> to tensor<4xf32>
      %0 = arith.addf %b, %x : tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    }
    scf.yield %q : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A loop that goes from the last element to the first, with indices that are
// cast and kept within bounds as exporters do. The slice keeps the dimension
// that it is along.

// CHECK-LABEL: func.func @reverse
// CHECK:         remat.loop @reverse_loop count 5 reverse carried(%{{.*}}) invariant() sliced(%{{[^)]*}})
// CHECK-SAME:        : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>)
// CHECK:       func.func private @reverse_loop(%[[A:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[ONE:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1]] output_shape [1, 4]
// CHECK-NEXT:    %[[SAME:.*]] = tensor.collapse_shape %[[ONE]]
// CHECK-NEXT:    %[[B:.*]] = arith.addf %[[A]], %[[SAME]]
// CHECK-NEXT:    %[[ROW:.*]] = tensor.expand_shape %[[B]]
// CHECK-NEXT:    %[[S:.*]] = tensor.collapse_shape %[[ROW]]
// CHECK-NEXT:    return %[[B]], %[[S]]
func.func @reverse(%h: tensor<4xf32>, %xs: tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %all = tensor.empty() : tensor<5x4xf32>
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %h, %s = %all) -> (tensor<4xf32>, tensor<5x4xf32>) {
    %n = arith.index_cast %i : index to i32
    %t = tensor.from_elements %n : tensor<i32>
    %length = arith.constant dense<5> : tensor<i32>
    %one = arith.constant dense<1> : tensor<i32>
    %0 = arith.subi %length, %t : tensor<i32>
    %1 = arith.subi %0, %one : tensor<i32>
    %zero = arith.constant dense<0> : tensor<i32>
    %2 = arith.cmpi slt, %1, %zero : tensor<i32>
    %3 = arith.addi %1, %length : tensor<i32>
    %4 = arith.select %2, %3, %1 : tensor<i1>, tensor<i32>
    %5 = tensor.extract %4[] : tensor<i32>
    %6 = arith.index_cast %5 : i32 to index
    %7 = arith.maxsi %6, %c0 : index
    %8 = arith.minsi %7, %c4 : index
    %slice = tensor.extract_slice %xs[%8, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
    %x = tensor.collapse_shape %slice [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    %b = arith.addf %a, %x : tensor<4xf32>
    %row = tensor.expand_shape %b [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
    %u = tensor.insert_slice %row into %s[%8, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<5x4xf32>
    scf.yield %b, %u : tensor<4xf32>, tensor<5x4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<5x4xf32>
}

// -----

// Slices in both directions: the loop goes in that of most, and the others are
// read whole. The counter that they need begins with the first iteration that
// runs, which here is the last.

// CHECK-LABEL: func.func @directions(
// CHECK-SAME:    %[[X:.*]]: tensor<5xf32>, %[[Y:.*]]: tensor<5xf32>, %[[Z:.*]]: tensor<5xf32>)
// CHECK:         %[[LOW:.*]] = arith.constant dense<3> : tensor<i64>
// CHECK:         %[[R:.*]]:2 = remat.loop @directions_loop count 5 reverse carried(%[[LOW]]) invariant(%[[X]]) sliced(%[[Y]], %[[Z]])
// CHECK-SAME:        : (tensor<i64>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>)
// CHECK:         return %[[R]]#1
// CHECK:       func.func private @directions_loop(%[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<5xf32>, %[[Y:.*]]: tensor<f32>, %[[Z:.*]]: tensor<f32>) -> (tensor<i64>, tensor<f32>)
// CHECK:         %[[I:.*]] = tensor.extract %[[N]][] : tensor<i64>
// CHECK:         %[[I32:.*]] = arith.trunci %[[I]] : i64 to i32
// CHECK:         %[[C3:.*]] = arith.constant 3 : i32
// CHECK:         %[[C2:.*]] = arith.constant 2 : i32
// CHECK:         %[[D:.*]] = arith.subi %[[I32]], %[[C3]]
// CHECK:         %[[H:.*]] = arith.divsi %[[D]], %[[C2]]
// CHECK:         %[[UP:.*]] = arith.index_cast %[[H]]
// CHECK:         tensor.extract %[[X]][%[[UP]]]
// CHECK:         tensor.extract %[[Y]][] : tensor<f32>
// CHECK:         tensor.extract %[[Z]][] : tensor<f32>
// CHECK:         arith.addf
// CHECK:         %[[S:.*]] = arith.addf
// CHECK:         %[[STEP:.*]] = arith.constant 2 : i64
// CHECK:         %[[NEXT:.*]] = arith.addi %[[I]], %[[STEP]] : i64
// CHECK:         %[[NEXTS:.*]] = tensor.from_elements %[[NEXT]]
// CHECK:         %[[SUM:.*]] = tensor.from_elements %[[S]]
// CHECK:         return %[[NEXTS]], %[[SUM]]
func.func @directions(%x: tensor<5xf32>, %y: tensor<5xf32>, %z: tensor<5xf32>) -> tensor<5xf32> {
  %c3 = arith.constant 3 : i32
  %c2 = arith.constant 2 : i32
  %c12 = arith.constant 12 : i32
  %c4 = arith.constant 4 : index
  %all = tensor.empty() : tensor<5xf32>
  %r = scf.for %i = %c3 to %c12 step %c2 iter_args(%s = %all) -> (tensor<5xf32>) : i32 {
    %0 = arith.subi %i, %c3 : i32
    %1 = arith.divsi %0, %c2 : i32
    %up = arith.index_cast %1 : i32 to index
    %down = arith.subi %c4, %up : index
    %a = tensor.extract %x[%up] : tensor<5xf32>
    %b = tensor.extract %y[%down] : tensor<5xf32>
    %c = tensor.extract %z[%down] : tensor<5xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %d, %c : f32
    %t = tensor.insert %e into %s[%down] : tensor<5xf32>
    scf.yield %t : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// Indices that a loop carries itself.

// CHECK-LABEL: func.func @carried_index(
// CHECK-SAME:    %[[X:.*]]: tensor<5xf32>)
// CHECK:         remat.loop @carried_index_loop count 5 carried() invariant() sliced(%[[X]]) : (tensor<5xf32>) -> tensor<5xf32>
func.func @carried_index(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%n = %zero, %s = %x) -> (tensor<i32>, tensor<5xf32>) {
    %m = arith.addi %n, %one : tensor<i32>
    %0 = tensor.extract %n[] : tensor<i32>
    %1 = arith.index_cast %0 : i32 to index
    %a = tensor.extract %x[%1] : tensor<5xf32>
    %b = arith.mulf %a, %a : f32
    %t = tensor.insert %b into %s[%1] : tensor<5xf32>
    scf.yield %m, %t : tensor<i32>, tensor<5xf32>
  }
  return %r#1 : tensor<5xf32>
}

// -----

// Indices that a structured operation computes, on tensors of one element.

// CHECK-LABEL: func.func @structured_index
// CHECK:         remat.loop @structured_index_loop count 5 reverse carried() invariant() sliced(%{{.*}}) : (tensor<5xf32>) -> tensor<5xf32>
func.func @structured_index(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c4 = arith.constant 4 : i32
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %x) -> (tensor<5xf32>) {
    %n = arith.index_cast %i : index to i32
    %t = tensor.from_elements %n : tensor<i32>
    %e = tensor.empty() : tensor<i32>
    %down = linalg.map ins(%t : tensor<i32>) outs(%e : tensor<i32>) (%in: i32, %out: i32) {
      %2 = arith.subi %c4, %in : i32
      linalg.yield %2 : i32
    }
    %0 = tensor.extract %down[] : tensor<i32>
    %1 = arith.index_cast %0 : i32 to index
    %a = tensor.extract %x[%1] : tensor<5xf32>
    %b = arith.mulf %a, %a : f32
    %u = tensor.insert %b into %s[%1] : tensor<5xf32>
    scf.yield %u : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// Other elements than that of the iteration are read from all of the tensor,
// and so are those of a tensor that is also read otherwise. What is read and
// overwritten is carried, and so is what is not overwritten everywhere.

// CHECK-LABEL: func.func @others(
// CHECK-SAME:    %[[X:.*]]: tensor<5xf32>, %[[Y:.*]]: tensor<5xf32>, %[[A:.*]]: tensor<5xf32>, %[[B:.*]]: tensor<5xf32>)
// CHECK:         remat.loop @others_loop count 5 carried(%[[A]], %[[B]], %{{.*}}) invariant({{.*}}) sliced() :
func.func @others(%x: tensor<5xf32>, %y: tensor<5xf32>, %a: tensor<5xf32>, %b: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %a, %t = %b) -> (tensor<5xf32>, tensor<5xf32>) {
    %half = arith.divsi %i, %c2 : index
    %0 = tensor.extract %x[%half] : tensor<5xf32>
    %1 = tensor.extract %y[%i] : tensor<5xf32>
    %2 = tensor.extract %y[%c1] : tensor<5xf32>
    %3 = tensor.extract %s[%i] : tensor<5xf32>
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %2, %3 : f32
    %6 = arith.addf %4, %5 : f32
    %u = tensor.insert %6 into %s[%i] : tensor<5xf32>
    %v = tensor.insert %6 into %t[%half] : tensor<5xf32>
    scf.yield %u, %v : tensor<5xf32>, tensor<5xf32>
  }
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

// -----

// Parts of the iteration's element, and elements of it in the body of a
// structured operation.

// CHECK-LABEL: func.func @parts(
// CHECK:         remat.loop @parts_loop count 5 carried(%{{.*}}) invariant() sliced(%{{.*}}) :
// CHECK:       func.func private @parts_loop(%{{.*}}: tensor<2xf32>, %[[X:.*]]: tensor<4xf32>) -> tensor<2xf32>
// CHECK:         %[[ONE:.*]] = tensor.expand_shape %[[X]]
// CHECK:         tensor.extract_slice %[[ONE]][0, 1] [1, 2] [1, 1] : tensor<1x4xf32> to tensor<2xf32>
// CHECK:         linalg.map
// CHECK:           %[[J:.*]] = linalg.index 0
// CHECK:           tensor.extract %[[X]][%[[J]]] : tensor<4xf32>
func.func @parts(%h: tensor<2xf32>, %x: tensor<5x4xf32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %h) -> (tensor<2xf32>) {
    %p = tensor.extract_slice %x[%i, 1] [1, 2] [1, 1] : tensor<5x4xf32> to tensor<2xf32>
    %s = arith.addf %a, %p : tensor<2xf32>
    %q = linalg.map ins(%s : tensor<2xf32>) outs(%a : tensor<2xf32>) (%in: f32, %out: f32) {
      %j = linalg.index 0 : index
      %0 = tensor.extract %x[%i, %j] : tensor<5x4xf32>
      %1 = arith.mulf %in, %0 : f32
      linalg.yield %1 : f32
    }
    scf.yield %q : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// -----

// What is handed on unchanged is not carried, and neither is what no result
// needs: of %k only its own update. Constants with equal elements have no
// slices.

// CHECK-LABEL: func.func @unneeded(
// CHECK-SAME:    %[[H:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>, %[[K:.*]]: tensor<4xf32>)
// CHECK:         %[[R:.*]] = remat.loop @unneeded_loop count 5 carried(%[[H]]) invariant(%[[W]]) sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %[[R]], %[[W]]
// CHECK:       func.func private @unneeded_loop
// CHECK-NOT:     math.exp
// CHECK:         return
func.func @unneeded(%h: tensor<4xf32>, %w: tensor<4xf32>, %k: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %ones = arith.constant dense<1.0> : tensor<5x4xf32>
  %r:3 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %h, %b = %w, %c = %k) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %one = tensor.extract_slice %ones[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %0 = arith.addf %a, %b : tensor<4xf32>
    %1 = arith.addf %0, %one : tensor<4xf32>
    %2 = math.exp %c : tensor<4xf32>
    scf.yield %1, %b, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What nothing reads counts for nothing: %x is read otherwise, and the stack of
// its elements is used, by dead operations only.

// CHECK-LABEL: func.func @dead(
// CHECK-SAME:    %[[H:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<5x4xf32>)
// CHECK:         remat.loop @dead_loop count 5 carried(%[[H]]) invariant() sliced(%[[X]]) : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<4xf32>
func.func @dead(%h: tensor<4xf32>, %x: tensor<5x4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %h, %s = %x) -> (tensor<4xf32>, tensor<5x4xf32>) {
    %e = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %first = tensor.extract %x[%c0, %c0] : tensor<5x4xf32>
    %0 = arith.addf %a, %e : tensor<4xf32>
    %t = tensor.insert_slice %e into %s[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    scf.yield %0, %t : tensor<4xf32>, tensor<5x4xf32>
  }
  %1 = math.exp %r#1 : tensor<5x4xf32>
  return %r#0 : tensor<4xf32>
}

// -----

// A loop of which nothing is needed.

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    arith.constant
// CHECK-NOT:     loop
// CHECK:         return %{{.*}} : tensor<4xf32>
func.func @nothing(%h: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r:2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %h, %b = %h) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = math.exp %a : tensor<4xf32>
    scf.yield %0, %b : tensor<4xf32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// Numbers go in and out as tensors of one element.

// CHECK-LABEL: func.func @numbers(
// CHECK-SAME:    %[[X:.*]]: tensor<f32>, %[[N:.*]]: tensor<index>)
// CHECK:         %[[A:.*]] = tensor.extract %[[X]][]
// CHECK:         %[[B:.*]] = tensor.extract %[[N]][]
// CHECK:         %[[A1:.*]] = tensor.from_elements %[[A]] : tensor<f32>
// CHECK:         %[[LOW:.*]] = arith.constant dense<0> : tensor<i64>
// CHECK:         %[[B1:.*]] = tensor.from_elements %[[B]] : tensor<index>
// CHECK:         %[[R:.*]]:2 = remat.loop @numbers_loop count 5 carried(%[[A1]], %[[LOW]]) invariant(%[[B1]]) sliced()
// CHECK:         %[[S:.*]] = tensor.extract %[[R]]#0[]
// CHECK:         tensor.from_elements %[[S]]
// CHECK:       func.func private @numbers_loop(%{{.*}}: tensor<f32>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<index>) -> (tensor<f32>, tensor<i64>)
func.func @numbers(%x: tensor<f32>, %n: tensor<index>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %0 = tensor.extract %x[] : tensor<f32>
  %1 = tensor.extract %n[] : tensor<index>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %0) -> (f32) {
    %2 = arith.addi %i, %1 : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.sitofp %3 : i32 to f32
    %5 = arith.mulf %a, %4 : f32
    scf.yield %5 : f32
  }
  %t = tensor.from_elements %r : tensor<f32>
  return %t : tensor<f32>
}

// -----

// Calls that are not inlined yet count with what they call.

// CHECK-LABEL: func.func @calls
// CHECK:         remat.loop @calls_loop count 3
// CHECK:       func.func private @calls_loop
// CHECK:         call @three
func.func private @three(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  %1 = math.sin %0 : tensor<4xf32>
  %2 = math.cos %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = func.call @three(%a) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A loop in a region, a name and a check of an index are no obstacle, and
// neither is another function of the name.

// CHECK-LABEL: func.func @region
// CHECK:         remat.checkpoint
// CHECK:           remat.loop @region_loop_0 count 9
// CHECK:       func.func private @region_loop_0
// CHECK:         remat.tag
// CHECK:         cf.assert
func.func @region(%x: tensor<4xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c4 = arith.constant 4 : i64
  %q = remat.checkpoint {
    %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
      %t = remat.tag %a {name = "a"} : tensor<4xf32>
      %e = tensor.empty() : tensor<4xf32>
      %v = linalg.map ins(%n : tensor<4xi64>) outs(%e : tensor<4xf32>) (%in: i64, %out: f32) {
        %in_bounds = arith.cmpi ult, %in, %c4 : i64
        cf.assert %in_bounds, "index out of bounds"
        %index = arith.index_cast %in : i64 to index
        %0 = tensor.extract %t[%index] : tensor<4xf32>
        linalg.yield %0 : f32
      }
      scf.yield %v : tensor<4xf32>
    }
    remat.yield %r : tensor<4xf32>
  } : tensor<4xf32>
  return %q : tensor<4xf32>
}
func.func private @region_loop()

// -----

// A loop of the backward computation.

// CHECK-LABEL: func.func @phase
// CHECK:         remat.loop {{.*}} {remat.backward}
func.func @phase(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = math.exp %a {remat.backward} : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  } {remat.backward}
  return %r : tensor<4xf32>
}

// -----

// What is asked of an iteration, and what it draws, is in the body.

// CHECK-LABEL: func.func @asked(
// CHECK:         remat.loop @asked_loop count 9 carried(%{{.*}}, %{{.*}}) invariant(%{{.*}}) sliced()
// CHECK:       func.func private @asked_loop(
// CHECK:         remat.random
// CHECK:         remat.checkpoint
// CHECK:         remat.scope attributes {offload}
// CHECK:         remat.tag %{{.*}} {policy = #remat.policy<must_save>}
// CHECK:         math.sin %{{.*}} {remat.policy = #remat.policy<must_recompute>}
func.func @asked(%x: tensor<4xf32>, %key: tensor<i64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %first = arith.constant dense<0> : tensor<i64>
  %one = arith.constant dense<1> : tensor<i64>
  %r:2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x, %o = %first) -> (tensor<4xf32>, tensor<i64>) {
    %u = remat.random %key, %o : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
    %v = remat.checkpoint {
      %e = arith.addf %a, %u : tensor<4xf32>
      remat.yield %e : tensor<4xf32>
    } : tensor<4xf32>
    %w = remat.scope attributes {offload} {
      %e = math.cos %v : tensor<4xf32>
      remat.yield %e : tensor<4xf32>
    } : tensor<4xf32>
    %t = remat.tag %w {policy = #remat.policy<must_save>} : tensor<4xf32>
    %s = math.sin %t {remat.policy = #remat.policy<must_recompute>} : tensor<4xf32>
    %n = arith.addi %o, %one : tensor<i64>
    scf.yield %s, %n : tensor<4xf32>, tensor<i64>
  }
  return %r#0 : tensor<4xf32>
}

// -----

// An index that has a tag is found all the same, and of an array that iterations
// fill, nothing is asked in one.

// CHECK-LABEL: func.func @tagged_index(
// CHECK:         remat.loop @tagged_index_loop count 5 carried() invariant() sliced(%{{.*}}) : (tensor<5xf32>) -> tensor<5xf32>
func.func @tagged_index(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant dense<1> : tensor<i32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %x) -> (tensor<5xf32>) {
    %n = arith.index_cast %i : index to i32
    %p = tensor.from_elements %n : tensor<i32>
    %q = arith.addi %p, %one : tensor<i32>
    %m = remat.tag %q {policy = #remat.policy<must_recompute>} : tensor<i32>
    %k = arith.subi %m, %one : tensor<i32>
    %0 = tensor.extract %k[] : tensor<i32>
    %1 = arith.index_cast %0 : i32 to index
    %a = tensor.extract %x[%1] : tensor<5xf32>
    %b = arith.mulf %a, %a : f32
    %u = tensor.insert %b into %s[%1] : tensor<5xf32>
    %t = remat.tag %u {policy = #remat.policy<must_recompute>} : tensor<5xf32>
    scf.yield %t : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// What cannot stay is left alone.

// CHECK-NOT: remat.loop
func.func private @effect(%x: tensor<4xf32>) -> tensor<4xf32>
func.func private @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @endless(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @left(%x: tensor<4xf32>, %n: tensor<index>, %m: memref<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %high = tensor.extract %n[] : tensor<index>
  // A function whose effects are not known, and one that calls itself.
  %0 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = func.call @effect(%a) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  %1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %e = math.exp %a : tensor<4xf32>
    %v = func.call @endless(%e) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  // Regions of which more runs again than is needed, or with other numbers.
  %2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = remat.checkpoint attributes {early_stop = false} {
      %e = math.exp %a : tensor<4xf32>
      remat.yield %e : tensor<4xf32>
    } : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  %3 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = remat.checkpoint attributes {preserve_rng_state = false} {
      %e = math.exp %a : tensor<4xf32>
      remat.yield %e : tensor<4xf32>
    } : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  // Another form of what is kept.
  %4 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = math.exp %a : tensor<4xf32>
    %t = remat.tag %v {codec = "bf16"} : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  // What is kept of a loop that a region hides.
  %5 = remat.checkpoint {
    %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
      %v = math.exp %a : tensor<4xf32> loc("remat:Policy=MUST_SAVE")
      scf.yield %v : tensor<4xf32>
    }
    remat.yield %r : tensor<4xf32>
  } : tensor<4xf32>
  // Memory.
  %6 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = memref.load %m[%c0] : memref<4xf32>
    %t = tensor.insert %v into %a[%c0] : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  // Steps that are not known, and lengths that are only when the loop is written
  // out.
  %7 = scf.for %i = %c0 to %c9 step %high iter_args(%a = %x) -> (tensor<4xf32>) {
    %v = math.exp %a : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  %8 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %w = math.exp %a : tensor<4xf32>
    %u = scf.for %j = %c0 to %i step %c1 iter_args(%b = %w) -> (tensor<4xf32>) {
      %v = math.exp %b : tensor<4xf32>
      scf.yield %v : tensor<4xf32>
    }
    scf.yield %u : tensor<4xf32>
  }
  %9 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %a[0] [%high] [1] : tensor<4xf32> to tensor<?xf32>
    %v = tensor.insert_slice %s into %a[0] [%high] [1] : tensor<?xf32> into tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  // Random numbers that differ where they are drawn again.
  %10 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %key = arith.constant dense<1> : tensor<i64>
    %v = remat.random %key, %key {fresh} : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
    %w = arith.addf %a, %v : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  // Counters that are too wide.
  %w0 = arith.constant 0 : i128
  %w1 = arith.constant 1 : i128
  %w9 = arith.constant 9 : i128
  %11 = scf.for %i = %w0 to %w9 step %w1 iter_args(%a = %x) -> (tensor<4xf32>) : i128 {
    %v = math.exp %a : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Steps for a GPU have loops, too.

// CHECK: module attributes {remat.target
// CHECK:   remat.loop @main_loop count 9
module attributes {remat.target = #remat.target<"cuda">} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
      %v = math.exp %a : tensor<4xf32>
      scf.yield %v : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  }
}

// -----

// A loop with a limit of its own below that of the pass stays, and one with a
// limit above it has that of the pass.

// CHECK-LABEL: func.func @own_limit(
// CHECK:         remat.loop @own_limit_loop count 3
// CHECK:         scf.for
func.func @own_limit(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> (tensor<4xf32>) {
    %n = arith.addf %h, %h : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } {remat.unroll_limit = 2 : i64}
  %b = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %a) -> (tensor<4xf32>) {
    %n = arith.mulf %h, %h : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } {remat.unroll_limit = 100 : i64}
  return %b : tensor<4xf32>
}
