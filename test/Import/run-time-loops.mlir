// RUN: remat-opt %s -split-input-file --remat-keep-loops | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-keep-loops=max-trip-count=7 | FileCheck %s --check-prefix=MOST

// A loop that is counted at run time stays one, however short. Without a maximum
// nothing is sliced or stacked.

// CHECK-LABEL: func.func @bound(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>, %[[XS:.*]]: tensor<7x4xf32>, %[[N:.*]]: tensor<i64>)
// CHECK:         %[[E:.*]] = tensor.extract %[[N]]
// CHECK:         %[[I:.*]] = arith.index_cast %[[E]] : i64 to index
// CHECK:         %[[C:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK:         %[[T:.*]] = tensor.from_elements %[[C]] : tensor<i64>
// CHECK:         remat.loop @bound_loop trips(%[[T]]) carried(%[[X]], %{{.*}}) invariant(%[[XS]]) sliced() : (tensor<4xf32>, tensor<i64>, tensor<7x4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i64>)
// MOST-LABEL:  func.func @bound(
// MOST:          remat.loop @bound_loop count 7 trips(%{{.*}}) carried(%{{[^,]*}}) invariant() sliced(%{{[^,]*}}) :
func.func @bound(%x: tensor<4xf32>, %xs: tensor<7x4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %e : i64 to index
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %xs[%i, 0] [1, 4] [1, 1] : tensor<7x4xf32> to tensor<4xf32>
    %b = arith.mulf %a, %s : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// The program shows the maximum, and an attribute may say a smaller one. Where
// no iteration writes, a stack is what it was at first.

// CHECK-LABEL: func.func @minimum(
// CHECK:         %[[R:.*]] = remat.loop @minimum_loop count 5 trips(%[[T:.*]]) carried() invariant(%{{.*}}) sliced(
// CHECK:         linalg.generic {{.*}} ins(%[[R]], %{{.*}}, %[[T]] :
// CHECK:           arith.cmpi slt
// CHECK:           arith.select
func.func @minimum(%x: tensor<4xf32>, %xs: tensor<5x4xf32>, %n: tensor<i32>) -> tensor<5x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %e = tensor.extract %n[] : tensor<i32>
  %end = arith.minsi %e, %c5 : i32
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%all = %xs) -> (tensor<5x4xf32>) : i32 {
    %p = arith.index_cast %i : i32 to index
    %s = tensor.extract_slice %xs[%p, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %b = arith.mulf %x, %s : tensor<4xf32>
    %t = tensor.insert_slice %b into %all[%p, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
    scf.yield %t : tensor<5x4xf32>
  }
  return %r : tensor<5x4xf32>
}

// -----

// Other bounds become numbers of iterations. A stack that was zeros is one.

// CHECK-LABEL: func.func @steps(
// CHECK:         arith.subi
// CHECK:         arith.divui
// CHECK:         arith.select
// CHECK:         %[[R:.*]]:2 = remat.loop @steps_loop count 3 trips(
// CHECK-NEXT:    return %[[R]]#1
func.func @steps(%x: tensor<4xf32>, %n: tensor<2xindex>) -> tensor<3x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<3x4xf32>
  %low = tensor.extract %n[%c0] : tensor<2xindex>
  %high = tensor.extract %n[%c1] : tensor<2xindex>
  %r = scf.for %i = %low to %high step %c2 iter_args(%all = %zero) -> (tensor<3x4xf32>) {
    %d = arith.subi %i, %low : index
    %p = arith.divsi %d, %c2 : index
    %f = arith.index_cast %d : index to i64
    %g = arith.sitofp %f : i64 to f32
    %s = tensor.splat %g : tensor<4xf32>
    %b = arith.mulf %x, %s : tensor<4xf32>
    %t = tensor.insert_slice %b into %all[%p, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<3x4xf32>
    scf.yield %t : tensor<3x4xf32>
  } {remat.max_trip_count = 3 : i64}
  return %r : tensor<3x4xf32>
}

// -----

// A loop without a count says when it ends. What its condition reads is
// computed in front of it and at the end of the body.

// CHECK-LABEL: func.func @while(
// CHECK-SAME:    %[[X:.*]]: tensor<f32>, %[[W:.*]]: tensor<f32>)
// CHECK:         arith.cmpf ogt
// CHECK:         %[[G:.*]] = tensor.from_elements %{{.*}} : tensor<i1>
// CHECK:         %[[R:.*]]:3 = remat.loop @while_loop while carried(%[[G]], %{{.*}}, %[[X]]) invariant(%[[W]]) sliced() : (tensor<i1>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<i1>, tensor<i64>, tensor<f32>)
// CHECK-NEXT:    return %[[R]]#2
// CHECK:       func.func private @while_loop(
// CHECK:         %[[B:.*]] = arith.mulf
// CHECK:         %[[V:.*]] = tensor.extract %[[B]]
// CHECK:         arith.cmpf ogt, %[[V]]
// CHECK:         arith.addi
// CHECK:         return %{{.*}}, %{{.*}}, %[[B]] : tensor<i1>, tensor<i64>, tensor<f32>
// MOST-LABEL:  func.func @while(
// MOST:          remat.loop @while_loop count 7 while
func.func @while(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %r = scf.while (%a = %x) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %a[] : tensor<f32>
    %more = arith.cmpf ogt, %v, %one : f32
    scf.condition(%more) %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    %b = arith.mulf %a, %w : tensor<f32>
    scf.yield %b : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// A loop that counts by a condition is a loop that counts; this one is short.

// CHECK-LABEL: func.func @counted(
// CHECK:         scf.for
// CHECK-NOT:     scf.while
func.func @counted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.while (%i = %c0, %a = %x) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %more = arith.cmpi slt, %i, %c4 : index
    scf.condition(%more) %i, %a : index, tensor<4xf32>
  } do {
  ^bb0(%i: index, %a: tensor<4xf32>):
    %n = arith.addi %i, %c1 : index
    %b = math.tanh %a : tensor<4xf32>
    scf.yield %n, %b : index, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// Behind such a loop, the counter is the first value that is not less than the
// bound: 0, 3, 6, 9 here, and where it begins if no iteration runs.

// CHECK-LABEL: func.func @end(
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:         return %{{.*}}, %c9{{[_0-9]*}}, %c10{{[_0-9]*}} :
func.func @end(%x: tensor<4xf32>) -> (tensor<4xf32>, index, index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c10 = arith.constant 10 : index
  %r:2 = scf.while (%i = %c0, %a = %x) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %more = arith.cmpi slt, %i, %c7 : index
    scf.condition(%more) %i, %a : index, tensor<4xf32>
  } do {
  ^bb0(%i: index, %a: tensor<4xf32>):
    %n = arith.addi %i, %c3 : index
    %b = math.tanh %a : tensor<4xf32>
    scf.yield %n, %b : index, tensor<4xf32>
  }
  %s:2 = scf.while (%i = %c10, %a = %r#1) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %more = arith.cmpi sgt, %c7, %i : index
    scf.condition(%more) %i, %a : index, tensor<4xf32>
  } do {
  ^bb0(%i: index, %a: tensor<4xf32>):
    %n = arith.addi %i, %c3 : index
    %b = math.tanh %a : tensor<4xf32>
    scf.yield %n, %b : index, tensor<4xf32>
  }
  return %s#1, %r#0, %s#0 : tensor<4xf32>, index, index
}

// -----

// A step that is known at run time only may be none at all.

// CHECK-LABEL: func.func @step(
// CHECK:         remat.loop @step_loop while
func.func @step(%x: tensor<4xf32>, %by: tensor<index>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %s = tensor.extract %by[] : tensor<index>
  %r:2 = scf.while (%i = %c0, %a = %x) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %more = arith.cmpi slt, %i, %c4 : index
    scf.condition(%more) %i, %a : index, tensor<4xf32>
  } do {
  ^bb0(%i: index, %a: tensor<4xf32>):
    %n = arith.addi %i, %s : index
    %b = math.tanh %a : tensor<4xf32>
    scf.yield %n, %b : index, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// The most that a loop runs is that of what upstream's patterns make of it: with
// its values in another order, and with the body where the condition was.

// CHECK-LABEL: func.func @reordered(
// CHECK:         remat.loop @reordered_loop count 9 while
func.func @reordered(%x: f32, %y: tensor<f32>) -> (tensor<f32>, f32) {
  %half = arith.constant 0.5 : f32
  %r:2 = scf.while (%i = %x, %a = %y) : (f32, tensor<f32>) -> (tensor<f32>, f32) {
    %more = arith.cmpf ogt, %i, %half : f32
    scf.condition(%more) %a, %i : tensor<f32>, f32
  } do {
  ^bb0(%a: tensor<f32>, %i: f32):
    %b = math.sin %a : tensor<f32>
    %n = arith.mulf %i, %half : f32
    scf.yield %n, %b : f32, tensor<f32>
  } attributes {remat.max_trip_count = 9 : i64}
  return %r#0, %r#1 : tensor<f32>, f32
}

// -----

// CHECK-LABEL: func.func @moved(
// CHECK:         remat.loop @moved_loop count 9 while
func.func @moved(%x: f32, %y: tensor<f32>) -> tensor<f32> {
  %half = arith.constant 0.5 : f32
  %r:2 = scf.while (%i = %x, %a = %y) : (f32, tensor<f32>) -> (f32, tensor<f32>) {
    %n = arith.mulf %i, %half : f32
    %more = arith.cmpf ogt, %n, %half : f32
    %t = scf.if %more -> tensor<f32> {
      %b = math.sin %a : tensor<f32>
      scf.yield %b : tensor<f32>
    } else {
      scf.yield %a : tensor<f32>
    }
    scf.condition(%more) %n, %t : f32, tensor<f32>
  } do {
  ^bb0(%i: f32, %a: tensor<f32>):
    scf.yield %i, %a : f32, tensor<f32>
  } attributes {remat.max_trip_count = 9 : i64}
  return %r#1 : tensor<f32>
}

// -----

// What is known when the loop around is unrolled is not known at run time only.

// CHECK-LABEL: func.func @triangle(
// CHECK-NOT:     remat.loop
func.func @triangle(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %q = scf.for %j = %c0 to %i step %c1 iter_args(%b = %a) -> (tensor<4xf32>) {
      %t = math.tanh %b : tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    }
    scf.yield %q : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
