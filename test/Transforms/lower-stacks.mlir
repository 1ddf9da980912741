// RUN: remat-opt %s --remat-lower-stacks | FileCheck %s
// RUN: remat-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// What a loop slices stays as it is, and so does what it stacks for one reader.
// CHECK-LABEL: func.func @loop
// CHECK:       %[[STACK:.*]] = remat.stack %arg1, %arg2 : tensor<2x4xf32>
// CHECK:       %[[LOOP:.*]]:2 = remat.loop @body count 2 carried(%arg0) invariant() sliced(%[[STACK]])
// CHECK:       remat.unstack %[[LOOP]]#1
func.func @loop(%x: tensor<4xf32>, %v: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = remat.stack %v, %w : tensor<2x4xf32>
  %y, %t = remat.loop @body count 2 carried(%x) invariant() sliced(%s) : (tensor<4xf32>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
  %e:2 = remat.unstack %t : tensor<2x4xf32>
  return %e#0, %e#1 : tensor<4xf32>, tensor<4xf32>
}

// Other readers get what is written.
// CHECK-LABEL: func.func @others
// CHECK-DAG:   %[[V:.*]] = tensor.expand_shape %arg1 {{\[}}[0, 1]] output_shape [1, 4]
// CHECK-DAG:   %[[W:.*]] = tensor.expand_shape %arg2 {{\[}}[0, 1]] output_shape [1, 4]
// CHECK-DAG:   %[[WRITTEN:.*]] = tensor.concat dim(0) %[[V]], %[[W]]
// CHECK:       %[[LOOP:.*]]:2 = remat.loop @body count 2
// CHECK:       %[[FIRST:.*]] = tensor.extract_slice %[[LOOP]]#1[0, 0] [1, 4] [1, 1]
// CHECK:       return %[[FIRST]], %[[LOOP]]#1, %[[WRITTEN]]
func.func @others(%x: tensor<4xf32>, %v: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %s = remat.stack %v, %w : tensor<2x4xf32>
  %y, %t = remat.loop @body count 2 carried(%x) invariant() sliced(%s) : (tensor<4xf32>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>)
  %e:2 = remat.unstack %t : tensor<2x4xf32>
  return %e#0, %t, %s : tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = arith.mulf %x, %w : tensor<4xf32>
  %z = math.tanh %y : tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// Each is the reverse of the other.
// FOLD-LABEL: func.func @both
// FOLD-SAME:  (%[[V:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<2x4xf32>)
// FOLD-NEXT:  return %[[W]], %[[S]]
func.func @both(%v: tensor<4xf32>, %w: tensor<4xf32>, %s: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  %t = remat.stack %v, %w : tensor<2x4xf32>
  %e:2 = remat.unstack %t : tensor<2x4xf32>
  %f:2 = remat.unstack %s : tensor<2x4xf32>
  %u = remat.stack %f#0, %f#1 : tensor<2x4xf32>
  return %e#1, %u : tensor<4xf32>, tensor<2x4xf32>
}

// A declaration has nothing to lower.
// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<2x4xf32>)
