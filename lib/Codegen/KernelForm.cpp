//===- KernelForm.cpp - library calls or generated code -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is chosen for a product where nobody has measured. The library takes
// microseconds before it multiplies anything, and packs factors that are read
// once only.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelInfo.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

/// Products of at most so many operations are over before a library call has
/// begun: 16 x 16 x 16.
static constexpr int64_t mostTinyFlops = 2 * 16 * 16 * 16;

int64_t remat::codegen::countCallFlops(const LibraryCall &call) {
  int64_t flops = 2;
  if (call.kind == REMAT_ENTRY_MATMUL) {
    for (int64_t size : call.matmul.batch)
      flops *= size;
    return flops * call.matmul.m * call.matmul.n * call.matmul.k;
  }
  const remat_convolution &conv = call.convolution;
  flops *= conv.batch * conv.output_channels *
           (conv.input_channels / std::max<int64_t>(conv.groups, 1));
  for (int i = 0; i < conv.spatial_rank; ++i)
    flops *= conv.output[i] * conv.filter[i];
  return flops;
}

bool remat::codegen::mayBeGenerated(const LibraryCall &call) {
  const remat_matmul &matmul = call.matmul;
  return call.kind == REMAT_ENTRY_MATMUL && matmul.a_dtype == matmul.c_dtype &&
         (matmul.c_dtype == REMAT_F32 || matmul.c_dtype == REMAT_F64);
}

/// A product with a vector reads its matrix once, and so does one of two
/// vectors with what it writes.
static bool isBetterGenerated(const LibraryCall &call) {
  const remat_matmul &matmul = call.matmul;
  return matmul.m == 1 || matmul.n == 1 || matmul.k == 1 ||
         countCallFlops(call) <= mostTinyFlops;
}

std::optional<LibraryCall>
remat::codegen::matchLibraryCall(FunctionOpInterface kernel) {
  std::optional<LibraryCall> call = describeLibraryCall(kernel);
  if (!call || !mayBeGenerated(*call))
    return call;
  auto form = kernel->getAttrOfType<StringAttr>(formAttrName);
  bool generated =
      form ? form.getValue() == generatedForm : isBetterGenerated(*call);
  return generated ? std::nullopt : call;
}
