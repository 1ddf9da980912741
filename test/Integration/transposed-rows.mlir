// As many rows of one kind as of another: sums over images' rows are written in
// columns, which the next sum reads as its rows. They are no rows of one kernel.

// RUN: rm -rf %t.in %t.out %t.ref
// RUN: remat-reference random %s %t.in
// RUN: remat-reference run %s %t.in %t.ref
// RUN: remat-run %s --inputs=%t.in --outputs=%t.out --emit=forward --poison
// RUN: remat-reference compare '%t.ref/result*.npy' '%t.out/result*.npy' 1e-5
// RUN: remat-compile %s --no-gradients --emit=tasks -o - | FileCheck %s
// CHECK: %[[T:.*]] = remat.task {{[0-9]+}} @{{.*}}_rows(%arg0, %arg1)
// CHECK: remat.task {{[0-9]+}} @{{.*}}(%[[T]])
// CHECK: remat.return

#all = affine_map<(b, h, w) -> (b, h, w)>
#row = affine_map<(b, h, w) -> (b, h)>
#turned = affine_map<(b, h, w) -> (b, w, h)>
#column = affine_map<(b, h, w) -> (w)>
func.func @main(%x: tensor<2x128x16xf32>, %c: tensor<128xf32>) -> (tensor<2x128xf32>, tensor<2x128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x128xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x128xf32>) -> tensor<2x128xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<2x128x16xf32>) outs(%z : tensor<2x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<2x128xf32>
  %et = tensor.empty() : tensor<2x128x128xf32>
  %t = linalg.generic {indexing_maps = [#row, #column, #turned], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %c : tensor<2x128xf32>, tensor<128xf32>) outs(%et : tensor<2x128x128xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %p = arith.mulf %i, %j : f32
    %r = math.sin %p : f32
    linalg.yield %r : f32
  } -> tensor<2x128x128xf32>
  %y = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t : tensor<2x128x128xf32>) outs(%z : tensor<2x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = arith.addf %i, %o : f32
    linalg.yield %r : f32
  } -> tensor<2x128xf32>
  return %y, %t : tensor<2x128xf32>, tensor<2x128x128xf32>
}
