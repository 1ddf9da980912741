// RUN: remat-opt %s --remat-differentiate --remarks-filter=idiom --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=ON
// RUN: remat-opt %s --remat-differentiate=idioms=false --remarks-filter=idiom --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=OFF --implicit-check-not=remark:

// The maximum of a number and itself gets half of the derivative from each
// side. Without idioms a select passes it to the side that it takes. An
// operation counts once, however often the body it is in is swept.

// ON-COUNT-1: remark: [Passed] extremum |
// ON-NOT:     remark:

// OFF:      linalg.generic
// OFF:      linalg.generic
// OFF:        %[[CONDITION:.*]] = arith.cmpf ogt
// OFF-NOT:    arith.cmpf
// OFF:        arith.select %[[CONDITION]]
#map = affine_map<() -> ()>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %empty = tensor.empty() : tensor<f32>
  %max = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []}
      ins(%a, %b : tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %larger = arith.cmpf ogt, %x, %y : f32
    %taken = arith.select %larger, %x, %y : f32
    linalg.yield %taken : f32
  } -> tensor<f32>
  return %max : tensor<f32>
}
