// A maximum whose index is used is marked: its derivative belongs to one
// element. Exporters write the index of every maximum.
// RUN: remat-opt %s --split-input-file --remat-import-extrema | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: @used
// CHECK: linalg.generic {{.*}} attrs = {remat.first_extremum}
func.func @used(%x: tensor<2x3xf32>, %low: tensor<2xf32>, %zero: tensor<2xi64>)
    -> (tensor<2xf32>, tensor<2xi64>) {
  %0:2 = linalg.generic {indexing_maps = [#map, #map1, #map1],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2x3xf32>)
      outs(%low, %zero : tensor<2xf32>, tensor<2xi64>) {
  ^bb0(%in: f32, %best: f32, %place: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %max = arith.maximumf %in, %best : f32
    %greater = arith.cmpf ogt, %in, %best : f32
    %new = arith.select %greater, %n, %place : i64
    linalg.yield %max, %new : f32, i64
  } -> (tensor<2xf32>, tensor<2xi64>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi64>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: @unused
// CHECK-NOT: first_extremum
func.func @unused(%x: tensor<2x3xf32>, %low: tensor<2xf32>, %zero: tensor<2xi64>)
    -> tensor<2xf32> {
  %0:2 = linalg.generic {indexing_maps = [#map, #map1, #map1],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2x3xf32>)
      outs(%low, %zero : tensor<2xf32>, tensor<2xi64>) {
  ^bb0(%in: f32, %best: f32, %place: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %max = arith.maximumf %in, %best : f32
    %greater = arith.cmpf ogt, %in, %best : f32
    %new = arith.select %greater, %n, %place : i64
    linalg.yield %max, %new : f32, i64
  } -> (tensor<2xf32>, tensor<2xi64>)
  return %0#0 : tensor<2xf32>
}
