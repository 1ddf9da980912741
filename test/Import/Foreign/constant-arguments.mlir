// RUN: remat-opt %s --remat-import-foreign | FileCheck %s

// An argument that all calls give the same constant is that constant, however
// many calls there are of functions that call each other.

// CHECK-LABEL: func.func private @f0
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[1] [4] [1]
func.func private @f0(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.dynamic_slice"(%x, %i) <{slice_sizes = array<i64: 4>}> : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  return %x : tensor<8xf32>
}
func.func private @f1(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f0(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f0(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f2(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f1(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f1(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f3(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f2(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f2(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f4(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f3(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f3(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f5(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f4(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f4(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f6(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f5(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f5(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f7(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f6(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f6(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f8(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f7(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f7(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f9(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f8(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f8(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f10(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f9(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f9(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f11(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f10(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f10(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f12(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f11(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f11(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f13(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f12(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f12(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f14(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f13(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f13(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f15(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f14(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f14(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f16(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f15(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f15(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f17(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f16(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f16(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f18(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f17(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f17(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f19(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f18(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f18(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f20(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f19(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f19(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f21(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f20(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f20(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f22(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f21(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f21(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f23(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f22(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f22(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f24(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f23(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f23(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f25(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f24(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f24(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f26(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f25(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f25(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f27(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f26(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f26(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f28(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f27(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f27(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f29(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f28(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f28(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f30(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f29(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f29(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f31(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f30(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f30(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f32(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f31(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f31(%i, %0) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %0 = func.call @f32(%c, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// That of a function that calls itself is not known.

// CHECK-LABEL: func.func private @again
// CHECK:         tensor.extract_slice %{{.*}}[%{{.*}}] [4] [1]
func.func private @again(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.dynamic_slice"(%x, %i) <{slice_sizes = array<i64: 4>}> : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  %1 = func.call @again(%i, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @start(%x: tensor<8xf32>) -> tensor<4xf32> {
  %c = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %0 = func.call @again(%c, %x) : (tensor<i32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
