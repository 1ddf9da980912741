// Kernels that are convolutions get plans of cuDNN, a stand-in here: not those that are to be generated or that it has no
// algorithm for, and not other kernels. What has plans keeps them.
// RUN: env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="cudnn=true mcpu=sm_80" 2>&1 | FileCheck %s
// RUN: not env LD_LIBRARY_PATH=%build_root/lib remat-opt %s --remat-choose-implementations="cudnn=true mcpu=sm_70" 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: unknown device 'sm_70', expected one of: sm_80, sm_90

// CHECK-DAG: remark: the convolution is generated code: cuDNN does not take a convolution with these types, strides or windows on sm_80

module attributes {remat.target = #remat.target<"cuda">} {

// CHECK-LABEL: func.func private @planned
// CHECK-SAME:  remat.implementation = #remat.implementation<library>
// CHECK-SAME:  remat.plans = [{device = "sm_80", plan = "fake 10 800 2 0 {{[^"]*}}", version = 91900 : i64, workspace = 1016 : i64}]
func.func private @planned(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32> attributes {remat.kernel} {
  %0 = remat.conv forward(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>,
      groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>, filter_layout = array<i64: 0, 1, 2, 3>,
      output_layout = array<i64: 0, 1, 2, 3>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
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
