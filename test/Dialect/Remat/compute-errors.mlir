// RUN: remat-opt %s -verify-diagnostics -split-input-file

func.func @scatter_map_missing(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{has 0 indexing maps, expected one for each of its 1 inputs}}
  %0 = remat.scatter {indexing_maps = [], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_maximum_of_floats(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{has elements of type 'f32', expected integers, of which 'maximum' is}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], maximum, sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_map_of_other_space(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{indexing map 0 has 2 dimensions and 0 symbols, expected 1 and 0}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0, d1) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_map_of_other_rank(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{indexing map 0 has 2 results, expected the rank 1 of the input}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0, d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_without_coordinate(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{body has 1 arguments, expected 1 coordinates and 1 elements}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%v: f32):
    %c0 = arith.constant 0 : index
    remat.yield %c0, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_yields_no_index(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{body must yield 1 indices and an update}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %v : f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_yields_narrower_type(%g: tensor<4xf32>, %z: tensor<8xf64>) {
  // expected-error @+1 {{body yields an update of type 'f32', expected 'f64' or a wider float}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf64>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf64>
  return
}

// -----

func.func @scatter_yields_other_type(%g: tensor<4xi64>, %z: tensor<8xi32>) {
  // expected-error @+1 {{body yields an update of type 'i64', expected 'i32'}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xi64>) outs(%z : tensor<8xi32>) {
  ^bb0(%p: index, %v: i64):
    remat.yield %p, %v : index, i64
  } -> tensor<8xi32>
  return
}

// -----

func.func @scatter_result_of_other_type(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<9xf32>', expected the type of 'outs' 'tensor<8xf32>'}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<9xf32>
  return
}

// -----

func.func @conv_spatial_size(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{output size of a spatial dimension is 8, expected 16}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32>
  return
}

// -----

func.func @conv_features(%x: tensor<8x3x16x16xf32>, %w: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{input features is 3, expected 2}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x2x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_layout(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{'filter_layout' must be a permutation of 4 dimensions}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 1, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_negative_stride(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{strides, dilations and groups must be positive}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: -1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_counts(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{expected as many 'dilations' as 'strides' and twice as many 'padding', got 2, 2 and 2}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<8x4x16x16xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error @+1 {{has 3 output features, expected a multiple of 2 groups}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 2 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x4x16x16xf32>, tensor<3x2x3x3xf32>) -> tensor<8x3x16x16xf32>
  return
}

// -----

func.func @conv_dynamic(%x: tensor<?x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{needs numbers and static shapes, got 'tensor<?x3x16x16xf32>'}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<?x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_negative_padding(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{padding must not be negative}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: -1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_huge_padding(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{strides, dilations, padding and groups must be at most 2147483648}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 4294967296, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<8x3x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{has a factor of type 'tensor<8x3x16xf32>', expected rank 4 for 2 spatial dimensions}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x16x16xf32>
  return
}

// -----

func.func @conv_batch(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{output batch is 7, expected 8}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<7x4x16x16xf32>
  return
}

// -----

func.func @conv_output_features(%x: tensor<8x3x16x16xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{output features is 5, expected 4}}
  %y = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      padding = array<i64: 1, 1, 1, 1>, groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
      filter_layout = array<i64: 0, 1, 2, 3>, output_layout = array<i64: 0, 1, 2, 3>}
      : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x5x16x16xf32>
  return
}

// -----

func.func @scatter_negative_size(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{sizes must not be negative}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: -4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_size(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{input 0 has size 4 in dimension 0, expected the size 1 of loop 0}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 1>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

// The first and the last point are in the tensor, those between are not.
func.func @scatter_leaves_input(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{input 0 has size 4 in dimension 0, but is accessed at 'd0 mod 5', from 0 to 4}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0 mod 5)>], sizes = array<i64: 7>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

// Dimensions that occur twice: bounds of each by itself would be too wide. A
// loop without points accesses nothing.
func.func @scatter_stays_in_input(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0 - (d0 mod 3))>], sizes = array<i64: 6>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  %1 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0 + 9)>], sizes = array<i64: 0>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_coordinate_type(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{body argument 0 is a coordinate, expected type 'index', got 'i64'}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: i64, %v: f32):
    %c0 = arith.constant 0 : index
    remat.yield %c0, %v : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_element_type(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{body argument 1 has type 'f64', expected 'f32'}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f64):
    %c = arith.constant 0.0 : f32
    remat.yield %p, %c : index, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_index_type(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{body yields an index of type 'i64', expected 'index'}}
  %0 = remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    %i = arith.index_cast %p : index to i64
    remat.yield %i, %v : i64, f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @scatter_without_result(%g: tensor<4xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{on tensors must have a result}}
  remat.scatter {indexing_maps = [affine_map<(d0) -> (d0)>], sizes = array<i64: 4>} ins(%g : tensor<4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%p: index, %v: f32):
    remat.yield %p, %v : index, f32
  }
  return
}

// -----

func.func @order_without_keys() -> tensor<4xi64> {
  // expected-error @+1 {{has no keys, expected one or more}}
  %0 = "remat.order"() {dimension = 0 : i64} : () -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @order_along_none(%k: tensor<4xi32>) -> tensor<4xi64> {
  // expected-error @+1 {{has dimension 1, expected less than the rank 1}}
  %0 = remat.order %k along 1 : tensor<4xi32> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @order_of_other_shapes(%a: tensor<4xi32>, %b: tensor<5xi32>) -> tensor<4xi64> {
  // expected-error @+1 {{has a key of type 'tensor<5xi32>', expected the shape of 'tensor<4xi32>'}}
  %0 = remat.order %a, %b along 0 : tensor<4xi32>, tensor<5xi32> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @order_of_wide_keys(%k: tensor<4xi128>) -> tensor<4xi64> {
  // expected-error @+1 {{has a key of type 'tensor<4xi128>', expected integers of at most 64 bits}}
  %0 = remat.order %k along 0 : tensor<4xi128> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @order_of_more(%k: tensor<4x2xi32>) -> tensor<5x2xi64> {
  // expected-error @+1 {{has a result of type 'tensor<5x2xi64>', expected the shape of 'tensor<4x2xi32>', or less along dimension 0}}
  %0 = remat.order %k along 0 : tensor<4x2xi32> -> tensor<5x2xi64>
  return %0 : tensor<5x2xi64>
}
