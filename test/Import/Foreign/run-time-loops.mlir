// RUN: remat-opt %s -split-input-file --remat-import-foreign --canonicalize | FileCheck %s
// RUN: remat-opt %s -split-input-file --remat-import-foreign --canonicalize --remat-keep-loops=max-trip-count=9 | FileCheck %s --check-prefix=KEPT

// A loop that counts up to a number that is computed, as jax.lax.fori_loop up to
// an argument. What does not change is not carried.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:.*]]: tensor<2xf32>, %[[N:.*]]: tensor<i32>)
// CHECK:         %[[E:.*]] = tensor.extract %[[N]][]
// CHECK:         %[[I:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK:         %[[M:.*]] = arith.maxsi %[[I]], %{{.*}} : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[M]] step %{{.*}} iter_args(%{{.*}} = %[[X]]) -> (tensor<2xf32>)
// KEPT:          remat.loop @main_loop count 9 trips(%{{.*}}) carried(%{{[^,]*}}) invariant() sliced()
func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<2xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %0:3 = "stablehlo.while"(%n, %zero, %x) ({
  ^bb0(%end: tensor<i32>, %i: tensor<i32>, %a: tensor<2xf32>):
    %c = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%end: tensor<i32>, %i: tensor<i32>, %a: tensor<2xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %b = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%end, %j, %b) : (tensor<i32>, tensor<i32>, tensor<2xf32>) -> ()
  }) : (tensor<i32>, tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<i32>, tensor<2xf32>)
  return %0#2 : tensor<2xf32>
}

// -----

// Other steps are rounded up, and the counter ends where it first reaches the
// bound.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[T:.*]] = arith.divsi
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[T]]
// CHECK:         %[[L:.*]] = arith.index_cast %[[T]] : index to i32
// CHECK:         arith.muli %[[L]]
// KEPT:          remat.loop @main_loop count 9 trips(
func.func @main(%x: tensor<2xf32>, %begin: tensor<i32>, %n: tensor<i32>) -> (tensor<i32>, tensor<2xf32>) {
  %0:2 = "stablehlo.while"(%begin, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<2xf32>):
    %c = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<2xf32>):
    %three = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %j = "stablehlo.add"(%i, %three) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %b = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%j, %b) : (tensor<i32>, tensor<2xf32>) -> ()
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<i32>, tensor<2xf32>
}

// -----

// Others end when their condition says so.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:.*]]: tensor<f32>, %[[W:.*]]: tensor<f32>)
// CHECK:         scf.while (%[[A:.*]] = %[[X]]) : (tensor<f32>) -> tensor<f32>
// CHECK:           scf.condition(%{{.*}}) %[[A]] : tensor<f32>
// KEPT:          remat.loop @main_loop count 9 while carried(%{{.*}}, %{{.*}}, %{{.*}}) invariant(%{{.*}}) sliced()
func.func @main(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %0:2 = "stablehlo.while"(%x, %w) ({
  ^bb0(%a: tensor<f32>, %v: tensor<f32>):
    %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %c = "stablehlo.compare"(%a, %one) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %v: tensor<f32>):
    %b = "stablehlo.add"(%a, %v) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%b, %v) : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#0 : tensor<f32>
}
