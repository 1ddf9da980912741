// RUN: remat-opt %s --remat-import-loops --remat-import-slices -verify-diagnostics -split-input-file

// The last iteration takes a row that is not there.
func.func @extract(%x: tensor<3x4xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %init) -> (tensor<4xf32>) {
    // expected-error @+1 {{has offset 3 in dimension 0, of size 3, where its 1 elements leave the tensor}}
    %s = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %v = linalg.exp ins(%s : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A place outside of the tensor would write nothing.
func.func @insert(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<3xf32> {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{has offset 2 in dimension 0, of size 3, where its 2 elements leave the tensor}}
  %s = tensor.insert_slice %y into %x[%c2] [2] [1] : tensor<2xf32> into tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

// The second element would be before the first one of the tensor.
func.func @backwards(%x: tensor<3xf32>) -> tensor<2xf32> {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{has offset 1 in dimension 0, of size 3, where its 2 elements leave the tensor}}
  %s = tensor.extract_slice %x[%c1] [2] [-2] : tensor<3xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

func.func @repeated(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{has stride 0 in dimension 0, where its 2 elements would be written to one place, expected another one}}
  %s = tensor.insert_slice %y into %x[0] [2] [0] : tensor<2xf32> into tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

// Three elements would be 2^64 - 2 apart, which is -2 in 64 bits.
func.func @wraps(%x: tensor<8xf32>, %i: index) -> tensor<3xf32> {
  // expected-error @+1 {{has stride 9223372036854775807 in dimension 0, of size 8, where its 3 elements leave the tensor}}
  %s = tensor.extract_slice %x[%i] [3] [9223372036854775807] : tensor<8xf32> to tensor<3xf32>
  return %s : tensor<3xf32>
}
