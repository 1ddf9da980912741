// RUN: %python %S/../Import/Inputs/foreign_values.py remat-run %s %t

// The derivatives of angle and of pow at the origin are 0, and so is that of
// pow by the base where the exponent is 0.

// tolerance 1e-06
// arg 0 c8 2: 0 0 1 1
// arg 1 c8 4: 0 0 0 0 1 1 1 1
// arg 2 c8 4: 2 0 0 0 2 0 0 0
// cotangent 0 f4 2: 1 1
// cotangent 1 c8 4: 1 0 1 0 1 0 1 0
// gradient 0 c8 2: 0 0 -0.5 0.5
// gradient 1 c8 4: 0 0 0 0 2 -2 0 0
// gradient 2 c8 4: 0 0 0 0 -1.57079633 -0.69314718 0.34657359 -0.78539816

#map = affine_map<(d0) -> (d0)>
func.func @main(%z: tensor<2xcomplex<f32>>, %a: tensor<4xcomplex<f32>>, %b: tensor<4xcomplex<f32>>)
    -> (tensor<2xf32>, tensor<4xcomplex<f32>>) {
  %empty = tensor.empty() : tensor<2xf32>
  %angle = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%z : tensor<2xcomplex<f32>>) outs(%empty : tensor<2xf32>) {
  ^bb0(%x: complex<f32>, %out: f32):
    %r = complex.angle %x : complex<f32>
    linalg.yield %r : f32
  } -> tensor<2xf32>
  %numbers = tensor.empty() : tensor<4xcomplex<f32>>
  %power = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%numbers : tensor<4xcomplex<f32>>) {
  ^bb0(%x: complex<f32>, %y: complex<f32>, %out: complex<f32>):
    %r = complex.pow %x, %y : complex<f32>
    linalg.yield %r : complex<f32>
  } -> tensor<4xcomplex<f32>>
  return %angle, %power : tensor<2xf32>, tensor<4xcomplex<f32>>
}
