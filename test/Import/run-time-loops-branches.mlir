// RUN: remat-opt %s -split-input-file --remat-keep-loops=limit=3 | FileCheck %s --check-prefix=BRANCH
// RUN: remat-opt %s -split-input-file --remat-keep-loops=limit=3 --remat-import-loops | FileCheck %s --check-prefix=TAKEN

// In a branch that may not be taken, loops are counted that are around one that
// may run any number of times: there it is none.

// BRANCH-LABEL: func.func @branch(
// BRANCH:         scf.if
// BRANCH:           remat.loop @branch_loop count 4 trips(
// BRANCH:       func.func private @branch_loop(
// BRANCH:         remat.loop @branch_loop_loop while
// TAKEN-LABEL: func.func @branch(
// TAKEN-SAME:    %[[X:.*]]: tensor<f32>, %[[TAKEN:.*]]: i1)
// TAKEN:         %[[N:.*]] = arith.select %[[TAKEN]], %{{.*}}, %{{.*}} : i64
// TAKEN:         %[[T:.*]] = tensor.from_elements %[[N]] : tensor<i64>
// TAKEN:         remat.loop @branch_loop count 4 trips(%[[T]])
func.func @branch(%x: tensor<f32>, %taken: i1) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %r = scf.if %taken -> (tensor<f32>) {
    %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<f32>) {
      %w = scf.while (%b = %a) : (tensor<f32>) -> tensor<f32> {
        %v = tensor.extract %b[] : tensor<f32>
        %more = arith.cmpf ogt, %v, %one : f32
        scf.condition(%more) %b : tensor<f32>
      } do {
      ^bb0(%b: tensor<f32>):
        %c = math.tanh %b : tensor<f32>
        scf.yield %c : tensor<f32>
      }
      scf.yield %w : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// A region in the branch, which is copied as a whole, has such loops, too.

// TAKEN-LABEL: func.func @region(
// TAKEN-SAME:    %[[X:.*]]: tensor<f32>, %[[TAKEN:.*]]: i1)
// TAKEN:         remat.checkpoint {
// TAKEN:           %[[M:.*]] = arith.select %[[TAKEN]], %{{.*}}, %{{.*}} : i1
// TAKEN:           %[[G:.*]] = tensor.from_elements %[[M]] : tensor<i1>
// TAKEN:           remat.loop @region_loop while carried(%[[G]],
func.func @region(%x: tensor<f32>, %taken: i1) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %r = scf.if %taken -> (tensor<f32>) {
    %k = remat.checkpoint {
      %w = scf.while (%b = %x) : (tensor<f32>) -> tensor<f32> {
        %v = tensor.extract %b[] : tensor<f32>
        %more = arith.cmpf ogt, %v, %one : f32
        scf.condition(%more) %b : tensor<f32>
      } do {
      ^bb0(%b: tensor<f32>):
        %c = math.tanh %b : tensor<f32>
        scf.yield %c : tensor<f32>
      }
      remat.yield %w : tensor<f32>
    } : tensor<f32>
    scf.yield %k : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// The condition of a loop may have one. It is computed before the first
// iteration and at the end of each.

// BRANCH-LABEL: func.func @condition(
// BRANCH:         remat.loop @condition_loop{{.*}} trips(
// BRANCH:         remat.loop @condition_loop{{.*}} while
// BRANCH:       func.func private @condition_loop
// BRANCH-NOT:   scf.for
// BRANCH-NOT:   scf.while
func.func @condition(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %high = tensor.extract %n[] : tensor<i64>
  %first = tensor.extract %x[] : tensor<f32>
  %r = scf.while (%a = %first) : (f32) -> f32 {
    %s = scf.for %i = %c0 to %high step %c1 iter_args(%b = %a) -> f32 : i64 {
      %q = arith.mulf %b, %half : f32
      scf.yield %q : f32
    }
    %more = arith.cmpf ogt, %s, %one : f32
    scf.condition(%more) %a : f32
  } do {
  ^bb0(%a: f32):
    %m = arith.mulf %a, %half : f32
    scf.yield %m : f32
  }
  %t = tensor.from_elements %r : tensor<f32>
  return %t : tensor<f32>
}
