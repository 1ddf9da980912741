// Values whose rows do not begin at multiples of 16 bytes get gaps behind rows where a matmul or a kernel of rows has to
// do with them, if the target wants that: 321 elements of bf16 take 656 bytes then. Kernels read and write slices.

// RUN: remat-opt %s --split-input-file --remat-set-target=target=cuda --remat-form-tasks=function=main --remat-pad-rows | FileCheck %s
// RUN: remat-opt %s --split-input-file --remat-set-target=target=cpu --remat-form-tasks=function=main --remat-pad-rows | FileCheck %s --check-prefix=CPU
// CPU-NOT: x328x
// CPU-NOT: x324x

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#bt = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
// The rows of a softmax as well, which are overwritten: the same gaps are in both values. What the caller gives and
// gets has none.
// CHECK-LABEL: remat.graph @main
// CHECK:         %[[L:.*]] = remat.task 0 @[[LOGITS:.*]](%arg0, %arg1) : {{.*}} -> tensor<128x328xbf16>
// CHECK:         %[[S:.*]] = remat.task 1 @[[SOFTMAX:.*]](%[[L]]) : (tensor<128x328xbf16>) -> tensor<128x328xbf16>
// CHECK:         remat.task 2 @[[BACK:.*]](%[[S]], %arg1) : (tensor<128x328xbf16>, tensor<321x64xbf16>) -> tensor<128x64xbf16>
// CHECK:       func.func private @[[LOGITS]]
// CHECK:         linalg.contract {{.*}} -> tensor<128x321xbf16>
// CHECK:         tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [128, 321] [1, 1]
// CHECK:       func.func private @[[SOFTMAX]]
// CHECK:         tensor.extract_slice %arg0[0, 0] [128, 321] [1, 1]
// CHECK:       func.func private @[[BACK]]
// CHECK:         tensor.extract_slice %arg0[0, 0] [128, 321] [1, 1]
func.func @main(%x: tensor<128x64xbf16>, %w: tensor<321x64xbf16>) -> tensor<128x64xbf16> {
  %zl = arith.constant dense<0.0> : tensor<128x321xbf16>
  %zx = arith.constant dense<0.0> : tensor<128x64xbf16>
  %zs = arith.constant dense<0.0> : tensor<128xf32>
  %e = tensor.empty() : tensor<128x321xbf16>
  %l = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<128x64xbf16>, tensor<321x64xbf16>) outs(%zl : tensor<128x321xbf16>) -> tensor<128x321xbf16>
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%l : tensor<128x321xbf16>) outs(%zs : tensor<128xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<128xf32>
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%l, %s : tensor<128x321xbf16>, tensor<128xf32>) outs(%e : tensor<128x321xbf16>) {
  ^bb0(%in: bf16, %sum: f32, %out: bf16):
    %0 = arith.extf %in : bf16 to f32
    %1 = math.exp %0 : f32
    %2 = arith.divf %1, %sum : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<128x321xbf16>
  %dx = linalg.contract indexing_maps = [#a, #bt, #c] ins(%p, %w : tensor<128x321xbf16>, tensor<321x64xbf16>) outs(%zx : tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %dx : tensor<128x64xbf16>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
#ij = affine_map<(i, j) -> (i, j)>
// A result of the step stays as it is, and so does what is read across rows.
// CHECK-LABEL: remat.graph @main
// CHECK-NOT:     x324x
// CHECK:         remat.return
func.func @main(%x: tensor<128x64xf32>, %w: tensor<321x64xf32>) -> (tensor<128x321xf32>, tensor<41088xf32>) {
  %zl = arith.constant dense<0.0> : tensor<128x321xf32>
  %e = tensor.empty() : tensor<41088xf32>
  %l = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<128x64xf32>, tensor<321x64xf32>) outs(%zl : tensor<128x321xf32>) -> tensor<128x321xf32>
  %v = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<128x64xf32>, tensor<321x64xf32>) outs(%l : tensor<128x321xf32>) -> tensor<128x321xf32>
  %flat = tensor.collapse_shape %v [[0, 1]] : tensor<128x321xf32> into tensor<41088xf32>
  %n = linalg.exp ins(%flat : tensor<41088xf32>) outs(%e : tensor<41088xf32>) -> tensor<41088xf32>
  return %l, %n : tensor<128x321xf32>, tensor<41088xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
#ij = affine_map<(i, j) -> (i, j)>
// A result of the step is written over what it is made of, which has its rows, so that the arena has neither.
// CHECK-LABEL: remat.graph @main
// CHECK:         %[[L:.*]] = remat.task 0 @matmul{{.*}} -> tensor<128x321xf32>
// CHECK:         remat.task 1 @{{.*}}(%[[L]]) : (tensor<128x321xf32>) -> tensor<128x321xf32>
func.func @main(%x: tensor<128x64xf32>, %w: tensor<321x64xf32>) -> tensor<128x321xf32> {
  %zl = arith.constant dense<0.0> : tensor<128x321xf32>
  %e = tensor.empty() : tensor<128x321xf32>
  %l = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<128x64xf32>, tensor<321x64xf32>) outs(%zl : tensor<128x321xf32>) -> tensor<128x321xf32>
  %n = linalg.exp ins(%l : tensor<128x321xf32>) outs(%e : tensor<128x321xf32>) -> tensor<128x321xf32>
  return %n : tensor<128x321xf32>
}
