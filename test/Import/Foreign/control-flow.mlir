// RUN: remat-opt %s -split-input-file --remat-import-foreign | FileCheck %s

// A loop that compares a counter with a constant is an scf.for. What it hands on
// unchanged, here the limit and %x, is not carried, and neither is the counter.

// CHECK-LABEL: func.func @up
// CHECK:         %[[N:.*]] = arith.constant 4 : index
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (tensor<2xf32>) {
// CHECK:           arith.index_cast %[[I]] : index to i32
// CHECK:           arith.muli %{{.*}}, %c3_i32
// CHECK:           %[[T:.*]] = arith.addf %[[S]], %arg0
// CHECK:           scf.yield %[[T]]
// CHECK:         %[[LAST:.*]] = arith.constant dense<13> : tensor<i32>
// CHECK:         return %{{.*}}, %[[LAST]]
func.func @up(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>) {
  %zero = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %limit = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
  %s = "stablehlo.constant"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0:4 = "stablehlo.while"(%zero, %limit, %x, %s) ({
  ^bb0(%i: tensor<i32>, %n: tensor<i32>, %a: tensor<2xf32>, %b: tensor<2xf32>):
    %c = "stablehlo.compare"(%n, %i) <{comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %n: tensor<i32>, %a: tensor<2xf32>, %b: tensor<2xf32>):
    %three = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%three, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %sum = "stablehlo.add"(%b, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%next, %n, %a, %sum) : (tensor<i32>, tensor<i32>, tensor<2xf32>, tensor<2xf32>) -> ()
  }) : (tensor<i32>, tensor<i32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<i32>, tensor<i32>, tensor<2xf32>, tensor<2xf32>)
  return %0#3, %0#0 : tensor<2xf32>, tensor<i32>
}

// -----

// Counting down, with bounds that all callers give as constants.

// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @down
// CHECK:         %[[N:.*]] = arith.constant 5 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[N]]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %n = "stablehlo.constant"() <{value = dense<5> : tensor<ui8>}> : () -> tensor<ui8>
  %0 = func.call @down(%x, %n) : (tensor<2xf32>, tensor<ui8>) -> tensor<2xf32>
  %1 = func.call @down(%0, %n) : (tensor<2xf32>, tensor<ui8>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func private @down(%x: tensor<2xf32>, %n: tensor<ui8>) -> tensor<2xf32> {
  %0:2 = "stablehlo.while"(%n, %x) ({
  ^bb0(%i: tensor<ui8>, %a: tensor<2xf32>):
    %zero = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %c = "stablehlo.compare"(%i, %zero) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<ui8>, %a: tensor<2xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<ui8>}> : () -> tensor<ui8>
    %next = "stablehlo.subtract"(%i, %one) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
    %b = "stablehlo.sine"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%next, %b) : (tensor<ui8>, tensor<2xf32>) -> ()
  }) : (tensor<ui8>, tensor<2xf32>) -> (tensor<ui8>, tensor<2xf32>)
  return %0#1 : tensor<2xf32>
}

// -----

// The last branch is for all other numbers.

// CHECK-LABEL: func.func @case
// CHECK:         %[[N:.*]] = tensor.extract %arg1[]
// CHECK:         %[[IS0:.*]] = arith.cmpi eq, %[[N]], %c0_i32
// CHECK:         scf.if %[[IS0]]
// CHECK:           math.sin
// CHECK:         } else {
// CHECK:           %[[IS1:.*]] = arith.cmpi eq, %[[N]], %c1_i32
// CHECK:           scf.if %[[IS1]]
// CHECK:             math.cos
// CHECK:           } else {
// CHECK:             math.tanh
func.func @case(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<2xf32> {
  %0 = "stablehlo.case"(%n) ({
    %a = "stablehlo.sine"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%a) : (tensor<2xf32>) -> ()
  }, {
    %a = "stablehlo.cosine"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%a) : (tensor<2xf32>) -> ()
  }, {
    %a = "stablehlo.tanh"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%a) : (tensor<2xf32>) -> ()
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Tuples are what they hold, tokens nothing, and what is said of several devices
// is dropped.

// CHECK-LABEL: func.func @tuples(%arg0: tensor<2xf32>, %arg1: tensor<3xi8> {jax.arg = 1 : i64})
// CHECK-SAME:    -> (tensor<3xi8>, tensor<2xf32>)
// CHECK-NEXT:    return %arg1, %arg0
func.func @tuples(%t: !stablehlo.token, %x: tensor<2xf32> {mhlo.sharding = "{replicated}"}, %y: tensor<3xui8> {jax.arg = 1 : i64}) -> (!stablehlo.token, tuple<tensor<3xui8>, tuple<tensor<2xf32>>>) {
  %0 = "stablehlo.tuple"(%x) : (tensor<2xf32>) -> tuple<tensor<2xf32>>
  %1 = "stablehlo.tuple"(%0, %t, %y) : (tuple<tensor<2xf32>>, !stablehlo.token, tensor<3xui8>) -> tuple<tuple<tensor<2xf32>>, !stablehlo.token, tensor<3xui8>>
  %2 = "stablehlo.get_tuple_element"(%1) <{index = 2 : i32}> : (tuple<tuple<tensor<2xf32>>, !stablehlo.token, tensor<3xui8>>) -> tensor<3xui8>
  %3 = "stablehlo.get_tuple_element"(%1) <{index = 0 : i32}> : (tuple<tuple<tensor<2xf32>>, !stablehlo.token, tensor<3xui8>>) -> tuple<tensor<2xf32>>
  %4 = "stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  %5 = "stablehlo.tuple"(%2, %3) : (tensor<3xui8>, tuple<tensor<2xf32>>) -> tuple<tensor<3xui8>, tuple<tensor<2xf32>>>
  return %4, %5 : !stablehlo.token, tuple<tensor<3xui8>, tuple<tensor<2xf32>>>
}
