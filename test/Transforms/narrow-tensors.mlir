// Tensors become narrow, arithmetic and sums stay wide, and so do statistics.

// RUN: remat-opt %s -remat-narrow-tensors -split-input-file -verify-diagnostics | FileCheck %s
// RUN: remat-opt %s -remat-narrow-tensors=type=f16 -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=F16

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// A product is added up in f32 and rounded; what was asked of it is asked of
// what is rounded, which is what would be saved. Sums over 64 columns, and what
// is computed from these alone, stay in f32; a tensor that is made of both does
// not. The loss is no tensor to speak of. The mask's lowest number stays finite.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME: (%[[X:.*]]: tensor<32x16xbf16>, %[[W:.*]]: tensor<16x64xbf16>, %[[S:.*]]: tensor<f32>) -> (tensor<f32>, tensor<32x64xbf16>)
// CHECK: %[[MASK:.*]] = arith.constant dense<{{.*}}-3.389530e+38{{.*}}> : tensor<2x2xbf16>
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[X]], %[[W]] : tensor<32x16xbf16>, tensor<16x64xbf16>) outs({{.*}} : tensor<32x64xf32>) -> tensor<32x64xf32>
// CHECK-NOT: policy
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<32x64xf32>) outs({{.*}} : tensor<32x64xbf16>) attrs = {remat.policy = #remat.policy<must_save>} {
// CHECK: arith.truncf
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[R]] : tensor<32x64xbf16>) outs({{.*}} : tensor<32xf32>) {
// CHECK-NEXT: ^bb0(%[[IN:.*]]: bf16, %[[OUT:.*]]: f32):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK-NEXT: %[[E:.*]] = math.exp %[[WIDE]] : f32
// CHECK-NEXT: arith.addf %[[E]], %[[OUT]] : f32
// CHECK: %[[LOG:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<32xf32>) outs({{.*}} : tensor<32xf32>)
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[LOG]] : tensor<32x64xbf16>, tensor<32xf32>) outs({{.*}} : tensor<32x64xbf16>) {
// CHECK-NEXT: ^bb0(%{{.*}}: bf16, %{{.*}}: f32, %{{.*}}: bf16):
// CHECK: arith.subf {{.*}} : f32
// CHECK: %[[LOSS:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<f32>)
// CHECK: tensor.insert_slice %[[MASK]] into %[[Y]]{{.*}} : tensor<2x2xbf16> into tensor<32x64xbf16>
// CHECK: return %[[LOSS]], %{{.*}} : tensor<f32>, tensor<32x64xbf16>
// F16: func.func @softmax(%{{.*}}: tensor<32x16xf16>
// F16: dense<{{.*}}-6.550400e+04{{.*}}> : tensor<2x2xf16>
func.func @softmax(%x: tensor<32x16xf32>, %w: tensor<16x64xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<32x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %mask = arith.constant dense<[[-3.4028235e38, 0.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<32x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %p = linalg.contract indexing_maps = [#a, #b, #c] {remat.policy = #remat.policy<must_save>} ins(%x, %w : tensor<32x16xf32>, tensor<16x64xf32>) outs(%z : tensor<32x64xf32>) -> tensor<32x64xf32>
  %er = tensor.empty() : tensor<32xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<32x64xf32>) outs(%zr : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<32xf32>
  %log = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%sum : tensor<32xf32>) outs(%er : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.log %in : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %log : tensor<32x64xf32>, tensor<32xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%in: f32, %l: f32, %out: f32):
    %0 = arith.subf %in, %l : f32
    linalg.yield %0 : f32
  } -> tensor<32x64xf32>
  %loss = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]} ins(%log : tensor<32xf32>) outs(%s : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %masked = tensor.insert_slice %mask into %y[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<32x64xf32>
  return %loss, %masked : tensor<f32>, tensor<32x64xf32>
}

// -----

// The body of a loop is narrow with the tensors that it gets: elements of
// slices and stacks even where they have rank 0, the carried sum of rank 0 not.
// CHECK-LABEL: func.func @scan
// CHECK-SAME: (%{{.*}}: tensor<20xbf16>, %{{.*}}: tensor<f32>) -> (tensor<f32>, tensor<20xbf16>)
// CHECK: remat.loop @add count 20 {{.*}} : (tensor<f32>, tensor<20xbf16>) -> (tensor<f32>, tensor<20xbf16>)
// CHECK: func.func private @add(%{{.*}}: tensor<f32>, %{{.*}}: tensor<bf16>) -> (tensor<f32>, tensor<bf16>)
#s = affine_map<() -> ()>
func.func @scan(%x: tensor<20xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<20xf32>) {
  %sum, %sums = remat.loop @add count 20 carried(%s) invariant() sliced(%x) : (tensor<f32>, tensor<20xf32>) -> (tensor<f32>, tensor<20xf32>)
  return %sum, %sums : tensor<f32>, tensor<20xf32>
}
func.func private @add(%s: tensor<f32>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %e = tensor.empty() : tensor<f32>
  %y = linalg.generic {indexing_maps = [#s, #s, #s], iterator_types = []} ins(%s, %x : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %y, %y : tensor<f32>, tensor<f32>
}

// -----

// Nothing to do: what is wide here is wide on purpose.
// CHECK-LABEL: func.func @wide
// CHECK-SAME: (%{{.*}}: tensor<8xbf16>) -> tensor<8xf32>
// F16: func.func @wide(%{{.*}}: tensor<8xbf16>) -> tensor<8xf32>
#v = affine_map<(i) -> (i)>
func.func @wide(%x: tensor<8xbf16>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%x : tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Derivatives that a program gives are narrow with what they are of.
// CHECK-LABEL: func @rules(
// CHECK: remat.custom_rule inputs(%{{.*}}, %{{.*}} : tensor<8xbf16>, tensor<f32>) values(%{{.*}} : tensor<8xbf16>)
// CHECK: ^bb0(%[[G:.*]]: tensor<8xbf16>):
// CHECK: remat.yield %{{.*}}, %{{.*}} : tensor<8xbf16>, tensor<f32>
// CHECK: ^bb0(%{{.*}}: tensor<8xbf16>, %{{.*}}: tensor<f32>):
// CHECK: remat.yield %{{.*}} : tensor<8xbf16>
// CHECK: remat.gradient_hook(%{{.*}} : tensor<8xbf16>)
// CHECK: ^bb0(%{{.*}}: tensor<8xbf16>):
// CHECK: remat.yield %{{.*}} : tensor<8xbf16>
#v = affine_map<(i) -> (i)>
#n = affine_map<(i) -> ()>
func.func @rules(%x: tensor<8xf32>, %s: tensor<f32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %v = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sin %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = remat.custom_rule inputs(%x, %s : tensor<8xf32>, tensor<f32>) values(%v : tensor<8xf32>)
  vjp {
  ^bb0(%g: tensor<8xf32>):
    %d = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]} ins(%g, %v : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.mulf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    remat.yield %d, %s : tensor<8xf32>, tensor<f32>
  }
  jvp {
  ^bb0(%t: tensor<8xf32>, %u: tensor<f32>):
    remat.yield %t : tensor<8xf32>
  }
  %z = remat.gradient_hook(%y : tensor<8xf32>) {
  ^bb0(%g: tensor<8xf32>):
    %d = linalg.generic {indexing_maps = [#v, #n, #v], iterator_types = ["parallel"]} ins(%g, %s : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.mulf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    remat.yield %d : tensor<8xf32>
  }
  return %z : tensor<8xf32>
}

// -----

// Functions of the program have types of their own.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has a codec of functions, whose types would have to become narrow, too}}
  %y = remat.scope attributes {codec = [@pack, @unpack]} {
    remat.yield %x : tensor<8xf32>
  } : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @pack(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
func.func private @unpack(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// Of several functions, it must be said which.
// expected-error @below {{has no function 'main' of one block to narrow the tensors of}}
module {
  func.func @f() {
    return
  }
  func.func @g() {
    return
  }
}
