// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-differentiate

// expected-error@below {{'func.func' op result #0 has type 'tensor<4xf32>', expected one element to differentiate}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op result #0 has type 'tensor<i64>', expected a floating-point type to differentiate}}
func.func @main(%x: tensor<i64>) -> tensor<i64> {
  return %x : tensor<i64>
}

// -----

// expected-error@below {{'func.func' op has no results, expected one to differentiate; run it without its derivative}}
func.func @main(%x: tensor<f32>) {
  return
}

// -----

// expected-error@below {{'func.func' op argument #0 has type 'tensor<?xf32>', expected a tensor of static shape without encoding}}
func.func @main(%x: tensor<?xf32>, %y: tensor<f32>) -> tensor<f32> {
  return %y : tensor<f32>
}

// -----

// expected-error@below {{has no function 'main'}}
module {
}

// -----

func.func private @f(tensor<f32>) -> tensor<f32>
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@below {{'func.call' op has no derivative rule}}
  %y = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  // expected-error@below {{'linalg.generic' op result #0 has no derivative rule: expected a reduction by sum, product, maximum or minimum}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.sin %o : f32
    %1 = arith.addf %0, %i : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  // expected-error@below {{'linalg.generic' op result #0 has no derivative rule: its elements are overwritten, not reduced, by affine_map<(d0) -> ()>; expected a map with each loop as a dimension}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%e : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.sin %i : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%x : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    // expected-error@below {{'arith.scaling_extf' op has no derivative rule}}
    %0 = arith.scaling_extf %i, %i : f32, f32 to f64
    %1 = arith.truncf %0 : f64 to f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// What is off the diagonal is the init's: import separates the two.
func.func @main(%x: tensor<2xf32>, %i: tensor<2x2xf32>) -> tensor<f32> {
  // expected-error@below {{'linalg.generic' op result #0 has no derivative rule: elements that its map does not select are those of the init}}
  %d = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, d0)>], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%i : tensor<2x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%d : tensor<2x2xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// expected-error@below {{'func.func' op argument #0 has type 'memref<4xf32>', expected a tensor of static shape without encoding}}
func.func @main(%x: memref<4xf32>, %y: tensor<f32>) -> tensor<f32> {
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@below {{'bufferization.alloc_tensor' op result #0 has type 'tensor<4xf32, "code">', expected a static shape without encoding}}
  %0 = bufferization.alloc_tensor() : tensor<4xf32, "code">
  return %x : tensor<f32>
}
