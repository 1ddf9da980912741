// RUN: remat-opt %s --remat-differentiate=mode=reverse | FileCheck %s

// The gradient of the side of a choice that was not taken is a complex zero, and
// so is that of an argument without a part in the result.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    tensor<2xcomplex<f32>> {remat.absent})
// CHECK:         linalg.generic {{.*}} attrs =  {remat.backward}
// CHECK:           %[[ZERO:.*]] = complex.constant [0.000000e+00 : f32, 0.000000e+00 : f32] : complex<f32>
// CHECK:           arith.select %{{.*}}, %{{.*}}, %[[ZERO]] : complex<f32>
// CHECK:         %[[FILL:.*]] = linalg.fill {{.*}} -> tensor<2xcomplex<f32>>
// CHECK:         return %{{.*}}, %{{.*}}, %{{.*}}, %[[FILL]]
func.func @main(%p: tensor<2xi1>, %a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>, %c: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%p, %a, %b : tensor<2xi1>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) outs(%e : tensor<2xf32>) {
  ^bb0(%q: i1, %r: complex<f32>, %s: complex<f32>, %o: f32):
    %t = arith.select %q, %r, %s : complex<f32>
    %u = complex.re %t : complex<f32>
    linalg.yield %u : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}
