// RUN: remat-opt %s --remat-split-batch="parts=2" -split-input-file -verify-diagnostics
// RUN: remat-opt %s --remat-split-batch="parts=0" -split-input-file 2>&1 | FileCheck %s

// Without a number of parts, the function is left as it is, and a remark says
// why.
// CHECK: remark: the batch is done as a whole: 'linalg.generic' op needs what all rows of the batch add up to
// CHECK: remark: the batch is done as a whole: 'linalg.generic' op reads operand #1 row by row
// CHECK: remark: the batch is done as a whole: 'linalg.generic' op mixes rows of the batch
// CHECK: remark: the batch is done as a whole: 'func.func' op returns nothing that depends on rows
// CHECK-NOT: remat.loop

// What depends on the batch alone would be there before the first part; this
// depends on a weight.
#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<4x3xi32>, %w: tensor<3xi32>) -> tensor<4x3xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<3xi32>) -> tensor<3xi32>
  %s = linalg.generic {indexing_maps = [#id, #col, #col], iterator_types = ["reduction", "parallel"]} ins(%x, %w : tensor<4x3xi32>, tensor<3xi32>) outs(%z : tensor<3xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %r = arith.addi %p, %o : i32
    linalg.yield %r : i32
  } -> tensor<3xi32>
  %ey = tensor.empty() : tensor<4x3xi32>
  // expected-error @+1 {{needs what all rows of the batch add up to beside single rows: expected rows that do not depend on each other}}
  %y = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<4x3xi32>, tensor<3xi32>) outs(%ey : tensor<4x3xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %r = arith.subi %a, %b : i32
    linalg.yield %r : i32
  } -> tensor<4x3xi32>
  return %y : tensor<4x3xi32>
}

// -----

#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<4xi32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{reads operand #1 row by row with the batch, but it does not depend on the arguments that are split: expected these to have all rows (batch-arguments)}}
  %y = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]} ins(%x, %w : tensor<4xi32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: i32, %b: f32, %o: f32):
    %f = arith.sitofp %a : i32 to f32
    %r = arith.mulf %f, %b : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#window = affine_map<(i, k) -> (i + k)>
#row = affine_map<(i, k) -> (i)>
func.func @main(%x: tensor<6xi32>) -> tensor<4xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  %ew = tensor.empty() : tensor<3xi32>
  // expected-error @+1 {{mixes rows of the batch, or is none that can be run for some of them: expected rows that do not depend on each other}}
  %y = linalg.generic {indexing_maps = [#window, affine_map<(i, k) -> (k)>, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %ew : tensor<6xi32>, tensor<3xi32>) outs(%z : tensor<4xi32>) {
  ^bb0(%a: i32, %w: i32, %o: i32):
    %r = arith.addi %a, %o : i32
    linalg.yield %r : i32
  } -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// expected-error @+1 {{returns nothing that depends on rows of the batch}}
func.func @main(%x: tensor<4xi32>) -> tensor<3xi32> {
  %c = arith.constant dense<1> : tensor<3xi32>
  return %c : tensor<3xi32>
}
