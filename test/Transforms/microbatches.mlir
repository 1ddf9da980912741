// RUN: remat-opt %s --remat-microbatches=parts=4 -split-input-file -verify-diagnostics | FileCheck %s

// The batch is in arguments without gradients. Losses and gradients are
// means, added up where they lie; running statistics are carried from part to
// part, and what each part makes of its rows is joined.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[W:.*]]: tensor<3xf32>, %[[X:.*]]: tensor<8x3xf32>, %[[STATE:.*]]: tensor<3xf32> {remat.donated = 2 : i64}, %[[TABLE:.*]]: tensor<5xf32>)
// CHECK-SAME:  -> (tensor<bf16>, tensor<3xf32> {remat.gradient = 0 : i64}, tensor<3xf32>, tensor<8x3xf32>, tensor<4x5xi32>)
// CHECK-DAG:   %[[LOSS:.*]] = {{.*}} : tensor<f32>
// CHECK-DAG:   %[[PARTS:.*]] = tensor.expand_shape %[[X]] {{\[}}[0, 1], [2]] output_shape [4, 2, 3]
// CHECK:       %[[ALL:.*]]:5 = remat.loop @main_part count 4 carried(%{{.*}}, %{{.*}}, %[[STATE]]) invariant(%[[W]], %[[TABLE]]) sliced(%[[PARTS]])
// CHECK-SAME:  -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<4x2x3xf32>, tensor<4x5xi32>)
// CHECK:       arith.truncf
// CHECK:       %[[ROWS:.*]] = tensor.collapse_shape %[[ALL]]#3 {{\[}}[0, 1], [2]]
// CHECK:       return %{{.*}}, %[[ALL]]#1, %[[ALL]]#2, %[[ROWS]], %[[ALL]]#4
// CHECK-LABEL: func.func private @main_part
// CHECK-SAME:  tensor<f32> {remat.donated = 0 : i64}, %{{.*}}: tensor<3xf32> {remat.donated = 1 : i64}, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<5xf32>, %{{.*}}: tensor<2x3xf32>)
// CHECK:       arith.constant 2.500000e-01 : f32
func.func @main(%w: tensor<3xf32>, %x: tensor<2x3xf32>, %state: tensor<3xf32> {remat.donated = 2 : i64}, %table: tensor<5xf32>)
    -> (tensor<bf16>, tensor<3xf32> {remat.gradient = 0 : i64}, tensor<3xf32>, tensor<2x3xf32>, tensor<5xi32>) {
  %loss = arith.constant dense<1.0> : tensor<bf16>
  %g = math.sin %w : tensor<3xf32>
  %next = arith.addf %state, %w : tensor<3xf32>
  %y = math.exp %x : tensor<2x3xf32>
  %t = arith.fptosi %table : tensor<5xf32> to tensor<5xi32>
  return %loss, %g, %next, %y, %t : tensor<bf16>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<5xi32>
}

// -----

// expected-error @+1 {{has no argument to split into parts: expected one with a first dimension that the function is not differentiated with respect to; 'batch-arguments' says which}}
func.func @main(%w: tensor<3xf32>, %n: tensor<f32>) -> (tensor<f32>, tensor<3xf32> {remat.gradient = 0 : i64}) {
  %g = math.sin %w : tensor<3xf32>
  return %n, %g : tensor<f32>, tensor<3xf32>
}

// -----

// A part returns its rows, and what all parts have, as they are.
// CHECK-LABEL: func.func @main
// CHECK:       %[[ALL:.*]]:3 = remat.loop @main_part count 4 carried(%{{.*}}) invariant(%{{.*}}) sliced(%{{.*}})
// CHECK-LABEL: func.func private @main_part
// CHECK-SAME:  %[[SUM:.*]]: tensor<3xf32> {remat.donated = 0 : i64}, %[[W:.*]]: tensor<3xf32>, %[[X:.*]]: tensor<2x3xf32>)
// CHECK:       %[[NEXT:.*]] = linalg.generic
// CHECK:       return %[[NEXT]], %[[X]], %[[W]]
func.func @main(%w: tensor<3xf32>, %x: tensor<2x3xf32>)
    -> (tensor<2x3xf32>, tensor<3xf32> {remat.gradient = 0 : i64}, tensor<3xf32>) {
  return %x, %w, %w : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Each part draws by a key of its own, the first by that which is given.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  %[[X:.*]]: tensor<8x3xf32>, %[[KEY:.*]]: tensor<i64> {remat.key})
