// Kernels that are convolutions get plans of cuDNN, a stand-in here: not those that are to be generated or that it has no
// algorithm for, and not other kernels. What has plans keeps them.
// RUN: env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="convolutions=cudnn mcpu=sm_80" 2>&1 | FileCheck %s
// RUN: not env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="convolutions=cudnn mcpu=sm_70" 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: unknown device 'sm_70', expected one of: sm_80, sm_90


// Left to choose, the pass takes plans where they are estimated to be faster than generated code, which is made, too. What
// they have in their workspace is written and read. The simulator has no libraries.
// RUN: env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="convolutions=auto mcpu=sm_80" 2>/dev/null | FileCheck %s --check-prefix=AUTO
// RUN: env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="convolutions=auto device=sim" 2>&1 | FileCheck %s --check-prefix=SIMULATOR
// SIMULATOR-NOT: fake
// A choice that was made stays.
// RUN: env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="convolutions=auto mcpu=sm_80" --remat-choose-implementations 2>/dev/null | FileCheck %s --check-prefix=AUTO

// CHECK-DAG: remark: the convolution is generated code: cuDNN does not take a convolution with these types, strides or windows on sm_80

module attributes {remat.target = #remat.target<"cuda">} {

// 72 operations are not worth 1016 bytes of workspace, but the algorithm without any.
// AUTO-LABEL: func.func private @planned
// AUTO-SAME:  remat.implementation = #remat.implementation<either>
// AUTO-SAME:  remat.plans = [{device = "sm_80", plan = "fake 10 800 3 0
// CHECK-LABEL: func.func private @planned
// CHECK-SAME:  remat.implementation = #remat.implementation<library>
// CHECK-SAME:  remat.plans = [{device = "sm_80", plan = "fake 10 800 2 0 {{[^"]*}}", version = 91900 : i64, workspace = 1016 : i64}]
func.func private @planned(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32> attributes {remat.kernel} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// 1152 operations are worth 1064 bytes, as generated code is slow.
// AUTO-LABEL: func.func private @worth
// AUTO-SAME:  remat.implementation = #remat.implementation<either>
// AUTO-SAME:  remat.plans = [{device = "sm_80", plan = "fake 10 800 2 0
// CHECK-LABEL: func.func private @worth
// CHECK-SAME:  remat.implementation = #remat.implementation<library>
func.func private @worth(%x: tensor<1x4x6x6xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<1x1x4x4xf32> attributes {remat.kernel} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x4x6x6xf32>, tensor<1x4x3x3xf32>) -> tensor<1x1x4x4xf32>
  return %0 : tensor<1x1x4x4xf32>
}

// The call has the operands in another order than the code.
// AUTO-LABEL: func.func private @exchanged
// AUTO-SAME:  remat.implementation = #remat.implementation<generated>
func.func private @exchanged(%w: tensor<8x96x3x3xf32>, %x: tensor<1x96x18x18xf32>) -> tensor<1x8x16x16xf32> attributes {remat.kernel} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x96x18x18xf32>, tensor<8x96x3x3xf32>) -> tensor<1x8x16x16xf32>
  return %0 : tensor<1x8x16x16xf32>
}

// CHECK-LABEL: func.func private @generated
// CHECK-NOT:   remat.plans
func.func private @generated(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
    attributes {remat.kernel, remat.implementation = #remat.implementation<generated>} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// It has no elements.
// CHECK-LABEL: func.func private @empty
// CHECK-NOT:   remat.plans
func.func private @empty(%x: tensor<1x1x4x0xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x2x1xf32> attributes {remat.kernel} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 2, 1>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x1x4x0xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x1xf32>
  return %0 : tensor<1x1x2x1xf32>
}

// Nor the workspace of a plan that is there.
// CHECK-LABEL: func.func private @costly
// AUTO-LABEL: func.func private @costly
// AUTO-SAME:  remat.implementation = #remat.implementation<generated>
func.func private @costly(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
    attributes {remat.kernel, remat.plans = [{device = "sm_80", plan = "mine", version = 1 : i64, workspace = 1016 : i64}]} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// CHECK-LABEL: func.func private @kept
// CHECK-SAME:  remat.plans = [{device = "sm_90", plan = "mine", version = 1 : i64, workspace = 0 : i64}]
func.func private @kept(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
    attributes {remat.kernel, remat.plans = [{device = "sm_90", plan = "mine", version = 1 : i64, workspace = 0 : i64}]} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// CHECK-LABEL: func.func private @sum
// CHECK-NOT:   remat.plans
func.func private @sum(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

}
