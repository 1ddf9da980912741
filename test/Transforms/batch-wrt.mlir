// Passes that look for the batch refuse numbers of arguments that there are not,
// or that have no gradient.
// RUN: not remat-opt %s --remat-layer-microbatches="parts=2 wrt=3" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s --remat-split-batch="parts=2 wrt=3" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s --remat-split-batch="parts=2 wrt=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not remat-opt %s --remat-layer-microbatches="parts=2 wrt=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not remat-opt %s --remat-layer-microbatches="parts=2 wrt=0,1" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not remat-opt %s --remat-split-batch="parts=2 wrt=1" 2>&1 | FileCheck %s --check-prefix=TYPE

// NONE:     error: 'func.func' op has 3 arguments, cannot differentiate with respect to #3
// MANY:     has 3 arguments, cannot differentiate with respect to #9223372036854775807
// NEGATIVE: has 3 arguments, cannot differentiate with respect to #-1
// TYPE:     argument #1 has type 'tensor<4xi32>', expected floating-point or complex elements to differentiate with respect to
func.func @main(%w: tensor<4xf32>, %i: tensor<4xi32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %w : tensor<4xf32>
  %z = arith.mulf %y, %w : tensor<4xf32>
  return %z : tensor<4xf32>
}
