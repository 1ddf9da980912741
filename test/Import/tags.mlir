// RUN: remat-opt %s --remat-import-tags | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#first = loc("remat:policy=MUST_SAVE,region=2,phase=forward"("model.py":1:0))
#second = loc("remat:policy=prefer_recompute,name=act"("model.py":2:0))
#last = loc("remat:phase=backward,name=act"("model.py":2:0))

// Attributes tag every result and are dropped.
// CHECK-LABEL: @attributes
// CHECK: %[[V:.*]] = linalg.exp
// CHECK-NOT: remat.name
// CHECK: %[[T:.*]] = remat.tag %[[V]] {name = "act", policy = #remat.policy<must_save>}
// CHECK: return %[[T]]
func.func @attributes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.exp {remat.name = "act", remat.policy = #remat.policy<must_save>}
      ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The two operations of one node share a location: only what leaves it is the
// node's value. Fills are never tagged.
// CHECK-LABEL: @locations
// CHECK: linalg.fill
// CHECK-NEXT: linalg.matmul
// CHECK-NEXT: %[[SUM:.*]] = linalg.add
// CHECK-NEXT: %[[FIRST:.*]] = remat.tag %[[SUM]] {policy = #remat.policy<must_save>}
// CHECK-NEXT: %[[EXP:.*]] = linalg.exp ins(%[[FIRST]]
// CHECK-NEXT: remat.tag %[[EXP]] {name = "act", policy = #remat.policy<prefer_recompute>}
// A value of the backward phase has no tag.
// CHECK-NEXT: linalg.log {remat.backward}
// CHECK-NEXT: return
func.func @locations(%x: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#first)
  %0 = linalg.matmul ins(%x, %b : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#first)
  %1 = linalg.add ins(%0, %b : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#first)
  %2 = linalg.exp ins(%1 : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#second)
  %3 = linalg.log ins(%2 : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#last)
  return %3 : tensor<4x4xf32>
}
