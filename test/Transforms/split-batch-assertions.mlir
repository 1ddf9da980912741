// An assertion about all rows comes behind the loop that makes what it reads.
// RUN: remat-opt %s --remat-split-batch="parts=2 arguments=1 wrt=0" | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK:         %[[ROWS:.*]]:2 = remat.loop
// CHECK:         %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[ROWS]]#0 : tensor<2xi1>)
// CHECK:         linalg.generic {{.*}} ins(%[[ALL]] : tensor<i1>) {
// CHECK:           cf.assert
#rows = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @main(%w: tensor<f32>, %x: tensor<8xf32>) -> tensor<f32> {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<i1>
  %t = linalg.fill ins(%true : i1) outs(%e : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {indexing_maps = [#rows, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%t : tensor<i1>) {
  ^bb0(%a: f32, %b: i1):
    %0 = arith.cmpf oge, %a, %zero : f32
    %1 = arith.andi %0, %b : i1
    linalg.yield %1 : i1
  } -> tensor<i1>
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} ins(%all : tensor<i1>) {
  ^bb0(%a: i1):
    cf.assert %a, "negative"
    linalg.yield
  }
  %f = tensor.empty() : tensor<8xf32>
  %sq = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %g = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%g : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#rows, #none], iterator_types = ["reduction"]} ins(%sq : tensor<8xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
