// RUN: remat-opt %s --remat-differentiate='mode=reverse wrt=0' --remat-differentiate='mode=forward wrt=0 results=1' --canonicalize --cse | FileCheck %s --check-prefix=HVP
// RUN: remat-opt %s --remat-differentiate='mode=reverse wrt=0' --remat-differentiate='mode=reverse wrt=0 results=1' --canonicalize --cse | FileCheck %s --check-prefix=VHP
// RUN: remat-opt %s --remat-differentiate='mode=forward wrt=0' --remat-differentiate='mode=forward wrt=0 results=1' --remat-differentiate='mode=reverse wrt=0 results=2' | FileCheck %s --check-prefix=THIRD

// Derivatives of derivatives are made by applying the pass to its own output. The
// tangent of the gradient (a Hessian-vector product) and the gradient of the
// gradient (a vector-Hessian product) are the same here; both are part of the
// backward computation.

// HVP-LABEL: func.func @main
// HVP-SAME:    %[[X:[a-z0-9]*]]: tensor<4xf32>, %[[G:[a-z0-9]*]]: tensor<4xf32>, %[[T:[a-z0-9]*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// HVP:         attrs = {remat.backward}
// HVP:         math.cos
// HVP:         attrs = {remat.backward}
// HVP:         math.sin

// VHP-LABEL: func.func @main
// VHP-SAME:    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// VHP:         attrs = {remat.backward}
// VHP:         math.cos
// VHP:         attrs = {remat.backward = 2 : i64}
// VHP:         math.sin

// THIRD-LABEL: func.func @main
// THIRD-SAME:    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.sin %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
