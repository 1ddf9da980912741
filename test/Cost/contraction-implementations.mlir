// RUN: remat-opt %s --remat-choose-implementations --remat-annotate-costs=threads=1 | FileCheck %s
// RUN: remat-opt %s --remat-choose-implementations=others=true --remat-annotate-costs=threads=1 | FileCheck %s --check-prefix=OTHER

// By these peaks, a library call takes hardly any time, generated code long.
// Without measurements, the library takes large contractions, but none with a
// vector, no tiny ones, nor batches of these, and all that it adds up in a wider
// type than their own.

// CHECK: remat.task {{[0-9]+}} @square({{.*}}) cost 8
// CHECK: remat.task {{[0-9]+}} @matvec({{.*}}) cost {{[0-9][0-9][0-9][0-9][0-9]+}}
// CHECK: remat.task {{[0-9]+}} @tiny({{.*}}) cost {{[0-9][0-9][0-9][0-9][0-9]+}}
// CHECK: remat.task {{[0-9]+}} @chosen({{.*}}) cost {{[0-9][0-9][0-9][0-9][0-9]+}}
// CHECK: remat.task {{[0-9]+}} @half({{.*}}) cost 7
// CHECK: remat.task {{[0-9]+}} @large({{.*}}) cost {{[0-9][0-9][0-9]}}
// CHECK: remat.task {{[0-9]+}} @batch({{.*}}) cost {{[0-9][0-9][0-9][0-9][0-9]+}}
// CHECK: remat.task {{[0-9]+}} @half_batch({{.*}}) cost 8

// Each by the other implementation, unless there is none, or it would take too long.

// OTHER: func.func private @square({{.*}}remat.implementation = #remat.implementation<generated>
// OTHER: func.func private @matvec({{.*}}remat.implementation = #remat.implementation<library>
// OTHER: func.func private @tiny({{.*}}remat.implementation = #remat.implementation<library>
// OTHER: func.func private @chosen({{.*}}remat.implementation = #remat.implementation<library>
// OTHER: func.func private @half({{.*}}attributes {remat.kernel}
// OTHER: func.func private @large({{.*}}remat.implementation = #remat.implementation<library>
// OTHER: remat.task {{[0-9]+}} @square({{.*}}) cost {{[0-9][0-9][0-9][0-9][0-9]+}}
// OTHER: remat.task {{[0-9]+}} @matvec({{.*}}) cost 7
// OTHER: remat.task {{[0-9]+}} @tiny({{.*}}) cost 7
// OTHER: remat.task {{[0-9]+}} @chosen({{.*}}) cost 8

module attributes {remat.target = #remat.target<"cpu", threads = 1, contraction_flops = 1000000000000000, loop_flops = 2000000, bandwidth = 1000000000000000, launch_ns = 7>} {
func.func private @square(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {remat.kernel} {
  // The zeros may be a constant, too, as frontends have them.
  %f = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
func.func private @matvec(%a: tensor<64x64xf32>, %b: tensor<64x1xf32>) -> tensor<64x1xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x1xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x1xf32>) -> tensor<64x1xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x1xf32>)
      outs(%f : tensor<64x1xf32>) -> tensor<64x1xf32>
  return %r : tensor<64x1xf32>
}
func.func private @tiny(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> tensor<16x16xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<16x16xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16x16xf32>, tensor<16x16xf32>)
      outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
func.func private @chosen(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {remat.kernel, remat.implementation = #remat.implementation<generated>} {
  %e = tensor.empty() : tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
func.func private @half(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>) -> tensor<16x16xf16>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<16x16xf16>
  %z = arith.constant 0.0 : f16
  %f = linalg.fill ins(%z : f16) outs(%e : tensor<16x16xf16>) -> tensor<16x16xf16>
  %r = linalg.matmul ins(%a, %b : tensor<16x16xf16>, tensor<16x16xf16>)
      outs(%f : tensor<16x16xf16>) -> tensor<16x16xf16>
  return %r : tensor<16x16xf16>
}
func.func private @large(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32>
    attributes {remat.kernel} {
  %e = tensor.empty() : tensor<512x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.matmul ins(%a, %b : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
func.func private @batch(%a: tensor<4096x4x4xf32>, %b: tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32>
    attributes {remat.kernel} {
  %f = arith.constant dense<0.0> : tensor<4096x4x4xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<4096x4x4xf32>, tensor<4096x4x4xf32>)
      outs(%f : tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32>
  return %r : tensor<4096x4x4xf32>
}
func.func private @half_batch(%a: tensor<4096x4x4xf16>, %b: tensor<4096x4x4xf16>) -> tensor<4096x4x4xf16>
    attributes {remat.kernel} {
  %f = arith.constant dense<0.0> : tensor<4096x4x4xf16>
  %r = linalg.batch_matmul ins(%a, %b : tensor<4096x4x4xf16>, tensor<4096x4x4xf16>)
      outs(%f : tensor<4096x4x4xf16>) -> tensor<4096x4x4xf16>
  return %r : tensor<4096x4x4xf16>
}
remat.graph @main(
    %a0: tensor<64x64xf32>, %b0: tensor<64x64xf32>,
    %a1: tensor<64x64xf32>, %b1: tensor<64x1xf32>,
    %a2: tensor<16x16xf32>, %b2: tensor<16x16xf32>,
    %a3: tensor<64x64xf32>, %b3: tensor<64x64xf32>,
    %a4: tensor<16x16xf16>, %b4: tensor<16x16xf16>,
    %a5: tensor<512x512xf32>, %b5: tensor<512x512xf32>,
    %a6: tensor<4096x4x4xf32>, %a7: tensor<4096x4x4xf16>) -> (
    tensor<64x64xf32>, tensor<64x1xf32>, tensor<16x16xf32>, tensor<64x64xf32>, tensor<16x16xf16>, tensor<512x512xf32>,
    tensor<4096x4x4xf32>, tensor<4096x4x4xf16>) {
  %0 = remat.task 0 @square(%a0, %b0) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = remat.task 1 @matvec(%a1, %b1) : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %2 = remat.task 2 @tiny(%a2, %b2) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = remat.task 3 @chosen(%a3, %b3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = remat.task 4 @half(%a4, %b4) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %5 = remat.task 5 @large(%a5, %b5) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %6 = remat.task 6 @batch(%a6, %a6) : (tensor<4096x4x4xf32>, tensor<4096x4x4xf32>) -> tensor<4096x4x4xf32>
  %7 = remat.task 7 @half_batch(%a7, %a7) : (tensor<4096x4x4xf16>, tensor<4096x4x4xf16>) -> tensor<4096x4x4xf16>
  remat.return %0, %1, %2, %3, %4, %5, %6, %7 :
      tensor<64x64xf32>, tensor<64x1xf32>, tensor<16x16xf32>, tensor<64x64xf32>, tensor<16x16xf16>, tensor<512x512xf32>,
      tensor<4096x4x4xf32>, tensor<4096x4x4xf16>
}
}