// CHECK:       %[[TABLE:.*]] = arith.constant dense<[0, -7046029254386353131, 4354685564936845354, -2691343689449507777]> : tensor<4xi64>
// CHECK:       %[[KEYS:.*]] = linalg.generic {{.*}} ins(%[[KEY]], %[[TABLE]] : tensor<i64>, tensor<4xi64>)
// CHECK:       arith.addi
// CHECK:       remat.loop @main_part count 4 carried() invariant() sliced(%{{.*}}, %[[KEYS]]) : (tensor<4x2x3xf32>, tensor<4xi64>)
// CHECK-LABEL: func.func private @main_part
// CHECK-SAME:  %{{.*}}: tensor<2x3xf32>, %[[OWN:.*]]: tensor<i64>)
// CHECK:       remat.random %[[OWN]],
func.func @main(%x: tensor<2x3xf32>, %key: tensor<i64> {remat.key}) -> tensor<2x3xf32> {
  %offset = arith.constant dense<0> : tensor<i64>
  %u = remat.random %key, %offset : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  %y = arith.mulf %x, %u : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// expected-error @+1 {{argument #1 has 'remat.key' and type 'tensor<2xf32>', expected a tensor<i64>}}
func.func @main(%x: tensor<4x3xf32>, %key: tensor<2xf32> {remat.key}) -> tensor<4x3xf32> {
  %y = math.exp %x : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// What each part has its own of has the gradient of the mean of all parts. A
// gradient of data that all parts have is a mean, as those of weights.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  -> (tensor<8x3xbf16> {remat.data_gradient = 1 : i64}, tensor<7xf32> {remat.data_gradient = 2 : i64}, tensor<3xf32> {remat.gradient = 0 : i64})
// CHECK:       %[[ALL:.*]]:3 = remat.loop @main_part count 4
// CHECK:       %[[SHARES:.*]] = linalg.generic {{.*}} ins(%[[ALL]]#2 : tensor<4x2x3xbf16>)
// CHECK:       arith.extf
// CHECK:       arith.constant 2.500000e-01 : f32
// CHECK:       arith.mulf
// CHECK:       arith.truncf
// CHECK:       %[[ROWS:.*]] = tensor.collapse_shape %[[SHARES]] {{\[}}[0, 1], [2]]
// CHECK:       return %[[ROWS]], %[[ALL]]#0, %[[ALL]]#1
func.func @main(%w: tensor<3xf32>, %x: tensor<2x3xbf16>, %t: tensor<7xf32>)
    -> (tensor<2x3xbf16> {remat.data_gradient = 1 : i64}, tensor<7xf32> {remat.data_gradient = 2 : i64},
        tensor<3xf32> {remat.gradient = 0 : i64}) {
  %gx = math.sin %x : tensor<2x3xbf16>
  %gt = math.sin %t : tensor<7xf32>
  %gw = math.sin %w : tensor<3xf32>
  return %gx, %gt, %gw : tensor<2x3xbf16>, tensor<7xf32>, tensor<3xf32>
}

// -----

// Complex gradients have a mean, too.
// CHECK-LABEL: func.func @main
// CHECK:       remat.loop @main_part count 4 carried(%{{.*}}) {{.*}} -> tensor<3xcomplex<f64>>
// CHECK-LABEL: func.func private @main_part
// CHECK:       complex.re
// CHECK:       arith.constant 2.500000e-01 : f64
// CHECK:       complex.im
// CHECK:       complex.create
// CHECK:       complex.add
func.func @main(%w: tensor<3xcomplex<f64>>, %x: tensor<2x3xf32>)
    -> (tensor<3xcomplex<f64>> {remat.gradient = 0 : i64}) {
  return %w : tensor<3xcomplex<f64>>
}

// -----

// expected-error @+1 {{result #0 is a gradient of type 'tensor<3xi32>', expected floating-point or complex elements for the mean of parts}}
func.func @main(%w: tensor<3xi32>, %x: tensor<2x3xf32>) -> (tensor<3xi32> {remat.data_gradient = 0 : i64}) {
  return %w : tensor<3xi32>
}

// -----

// expected-error @+1 {{result #0 is marked as the gradient of argument #2, but there are 2 arguments}}
func.func @main(%w: tensor<3xf32>, %x: tensor<2x3xf32>) -> (tensor<3xf32> {remat.data_gradient = 2 : i64}) {
  return %w : tensor<3xf32>
}
