// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-expand-derivatives --inline --remat-differentiate=mode=reverse --remat-lower-rules --canonicalize | FileCheck %s

// A function with a derivative rule of its own. Its calls are inlined, so regions
// and policies around a call apply inside as well. The rule gets what the other
// forward function saves, and the body needs no derivative.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:.*]]: tensor<3xf32>, %[[G:.*]]: tensor<3xf32>
// CHECK:         %[[Y:.*]] = math.floor %[[X]]
// CHECK:         %[[S:.*]] = math.cos %[[X]]
// CHECK:         %[[D:.*]] = arith.mulf %[[S]], %[[G]] {remat.backward}
// CHECK:         return %[[Y]], %[[D]]
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> attributes {remat.fwd = @fwd, remat.vjp = @bwd} {
  %y = math.floor %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func private @fwd(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %y = math.floor %x : tensor<3xf32>
  %s = math.cos %x : tensor<3xf32>
  return %y, %s : tensor<3xf32>, tensor<3xf32>
}
func.func private @bwd(%s: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %d = arith.mulf %s, %g : tensor<3xf32>
  return %d : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// A gradient hook sees the gradient once it is complete, here the sum of two
// uses. One hook can also take two gradients at once.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<3xf32>, %[[W:[a-z0-9]*]]: tensor<3xf32>, %[[G:[a-z0-9]*]]: tensor<3xf32>
// CHECK:         %[[SUM:.*]] = linalg.generic
// CHECK:         %[[DW:.*]] = arith.mulf %[[G]], %[[X]]
// CHECK:         %[[HX:.*]] = math.absf %[[SUM]] {remat.backward}
// CHECK:         %[[HW:.*]] = arith.mulf %[[DW]], %[[SUM]] {remat.backward}
// CHECK:         return %{{.*}}, %[[HX]], %[[HW]]
func.func @main(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %a, %b = remat.gradient_hook(%x, %w : tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%ga: tensor<3xf32>, %gb: tensor<3xf32>):
    %ha = math.absf %ga : tensor<3xf32>
    %hb = arith.mulf %gb, %ga : tensor<3xf32>
    remat.yield %ha, %hb : tensor<3xf32>, tensor<3xf32>
  }
  %0 = arith.mulf %a, %b : tensor<3xf32>
  %1 = arith.addf %0, %a : tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// expected-error @+1 {{has the rule @bwd of type '(tensor<3xf32>) -> tensor<3xf32>', expected ('tensor<3xf32>', 'tensor<3xf32>', 'tensor<3xf32>') -> ('tensor<3xf32>')}}
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> attributes {remat.vjp = @bwd} {
  return %x : tensor<3xf32>
}
func.func private @bwd(%g: tensor<3xf32>) -> tensor<3xf32> {
  return %g : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// expected-error @+1 {{has the rule @none, which is no function}}
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> attributes {remat.jvp = @none} {
  return %x : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{has no region 'vjp' for reverse mode}}
  %y = remat.custom_rule inputs(%x : tensor<3xf32>) values(%x : tensor<3xf32>) jvp {
  ^bb0(%t: tensor<3xf32>):
    remat.yield %t : tensor<3xf32>
  }
  return %y : tensor<3xf32>
}

// -----

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{region 'vjp' yields types (), expected ('tensor<3xf32>')}}
  %y = remat.custom_rule inputs(%x : tensor<3xf32>) values(%x : tensor<3xf32>) vjp {
  ^bb0(%g: tensor<3xf32>):
    remat.yield
  }
  return %y : tensor<3xf32>
}

// -----

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{needs a region 'vjp' or 'jvp'}}
  %y = remat.custom_rule inputs(%x : tensor<3xf32>) values(%x : tensor<3xf32>)
  return %y : tensor<3xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.vjp' must be the symbol of a function, got "bwd"}}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> attributes {remat.vjp = "bwd"} {
  return %x : tensor<3xf32>
}
