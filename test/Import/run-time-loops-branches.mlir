// RUN: remat-opt %s --remat-keep-loops=limit=3 | FileCheck %s --check-prefix=BRANCH
// RUN: remat-opt %s --remat-keep-loops=limit=3 --remat-import-loops | FileCheck %s --check-prefix=TAKEN

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
