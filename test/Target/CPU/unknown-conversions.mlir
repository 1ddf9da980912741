// RUN: remat-compile %s --no-gradients --emit=code -o - | FileCheck %s

// LLVM has no value for the integer that nan is converted to. As this argument
// is known, nothing of the result would be stored.
// CHECK: %[[INTEGER:.*]] = llvm.fptosi {{.*}} : f32 to i32
// CHECK-NEXT: llvm.freeze %[[INTEGER]] : i32
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %empty = tensor.empty() : tensor<5xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%x : tensor<5xf32>)
      outs(%empty : tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %nan = arith.constant 0x7FC00000 : f32
    %product = arith.mulf %a, %nan : f32
    %integer = arith.fptosi %product : f32 to i32
    %float = arith.sitofp %integer : i32 to f32
    linalg.yield %float : f32
  } -> tensor<5xf32>
  return %y : tensor<5xf32>
}
