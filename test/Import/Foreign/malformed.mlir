// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-import-foreign

// Nothing has verified operations of dialects without a definition.

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.add' op has 1 operands, expected 2}}
  %0 = "stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.pad' op has 1 operands, expected 2}}
  %0 = "stablehlo.pad"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: f32) -> f32 {
  // expected-error@+1 {{'stablehlo.exponential' op expected tensors, got a value of type 'f32'}}
  %0 = "stablehlo.exponential"(%x) : (f32) -> f32
  return %0 : f32
}

// -----

func.func @main(%x: tensor<?xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{dynamic shape is not supported: 'tensor<?xf32>'}}
  %0 = "stablehlo.reshape"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.scatter' op has dimension numbers that do not fit its types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [3], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %i: tensor<2x1xi32>) -> tensor<2x1xf32> {
  // expected-error@+1 {{'stablehlo.gather' op has dimension numbers that do not fit its types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2x1xf32>
  %1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  // expected-error@+1 {{'stablehlo.while' op has a condition that returns (), expected (tensor<i1>)}}
  %0:2 = "stablehlo.while"(%c, %x) ({
  ^bb0(%i: tensor<i32>, %y: tensor<4xf32>):
    "stablehlo.return"() : () -> ()
  }, {
  ^bb0(%i: tensor<i32>, %y: tensor<4xf32>):
    "stablehlo.return"(%i, %y) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32> {
  // expected-error@+1 {{'stablehlo.convolution' op has feature_group_count 1 and batch_group_count 0, expected divisors of the 2 and 2 features and of the batch of 2}}
  %0 = "stablehlo.convolution"(%y, %y) <{batch_group_count = 0 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, padding = dense<0> : tensor<2x2xi64>}> : (tensor<2x2x2x2xf32>, tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32>
  return %0 : tensor<2x2x2x2xf32>
}

// -----

func.func @main(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  // expected-error@+1 {{'stablehlo.constant' op has a value of type 'tensor<3xf32>', expected that of the result, 'tensor<4xf32>'}}
  %0 = "stablehlo.constant"() <{value = dense<[1.0,2.0,3.0]> : tensor<3xf32>}> : () -> tensor<4xf32>
  return %x : tensor<3x1xf32>
}

// -----

func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.dot_general' op has a result of type 'tensor<4xf32>', expected one of shape [4, 4]}}
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op repeats dimensions of size 4 as 2, expected dimensions of size 1}}
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{'stablehlo.exponential' op has a result of type 'tensor<5xf32>', expected one of shape [4]}}
  %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  %1 = "stablehlo.negate"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %z = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // expected-error@+1 {{'stablehlo.select_and_scatter' op combines by something else than an addition, which is not supported}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.multiply"(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.add"(%1, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%2) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Operands, regions and results that do not fit.

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf64>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.add' op has an operand 1 of type 'tensor<4xf64>', expected that of the first, 'tensor<4xf32>'}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf64> {
  // expected-error@+1 {{'stablehlo.negate' op has a result of type 'tensor<4xf64>', expected what it makes of its operands, which is 'tensor<4xf32>'}}
  %0 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.popcnt' op is not supported for elements of type 'f32'}}
  %0 = "stablehlo.popcnt"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xindex>) -> tensor<4xindex> {
  // expected-error@+1 {{'stablehlo.negate' op is not supported for elements of type 'index'}}
  %0 = "stablehlo.negate"(%x) : (tensor<4xindex>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{'stablehlo.reshape' op from 'tensor<4xf32>' to 'tensor<5xf32>' does not keep all elements}}
  %0 = "stablehlo.reshape"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'stablehlo.slice' op takes a slice that is not part of 'tensor<4xf32>'}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 2>, limit_indices = array<i64: 5>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.pad' op has a result of type 'tensor<4xf32>', expected one of shape [5]}}
  %0 = "stablehlo.pad"(%x, %z) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<7xf32> {
  // expected-error@+1 {{'stablehlo.concatenate' op has operands of 8 in dimension 0, expected those of the result, 7}}
  %0 = "stablehlo.concatenate"(%x, %y) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @main(%x: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  // expected-error@+1 {{'stablehlo.reduce' op has a region that returns (), expected ('f32')}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  // expected-error@+1 {{'stablehlo.reduce' op has a region with arguments ('f64', 'f64'), expected ('f32', 'f32')}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    "stablehlo.return"(%a) : (tensor<f64>) -> ()
  }) : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<2xi32> {
  // expected-error@+1 {{'stablehlo.reduce' op has an operand of type 'tensor<4x2xf32>', expected elements of type 'i32'}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    "stablehlo.return"(%a) : (tensor<i32>) -> ()
  }) : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    // expected-error@+1 {{'stablehlo.negate' op reads a value that is not made before it}}
    %1 = "stablehlo.negate"(%1) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.sort' op expected regions of one block}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.if' op has a branch that returns (), expected ('tensor<4xf32>')}}
  %0 = "stablehlo.if"(%p) ({
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    "stablehlo.return"() : () -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.reduce_precision' op to 0 exponent and 3 mantissa bits is not supported, expected at least 1 and 0}}
  %0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 0 : i32, mantissa_bits = 3 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.reduce_window' op expected windows whose sizes, strides and dilations are at least 1}}
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 4>, window_strides = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>, %i: tensor<1x1xi32>, %u: tensor<1x9xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'stablehlo.scatter' op has updates of type 'tensor<1x9xf32>', which are larger than 'tensor<4x8xf32>'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<1x1xi32>, tensor<1x9xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op has 2 operands, expected 1}}
  %0 = "stablehlo.custom_call"(%x, %x) <{call_target_name = "mhlo.erf"}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tm_tensor.scan' op has outputs of types 'tensor<3xf32>' and 'tensor<3xf32>', expected 'tensor<4xf32>' and 'tensor<f32>'}}
  %0:2 = "tm_tensor.scan"(%x, %y, %y) <{dimension = 0 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    "tm_tensor.yield"(%1) : (f32) -> ()
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<1x4x2xcomplex<f32>>, %y: tensor<2x2x3xcomplex<f32>>) -> tensor<1x3x3xcomplex<f32>> {
  // expected-error@+1 {{'stablehlo.convolution' op is not supported for elements of type 'complex<f32>'}}
  %0 = "stablehlo.convolution"(%x, %y) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, padding = dense<0> : tensor<1x2xi64>}> : (tensor<1x4x2xcomplex<f32>>, tensor<2x2x3xcomplex<f32>>) -> tensor<1x3x3xcomplex<f32>>
  return %0 : tensor<1x3x3xcomplex<f32>>
}

