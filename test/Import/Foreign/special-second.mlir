// RUN: %python %S/../../Goldens/Inputs/check.py remat-run %s

// Second derivatives of functions that are approximated, as JAX computes them
// in f64.
// wrt: 0,1,2
// tolerance: 2e-05
// arg0: f32 4 = 0.5 0.3 0 -0.7
// arg1: f32 5 = 1 2 6 0.25 -1.5
// arg2: f32 5 = 1 2 3.5 0.25 -1.5
// cotangent0: f32 4 = 1 1 1 1
// cotangent1: f32 5 = 1 1 1 1 1
// cotangent2: f32 5 = 1 1 1 1 1
// tangent0: f32 4 = 1 1 1 1
// tangent1: f32 5 = 1 1 1 1 1
// tangent2: f32 5 = 1 1 1 1 1
// vjp0: f32 4 = 1.11258482 0.954520359 0.886226925 1.51636322
// vjp1: f32 5 = -0.577215665 0.422784335 1.70611767 -4.22745353 0.703156641
// vjp2: f32 5 = 1.64493407 0.644934067 0.330357756 17.1973292 9.37924664
// hvp0: f32 4 = 1.18074635 0.496486526 0 -3.37025589
// hvp1: f32 5 = 1.64493407 0.644934067 0.181322956 17.1973292 9.37924664
// hvp2: f32 5 = -2.40411381 -0.404113806 -0.108204052 -129.32774 -0.236204052

"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>, tensor<5xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<5xf32>, %arg2: tensor<5xf32>):
    %0 = "chlo.erf_inv"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "chlo.lgamma"(%arg1) : (tensor<5xf32>) -> tensor<5xf32>
    %2 = "chlo.digamma"(%arg2) : (tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%0, %1, %2) : (tensor<4xf32>, tensor<5xf32>, tensor<5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
