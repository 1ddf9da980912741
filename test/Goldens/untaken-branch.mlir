// RUN: %python %S/Inputs/check.py remat-run %s

// Where a branch is not taken, its derivative is 0, though the square root has
// an infinite one there: in a body and between tensors.
// wrt: 0,1,2
// arg0: f32 4 = 0 -1 4 0
// arg1: f32 2 = 0 9
// arg2: f32 2 = 0 9
// cotangent0: f32 4 = 1 1 1 1
// cotangent1: f32 2 = 1 1
// tangent0: f32 4 = 1 1 1 1
// tangent1: f32 2 = 1 1
// tangent2: f32 2 = 1 1
// result0: f32 4 = 0 0 2 0
// result1: f32 2 = 0 81
// vjp0: f32 4 = 0 0 0.25 0
// vjp1: f32 2 = 0 18
// vjp2: f32 2 = 0 0
// jvp0: f32 4 = 0 0 0.25 0
// jvp1: f32 2 = 0 18
// hvp0: f32 4 = 0 0 -0.03125 0
// hvp1: f32 2 = 2 2
// hvp2: f32 2 = 0 0

#map = affine_map<(d0) -> (d0)>
func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %empty = tensor.empty() : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%arg0 : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%x: f32, %out: f32):
    %positive = arith.cmpf ogt, %x, %zero : f32
    %y = scf.if %positive -> f32 {
      %root = math.sqrt %x : f32
      scf.yield %root : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %c0 = arith.constant 0 : index
  %first = tensor.extract %arg2[%c0] : tensor<2xf32>
  %condition = arith.cmpf oeq, %first, %zero : f32
  %1 = scf.if %condition -> (tensor<2xf32>) {
    %square = arith.mulf %arg1, %arg1 : tensor<2xf32>
    scf.yield %square : tensor<2xf32>
  } else {
    %root = math.sqrt %arg2 : tensor<2xf32>
    %quotient = arith.divf %root, %arg1 : tensor<2xf32>
    scf.yield %quotient : tensor<2xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<2xf32>
}
