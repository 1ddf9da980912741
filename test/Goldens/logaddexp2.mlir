// RUN: %python %S/Inputs/check.py remat-run %s

// logaddexp2 of equal numbers.
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 6 = 1 0 -1 2 0 -0
// arg1: f32 6 = 1 0 -1 -2 2 0
// cotangent0: f32 6 = 0.661352158 0.266924113 0.0616772585 0.621317327 -0.451905966 -0.16613023
// tangent0: f32 6 = -1.5227685 0.381683916 -1.02760863 -0.563052773 -0.892290533 -0.0582501777
// tangent1: f32 6 = -0.195509583 -0.965635955 0.422415316 0.267316997 -0.421195149 -0.510699987
// result0: f32 6 = 2 1 -4.7565974e-17 2.08746284 2.32192809 1
// vjp0: f32 6 = 0.330676079 0.133462057 0.0308386292 0.584769249 -0.0903811932 -0.0830651149
// vjp1: f32 6 = 0.330676079 0.133462057 0.0308386292 0.0365480781 -0.361524773 -0.0830651149
// jvp0: f32 6 = -0.85913904 -0.29197602 -0.302596658 -0.514207493 -0.515414226 -0.284475083
// hvp0: f32 6 = -0.152108644 0.0623195047 -0.0154976449 -0.0197985141 0.0236103468 -0.0130252043
// hvp1: f32 6 = 0.152108644 -0.0623195047 0.0154976449 0.0197985141 -0.0236103468 0.0130252043

#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<6xf32>, %arg1: tensor<6xf32>) -> tensor<6xf32> {
    %cst = arith.constant 0x7FF0000000000000 : f64
    %cst_0 = arith.constant 2.000000e+00 : f32
    %cst_1 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<6xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %13 = arith.subf %in, %in_2 : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%1 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.absf %in : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%2 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.negf %in : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %13 = arith.cmpf ogt, %in, %in_2 : f32
      %14 = arith.select %13, %in, %in_2 : f32
      linalg.yield %14 : f32
    } -> tensor<6xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%3 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.powf %cst_0, %in : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%5 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.addf %in, %cst_1 : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%6 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.log2 %in : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%4, %7 : tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %13 = arith.addf %in, %in_2 : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%4 : tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = math.absf %in : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    %10 = tensor.empty() : tensor<6xi1>
    %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%9 : tensor<6xf32>) outs(%10 : tensor<6xi1>) {
    ^bb0(%in: f32, %out: i1):
      %13 = arith.extf %in : f32 to f64
      %14 = arith.cmpf oeq, %13, %cst : f64
      linalg.yield %14 : i1
    } -> tensor<6xi1>
    %12 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]} ins(%11, %4, %8 : tensor<6xi1>, tensor<6xf32>, tensor<6xf32>) outs(%0 : tensor<6xf32>) {
    ^bb0(%in: i1, %in_2: f32, %in_3: f32, %out: f32):
      %13 = arith.select %in, %in_2, %in_3 : f32
      linalg.yield %13 : f32
    } -> tensor<6xf32>
    return %12 : tensor<6xf32>
  }
}
