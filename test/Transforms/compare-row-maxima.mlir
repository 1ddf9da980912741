// RUN: remat-opt %s --remat-compare-row-maxima -split-input-file | FileCheck %s

// The maxima of the rows tell which rows are all minus infinity. What reads a
// wider type does so still.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: @safe_softmax
// CHECK:      %[[MAXIMA:.*]] = linalg.generic
// CHECK:        arith.maximumf
// CHECK:      %[[ALL:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[MAXIMA]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xi1>) attrs = {remat.policy = #remat.policy<must_save>}
// CHECK-NEXT: ^bb0(%[[MAXIMUM:.*]]: f32, %{{.*}}: i1)
// CHECK-NEXT:   %[[WIDE:.*]] = arith.extf %[[MAXIMUM]]
// CHECK-NEXT:   %[[IS:.*]] = arith.cmpf oeq, %[[WIDE]], %
// CHECK-NEXT:   linalg.yield %[[IS]]
// CHECK:      return %[[MAXIMA]], %[[ALL]]
func.func @safe_softmax(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %least = arith.constant dense<0xFF800000> : tensor<4xf32>
  %true = arith.constant dense<true> : tensor<4xi1>
  %infinity = arith.constant 0xFFF0000000000000 : f64
  %maxima = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%least : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %all = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%true : tensor<4xi1>) attrs = {remat.policy = #remat.policy<must_save>} {
  ^bb0(%a: f32, %o: i1):
    %wide = arith.extf %a : f32 to f64
    %is = arith.cmpf oeq, %wide, %infinity : f64
    %r = arith.andi %is, %o : i1
    linalg.yield %r : i1
  } -> tensor<4xi1>
  return %maxima, %all : tensor<4xf32>, tensor<4xi1>
}

// -----

// The maxima come later, but in time, and have their dimensions in another
// order.

// CHECK:      #[[MAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: @later
// CHECK:      arith.maximumf
// CHECK:      linalg.generic {indexing_maps = [#[[MAP:.*]], #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : tensor<5x4xf32>) outs(%{{.*}} : tensor<4x5xi1>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT:   arith.cmpf oeq
// CHECK-NEXT:   linalg.yield
// CHECK-NOT:  arith.andi
func.func @later(%x: tensor<4x8x5xf32>) -> (tensor<4x5xi1>, tensor<5x4xf32>) {
  %least = arith.constant dense<0xFF800000> : tensor<5x4xf32>
  %true = arith.constant dense<true> : tensor<4x5xi1>
  %infinity = arith.constant 0xFF800000 : f32
  %all = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<4x8x5xf32>) outs(%true : tensor<4x5xi1>) {
  ^bb0(%a: f32, %o: i1):
    %is = arith.cmpf oeq, %infinity, %a : f32
    %r = arith.andi %o, %is : i1
    linalg.yield %r : i1
  } -> tensor<4x5xi1>
  %maxima = linalg.generic {indexing_maps = [affine_map<(k, i, j) -> (i, j, k)>, affine_map<(k, i, j) -> (k, i)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x8x5xf32>) outs(%least : tensor<5x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<5x4xf32>
  return %all, %maxima : tensor<4x5xi1>, tensor<5x4xf32>
}

// -----

// Maxima over other dimensions, of another tensor, that start from another
// number, that leave out NaN, and that the backward computation makes, do not
// answer the question.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: @others
// CHECK:      arith.andi
// CHECK-NOT:  arith.cmpf
// CHECK:      return
func.func @others(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %least = arith.constant dense<0xFF800000> : tensor<4xf32>
  %finite = arith.constant dense<-1.0e+38> : tensor<4xf32>
  %true = arith.constant dense<true> : tensor<4xi1>
  %infinity = arith.constant 0xFF800000 : f32
  %columns = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%least : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %other = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<4x4xf32>) outs(%least : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %above = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%finite : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %numbers = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%least : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maxnumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %backward = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%least : tensor<4xf32>) attrs = {remat.backward} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %all = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%true : tensor<4xi1>) {
  ^bb0(%a: f32, %o: i1):
    %is = arith.cmpf oeq, %a, %infinity : f32
    %r = arith.andi %o, %is : i1
    linalg.yield %r : i1
  } -> tensor<4xi1>
  return %all, %columns, %other, %above, %numbers, %backward : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Other questions: whether an element is NaN or minus infinity, whether it is
// infinity, and whether any element is.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: @questions
// CHECK:      arith.cmpf ueq
// CHECK-NEXT: arith.andi
// CHECK:      arith.cmpf oeq
// CHECK-NEXT: arith.andi
// CHECK:      arith.cmpf oeq
// CHECK-NEXT: arith.ori
func.func @questions(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %least = arith.constant dense<0xFF800000> : tensor<4xf32>
  %true = arith.constant dense<true> : tensor<4xi1>
  %false = arith.constant dense<false> : tensor<4xi1>
  %minus = arith.constant 0xFF800000 : f32
  %plus = arith.constant 0x7F800000 : f32
  %maxima = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%least : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %unordered = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%true : tensor<4xi1>) {
  ^bb0(%a: f32, %o: i1):
    %is = arith.cmpf ueq, %a, %minus : f32
    %r = arith.andi %o, %is : i1
    linalg.yield %r : i1
  } -> tensor<4xi1>
  %above = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%true : tensor<4xi1>) {
  ^bb0(%a: f32, %o: i1):
    %is = arith.cmpf oeq, %a, %plus : f32
    %r = arith.andi %o, %is : i1
    linalg.yield %r : i1
  } -> tensor<4xi1>
  %any = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf32>) outs(%false : tensor<4xi1>) {
  ^bb0(%a: f32, %o: i1):
    %is = arith.cmpf oeq, %a, %minus : f32
    %r = arith.ori %o, %is : i1
    linalg.yield %r : i1
  } -> tensor<4xi1>
  return %maxima, %unordered, %above, %any : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}
