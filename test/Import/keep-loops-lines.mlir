// RUN: remat-opt %s -split-input-file --remat-keep-loops=limit=8 | FileCheck %s

// Of a loop that is too long to compute what an index is in each iteration, it
// is shown that the index grows by one.

// CHECK-LABEL: func.func @lines(
// CHECK-SAME:    %[[A:.*]]: tensor<4000000xf32>, %[[B:[^:]*]]: tensor<4000000xf32>, %[[C:[^:]*]]: tensor<4000000xf32>, %[[D:[^:]*]]: tensor<4000000xf32>
// CHECK:         remat.loop @lines_loop count 4000000 carried(%{{[^,]*}}) invariant() sliced(%[[A]], %[[B]], %[[C]], %[[D]])
func.func @lines(%a: tensor<4000000xf32>, %b: tensor<4000000xf32>, %c: tensor<4000000xf32>, %d: tensor<4000000xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %end = arith.constant 8000003 : index
  %last = arith.constant 3999999 : index
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %all = arith.constant dense<4000000> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %r:2 = scf.for %i = %c3 to %end step %c2 iter_args(%n = %zero, %s = %none) -> (tensor<i32>, tensor<f32>) {
    // The counter, from zero by one.
    %distance = arith.subi %i, %c3 : index
    %number = arith.divsi %distance, %c2 : index
    %0 = tensor.extract %a[%number] : tensor<4000000xf32>
    // Kept within bounds.
    %i32 = arith.index_cast %number : index to i32
    %wide = arith.extsi %i32 : i32 to i64
    %back = arith.index_cast %wide : i64 to index
    %low = arith.maxsi %back, %c0 : index
    %high = arith.minsi %low, %last : index
    %1 = tensor.extract %b[%high] : tensor<4000000xf32>
    // Carried, and turned around if it were negative.
    %negative = arith.cmpi slt, %n, %zero : tensor<i32>
    %around = arith.addi %n, %all : tensor<i32>
    %turned = arith.select %negative, %around, %n : tensor<i1>, tensor<i32>
    %element = tensor.extract %turned[] : tensor<i32>
    %carried = arith.index_cast %element : i32 to index
    %2 = tensor.extract %c[%carried] : tensor<4000000xf32>
    // By a structured operation.
    %e = tensor.empty() : tensor<i32>
    %map = linalg.map ins(%n : tensor<i32>) outs(%e : tensor<i32>) (%in: i32, %out: i32) {
      %c7 = arith.constant 7 : i32
      %more = arith.addi %in, %c7 : i32
      %less = arith.subi %more, %c7 : i32
      linalg.yield %less : i32
    }
    %mapped = tensor.extract %map[] : tensor<i32>
    %structured = arith.index_castui %mapped : i32 to index
    %3 = tensor.extract %d[%structured] : tensor<4000000xf32>
    %next = arith.addi %n, %one : tensor<i32>
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %4, %2 : f32
    %6 = arith.addf %5, %3 : f32
    %before = tensor.extract %s[] : tensor<f32>
    %7 = arith.addf %before, %6 : f32
    %sum = tensor.from_elements %7 : tensor<f32>
    scf.yield %next, %sum : tensor<i32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}

// -----

// From the last element to the first.

// CHECK-LABEL: func.func @backward(
// CHECK:         remat.loop @backward_loop count 4000000 reverse carried() invariant() sliced(%{{.*}})
func.func @backward(%x: tensor<4000000xf32>) -> tensor<4000000xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 4000000 : index
  %last = arith.constant 3999999 : i32
  %all = tensor.empty() : tensor<4000000xf32>
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%s = %all) -> (tensor<4000000xf32>) {
    %i32 = arith.index_cast %i : index to i32
    %down = arith.subi %last, %i32 : i32
    %place = arith.index_cast %down : i32 to index
    %0 = tensor.extract %x[%place] : tensor<4000000xf32>
    %1 = arith.mulf %0, %0 : f32
    %t = tensor.insert %1 into %s[%place] : tensor<4000000xf32>
    scf.yield %t : tensor<4000000xf32>
  }
  return %r : tensor<4000000xf32>
}

// -----

// What begins as a line, and bends: where a bound is met, where a counter of
// few bits wraps around, by a factor or a divisor, and because another number
// is carried on.

// CHECK-LABEL: func.func @bent(
// CHECK:         remat.loop @bent_loop count 300 carried({{.*}}) invariant({{.*}}) sliced()
func.func @bent(%a: tensor<300xf32>, %b: tensor<300xf32>, %c: tensor<300xf32>, %d: tensor<300xf32>, %e: tensor<300xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %end = arith.constant 300 : index
  %bound = arith.constant 298 : index
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %most = arith.constant dense<200> : tensor<i32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %r:2 = scf.for %i = %c0 to %end step %c1 iter_args(%n = %zero, %s = %none) -> (tensor<i32>, tensor<f32>) {
    %low = arith.minsi %i, %bound : index
    %0 = tensor.extract %a[%low] : tensor<300xf32>
    %i8 = arith.index_cast %i : index to i8
    %wide = arith.extui %i8 : i8 to i32
    %wrapped = arith.index_cast %wide : i32 to index
    %1 = tensor.extract %b[%wrapped] : tensor<300xf32>
    %square = arith.muli %i, %i : index
    %less = arith.minsi %square, %bound : index
    %2 = tensor.extract %c[%less] : tensor<300xf32>
    %twice = arith.addi %i, %c1 : index
    %half = arith.divsi %twice, %c2 : index
    %3 = tensor.extract %d[%half] : tensor<300xf32>
    %element = tensor.extract %n[] : tensor<i32>
    %carried = arith.index_cast %element : i32 to index
    %4 = tensor.extract %e[%carried] : tensor<300xf32>
    %more = arith.addi %n, %one : tensor<i32>
    %next = arith.minsi %more, %most : tensor<i32>
    %5 = arith.addf %0, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    %8 = arith.addf %7, %4 : f32
    %before = tensor.extract %s[] : tensor<f32>
    %9 = arith.addf %before, %8 : f32
    %sum = tensor.from_elements %9 : tensor<f32>
    scf.yield %next, %sum : tensor<i32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}

// -----

// What no line is shown for, and is one: it is computed for each iteration.

// CHECK-LABEL: func.func @computed(
// CHECK:         remat.loop @computed_loop count 300 carried({{.*}}) invariant() sliced(%{{.*}})
func.func @computed(%a: tensor<300xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %end = arith.constant 300 : index
  %none = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%s = %none) -> (tensor<f32>) {
    %rest = arith.remsi %i, %c3 : index
    %other = arith.subi %i, %rest : index
    %same = arith.addi %other, %rest : index
    %0 = tensor.extract %a[%same] : tensor<300xf32>
    %before = tensor.extract %s[] : tensor<f32>
    %1 = arith.addf %before, %0 : f32
    %sum = tensor.from_elements %1 : tensor<f32>
    scf.yield %sum : tensor<f32>
  }
  return %r : tensor<f32>
}
