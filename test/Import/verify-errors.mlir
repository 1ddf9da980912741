// RUN: remat-opt %s --remat-import-verify -verify-diagnostics -split-input-file

func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' op is not supported}}
  %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%y = %x) -> (tensor<4xf32>) {
    scf.yield %y : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @body(%x: tensor<4xf32>, %p: tensor<4xi1>) -> tensor<4xf32> {
  %init = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}
      ins(%x, %p : tensor<4xf32>, tensor<4xi1>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %c: i1, %out: f32):
    // expected-error @+1 {{'scf.if' op is not supported in the body of 'linalg.generic'}}
    %r = scf.if %c -> (f32) {
      scf.yield %in : f32
    } else {
      scf.yield %in : f32
    }
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    // expected-error@+1 {{has a value of type 'f8E5M2', whose elements remat does not compute with, expected f16, bf16, f32 or f64}}
    %1 = arith.truncf %a : f32 to f8E5M2
    // expected-error@+1 {{has a value of type 'f8E5M2'}}
    %2 = arith.extf %1 : f8E5M2 to f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<4xf16> {
  %empty = tensor.empty() : tensor<4xf16>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %i : tensor<4xf32>, tensor<4xi32>) outs(%empty : tensor<4xf16>) {
  ^bb0(%a: f32, %b: i32, %c: f16):
    // expected-error@+1 {{'math.ipowi' op is not supported in the body of 'linalg.generic'}}
    %1 = math.ipowi %b, %b : i32
    // expected-error@+1 {{'arith.truncf' op rounds 'downward', expected 'to_nearest_even'}}
    %2 = arith.truncf %a downward : f32 to f16
    linalg.yield %2 : f16
  } -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// What is there for it alone is not refused, too.
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %number = tensor.extract %n[] : tensor<i64>
  %count = arith.index_cast %number : i64 to index
  // expected-error@+1 {{'tensor.from_elements' op is not supported, expected an operation of linalg or tensor}}
  %shape = tensor.from_elements %count : tensor<1xindex>
  return %x : tensor<4xf32>
}
