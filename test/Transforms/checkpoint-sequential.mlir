// RUN: remat-opt %s --remat-checkpoint-sequential=segments=3 -split-input-file | FileCheck %s
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential=segments=8 -split-input-file 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential=segments=0 -split-input-file 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential=segments=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 links=cell' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 links=tag:' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 policy=must_safe' 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segment=2' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 function=f' 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 links=tag:norm' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 links=call' 2>&1 | FileCheck %s --check-prefix=NOCALL
// RUN: remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 links=op early-stop=false preserve-rng-state=false policy=prefer_recompute name=part' | FileCheck %s --check-prefix=ATTRIBUTES
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=2 links=tag:block' 2>&1 | FileCheck %s --check-prefix=TAG
// RUN: not remat-opt %s -split-input-file --remat-checkpoint-sequential='segments=3 links=tag' 2>&1 | FileCheck %s --check-prefix=TAGS

// Seven links in three segments: two, two, and three that are not in a region.
// MANY: error: 'func.func' op has 7 links to cut, expected from 1 to as many segments, got 8
// FEW: error: 'func.func' op has 7 links to cut, expected from 1 to as many segments, got 0
// NEGATIVE: segments: expected an integer, 0 or more, got '-1'
// KIND: links: expected 'auto', 'call', 'op', 'tag' or 'tag:NAME', got 'cell'
// EMPTY: links: expected 'auto', 'call', 'op', 'tag' or 'tag:NAME', got 'tag:'
// POLICY: policy: unknown policy 'must_safe'{{.*}}must_save
// OPTION: unknown option 'segment', expected one of 'function', 'segments', 'links'
// FUNCTION: error: has no function 'f' to cut into segments
// NAME: error: 'func.func' op unknown name 'norm', expected one of 'other', 'block'
// NOCALL: error: 'func.func' op has no call to end a link at

// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = remat.checkpoint {
// CHECK-NEXT:      math.sin
// CHECK-NEXT:      %[[V:.*]] = math.exp
// CHECK-NEXT:      remat.yield %[[V]]
// CHECK:         %[[B:.*]] = remat.checkpoint {
// CHECK-NEXT:      %[[C:.*]] = math.cos %[[A]]
// CHECK-NEXT:      %[[W:.*]] = arith.mulf %[[C]]
// CHECK-NEXT:      remat.yield %[[W]]
// CHECK:         math.sin %[[B]]
// CHECK-NEXT:    math.exp
// CHECK-NEXT:    math.tanh
// CHECK-NEXT:    return
// ATTRIBUTES: remat.checkpoint attributes {early_stop = false, name = "part", policy = #remat.policy<prefer_recompute>, preserve_rng_state = false} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = math.cos %1 : tensor<4xf32>
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %3 = arith.mulf %2, %c : tensor<4xf32>
  %4 = math.sin %3 : tensor<4xf32>
  %5 = math.exp %4 : tensor<4xf32>
  %6 = math.tanh %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// -----

// The links of a chain of calls are the calls: what stands behind the last
// belongs to it. The functions that are called stay as they are.
// CHECK-LABEL: func.func private @layer
// CHECK-NOT:     remat.checkpoint
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: remat.checkpoint
// CHECK-NOT:     remat.checkpoint
// CHECK:         return
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.cos %0 : tensor<4xf32>
  %2 = math.exp %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addf %0, %x : tensor<4xf32>
  %2 = call @layer(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @layer(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = arith.addf %3, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// Links that end at values with a name, given by a tag or an attribute.
// TAG:         remat.checkpoint {
// TAG-NEXT:      math.sin
// TAG-NEXT:      math.cos
// TAG-NEXT:      math.exp
// TAG-NEXT:      math.sin
// TAG-NEXT:      remat.tag
// TAG-NEXT:      remat.yield
// TAG-NOT:     remat.checkpoint
// TAGS-COUNT-2: remat.checkpoint
// TAGS-NOT:    remat.checkpoint
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x : tensor<4xf32>
  %1 = math.cos %0 {remat.name = "other"} : tensor<4xf32>
  %2 = math.exp %1 : tensor<4xf32>
  %3 = math.sin %2 : tensor<4xf32>
  %4 = remat.tag %3 {name = "block"} : tensor<4xf32>
  %5 = math.exp %4 : tensor<4xf32>
  %6 = math.sin %5 {remat.name = "block"} : tensor<4xf32>
  %7 = math.cos %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}
