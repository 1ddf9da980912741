// RUN: %python %S/Inputs/check.py remat-run %s

// A logaddexp of infinities has no second derivative.
// wrt: 0,1
// tolerance: 1e-06
// arg0: f32 5 = -8.47837353 -1.76582587 -4.32280445 -2.40045595 -7.9505868
// arg1: f32 5 = 3.61160517 -8.06764698 -0.573493838 3.12851048 -3.03368473
// arg2: i1 5 = 1 1 0 1 0
// arg3: i1 5 = 0 0 1 1 1
// cotangent0: f32 5 = 1.1875 -0.828125 -0.609375 0.921875 -0.546875
// tangent0: f32 5 = 0.515625 0.609375 -0.546875 -1.15625 -1.03125
// tangent1: f32 5 = -1.046875 -1.15625 -0.421875 -0.640625 0.59375
// result0: f32 5 = -8.47837353 -1.76582587 -0.573493838 3.13247271 -3.03368473
// vjp0: f32 5 = 1.1875 -0.828125 0 0.00364545426 0
// vjp1: f32 5 = 0 0 -0.609375 0.918229546 -0.546875
// jvp0: f32 5 = 0.515625 0.609375 -0.421875 -0.642663983 0.59375
// hvp0: f32 5 = nan nan 0 -0.00187225433 0
// hvp1: f32 5 = 0 0 nan 0.00187225433 nan

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>, %arg2: tensor<5xi1>, %arg3: tensor<5xi1>) -> tensor<5xf32> {
    %cst = arith.constant 0x7FF0000000000000 : f64
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %0 = tensor.empty() : tensor<5xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map1, #map], iterator_types = ["parallel"]} ins(%arg2, %arg0, %cst_0 : tensor<5xi1>, tensor<5xf32>, tensor<f32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32):
      %14 = arith.select %in, %in_1, %in_2 : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map, #map1, #map], iterator_types = ["parallel"]} ins(%arg3, %arg1, %cst_0 : tensor<5xi1>, tensor<5xf32>, tensor<f32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32):
      %14 = arith.select %in, %in_1, %in_2 : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%1, %2 : tensor<5xf32>, tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %14 = arith.subf %in, %in_1 : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%3 : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %14 = math.absf %in : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%4 : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %14 = arith.negf %in : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%1, %2 : tensor<5xf32>, tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %14 = arith.cmpf ogt, %in, %in_1 : f32
      %15 = arith.select %14, %in, %in_1 : f32
      linalg.yield %15 : f32
    } -> tensor<5xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%5 : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %14 = math.exp %in : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%7 : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %14 = math.log1p %in : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%6, %8 : tensor<5xf32>, tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %14 = arith.addf %in, %in_1 : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%6 : tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %14 = math.absf %in : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    %11 = tensor.empty() : tensor<5xi1>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%10 : tensor<5xf32>) outs(%11 : tensor<5xi1>) {
    ^bb0(%in: f32, %out: i1):
      %14 = arith.extf %in : f32 to f64
      %15 = arith.cmpf oeq, %14, %cst : f64
      linalg.yield %15 : i1
    } -> tensor<5xi1>
    %13 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]} ins(%12, %6, %9 : tensor<5xi1>, tensor<5xf32>, tensor<5xf32>) outs(%0 : tensor<5xf32>) {
    ^bb0(%in: i1, %in_1: f32, %in_2: f32, %out: f32):
      %14 = arith.select %in, %in_1, %in_2 : f32
      linalg.yield %14 : f32
    } -> tensor<5xf32>
    return %13 : tensor<5xf32>
  }
}