// -----

func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'stablehlo.cholesky' op of 'tensor<2x3xf32>' is not supported, expected square matrices of floating-point numbers}}
  %0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @main(%a: tensor<600x600xf32>) -> tensor<600x600xf32> {
  // expected-error@+1 {{'stablehlo.cholesky' op of matrices with 600 rows is not supported, expected at most 512}}
  %0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<600x600xf32>) -> tensor<600x600xf32>
  return %0 : tensor<600x600xf32>
}

// -----

func.func @main(%a: tensor<2x2xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{'stablehlo.triangular_solve' op has the matrices 'tensor<2x2xf32>' and 'tensor<3x2xf32>', which do not fit}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// An integer is no flag.
func.func @flag(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'stablehlo.triangular_solve' op has 'lower' 1 : i64, expected true or false}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = 1, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'stablehlo.triangular_solve' op has 'transpose_a' SIDEWAYS, expected NO_TRANSPOSE, TRANSPOSE or ADJOINT}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose SIDEWAYS>} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-error@+1 {{'stablehlo.fft' op has 'fft_type' SIDEWAYS, expected FFT, IFFT, RFFT or IRFFT}}
  %0 = "stablehlo.fft"(%a) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type SIDEWAYS>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  // expected-error@+1 {{'stablehlo.fft' op of 'tensor<4xf32>' is not supported, expected complex numbers of f32 or f64}}
  %0 = "stablehlo.fft"(%a) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<7xf32> {
  // expected-error@+1 {{'stablehlo.fft' op has an operand of type 'tensor<4xcomplex<f32>>', expected one of shape [5] for the lengths [8]}}
  %0 = "stablehlo.fft"(%a) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<4xcomplex<f32>>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @main(%a: tensor<600x2xf32>) -> (tensor<600x2xf32>, tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op of matrices of 600 by 2 elements is not supported, expected at most 512 rows and columns}}
  %0:2 = "stablehlo.custom_call"(%a) <{call_target_name = "lapack_sgeqrf_ffi"}> : (tensor<600x2xf32>) -> (tensor<600x2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<600x2xf32>, tensor<2xf32>
}

// -----

func.func @main(%a: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op of 'tensor<3x2xf32>' is not supported, expected square matrices of f32 or f64}}
  %0:2 = "stablehlo.custom_call"(%a) <{call_target_name = "lapack_ssyevd_ffi"}> : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<3x2xf32>, tensor<2xf32>
}

