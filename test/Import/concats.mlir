// RUN: remat-opt %s --remat-import-concats | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// JAX's concatenation.
// CHECK-LABEL: @concat
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2x1xf32>, %[[C:.*]]: tensor<2x4xf32>
// CHECK-NEXT: arith.constant
// CHECK: tensor.concat dim(1) %[[A]], %[[B]], %[[C]]
// CHECK-NOT: linalg.generic
func.func @concat(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %init = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%init : tensor<2x8xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %p = arith.cmpi ult, %j, %c3 : index
    %r = scf.if %p -> (f32) {
      %e = tensor.extract %a[%i, %j] : tensor<2x3xf32>
      scf.yield %e : f32
    } else {
      %q = arith.cmpi ult, %j, %c4 : index
      %s = scf.if %q -> (f32) {
        %k = arith.subi %j, %c3 : index
        %e = tensor.extract %b[%i, %k] : tensor<2x1xf32>
        scf.yield %e : f32
      } else {
        %k = arith.subi %j, %c4 : index
        %e = tensor.extract %c[%i, %k] : tensor<2x4xf32>
        scf.yield %e : f32
      }
      scf.yield %s : f32
    }
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// Another condition becomes a selection. The branch that is not taken reads
// element 0 instead of one that is out of bounds.
// CHECK-LABEL: @flatten
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[P:.*]] = arith.cmpi sgt
// CHECK: %[[SAFE:.*]] = arith.select %[[P]], %[[J]], %{{.*}} : index
// CHECK: %[[E:.*]] = tensor.extract %{{.*}}[%[[SAFE]]]
// CHECK: arith.select %[[P]], %[[E]], %{{.*}} : f32
// CHECK-NOT: scf.if
func.func @flatten(%a: tensor<2xf32>, %x: tensor<2x8xi32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i32
  %init = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x8xi32>) outs(%init : tensor<2x8xf32>) {
  ^bb0(%in: i32, %out: f32):
    %j = linalg.index 1 : index
    %p = arith.cmpi sgt, %in, %one : i32
    %r = scf.if %p -> (f32) {
      %e = tensor.extract %a[%j] : tensor<2xf32>
      scf.yield %e : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %r : f32
  } -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