// -----

func.func @main(%a: tensor<3x2xf32>, %t: tensor<3xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op has reflectors of type 'tensor<3x2xf32>' and factors of type 'tensor<3xf32>', which do not fit}}
  %0 = "stablehlo.custom_call"(%a, %t) <{call_target_name = "lapack_sorgqr_ffi"}> : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @main(%q: tensor<2x3x5xf32>, %k: tensor<2x4x6xf32>, %v: tensor<2x4x2xf32>, %o: tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
  // expected-error@+1 {{'tm_tensor.attention' op has a query of type 'tensor<2x3x5xf32>', a key of type 'tensor<2x4x6xf32>' and a value of type 'tensor<2x4x2xf32>', expected floating-point numbers of shapes}}
  %0 = "tm_tensor.attention"(%q, %k, %v, %o) : (tensor<2x3x5xf32>, tensor<2x4x6xf32>, tensor<2x4x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  return %0 : tensor<2x3x2xf32>
}

// -----

func.func @main(%q: tensor<2x3x5xf32>, %v: tensor<2x3x2xf32>, %m: tensor<2x3xf32>) -> tensor<2x3x2xf32> {
  // expected-error@+1 {{'tm_tensor.attention' op has a mask of type 'tensor<2x3xf32>', expected truth values, or numbers as those of the query, of shape [2, 3, 3] or of its last dimensions}}
  %0 = "tm_tensor.attention"(%q, %q, %v, %m, %v) : (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3x2xf32>, tensor<2x3xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  return %0 : tensor<2x3x2xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.convert' op is not supported for elements of type 'f8E4M3FN', expected f16, bf16, f32 or f64; 'stablehlo.reduce_precision' (jax.lax.reduce_precision) rounds to fewer bits}}
  %0 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %1 = "stablehlo.convert"(%0) : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'chlo.zeta' op is not supported: remat knows most operations of CHLO that JAX writes; 'remat.jax.export' knows the others, too}}
  %0 = "chlo.zeta"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// So much is cut off and padded that sums of 64 bits wrap around.
func.func @main(%x: tensor<5xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.pad' op spreads 5 elements that become 1 apart, and pads them by -9223372036854775808 and 9223372036854775807, expected at most 281474976710656 elements of each}}
  %0 = "stablehlo.pad"(%x, %z) <{edge_padding_low = array<i64: -9223372036854775808>, edge_padding_high = array<i64: 9223372036854775807>, interior_padding = array<i64: 0>}> : (tensor<5xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<5xf32>, %z: tensor<f32>) -> tensor<1xf32> {
  // expected-error@+1 {{'stablehlo.pad' op spreads 5 elements that become 4611686018427387904 apart, and pads them by 0 and 0}}
  %0 = "stablehlo.pad"(%x, %z) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 4611686018427387903>}> : (tensor<5xf32>, tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @main(%x: tensor<5xf32>, %z: tensor<f32>) -> tensor<5xf32> {
  // expected-error@+1 {{'stablehlo.reduce_window' op has a result of type 'tensor<5xf32>', expected one of shape [0]}}
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 5>, window_dilations = array<i64: 4611686018427387904>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @main(%x: tensor<1x1x5xf32>, %w: tensor<1x1x5xf32>) -> tensor<1x1x5xf32> {
  // expected-error@+1 {{'stablehlo.convolution' op has a result of type 'tensor<1x1x5xf32>', expected one of shape [1, 1, 0]}}
  %0 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 4611686018427387904>}> : (tensor<1x1x5xf32>, tensor<1x1x5xf32>) -> tensor<1x1x5xf32>
  return %0 : tensor<1x1x5xf32>
}

// -----

func.func @main(%x: tensor<2147483647xcomplex<f32>>) -> tensor<2147483647xcomplex<f32>> {
  // expected-error@+1 {{'stablehlo.fft' op has a length of 2147483647, for which 4294967296 factors are stored, expected at most 67108864}}
  %0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 2147483647>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<2147483647xcomplex<f32>>) -> tensor<2147483647xcomplex<f32>>
  return %0 : tensor<2147483647xcomplex<f32>>
}

// -----

// A slice of nothing may begin behind the end, where there is no element.
func.func @main(%x: tensor<4xf32>, %i: tensor<3x1xi64>) -> tensor<3xf32> {
  // expected-error@+1 {{'stablehlo.gather' op takes slices of 0 in dimension 0 of 'tensor<4xf32>'}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 0>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
