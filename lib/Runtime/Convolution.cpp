//===- Convolution.cpp - convolutions by oneDNN ---------------------------===//
//
// Part of remat, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's direct kernels want blocked layouts; on plain ones it falls back to
// im2col and a product, which is about half as fast, needs more scratch, and
// allocates inside. So, in this order:
//   1. activations where they are, only the filter in the kernel's layout
//      (channels-last layouts have direct kernels);
//   2. all three in the kernel's layouts, with reorders in the workspace;
//   3. whatever oneDNN has for 1.; 4. our own loops.
//
//===----------------------------------------------------------------------===//

#include "OneDnn.h"
#include "Threads.h"

#include <algorithm>

using namespace remat;

namespace {

using Dims = std::vector<int64_t>;

/// The tensors and the window as oneDNN writes them.
struct Shapes {
  explicit Shapes(const remat_convolution &d)
      : input{d.batch, d.input_channels}, output{d.batch, d.output_channels} {
    inputStrides.assign(d.input_strides, d.input_strides + 2);
    outputStrides.assign(d.output_strides, d.output_strides + 2);
    if (d.groups > 1) {
      filter.push_back(d.groups);
      filterStrides.push_back(d.filter_strides[0]);
    }
    for (int i = 1; i < 3; ++i) {
      filter.push_back((i == 1 ? d.output_channels : d.input_channels) /
                       d.groups);
      filterStrides.push_back(d.filter_strides[i]);
    }
    for (int i = 0; i < d.spatial_rank; ++i) {
      input.push_back(d.input[i]);
      filter.push_back(d.filter[i]);
      output.push_back(d.output[i]);
      inputStrides.push_back(d.input_strides[2 + i]);
      filterStrides.push_back(d.filter_strides[3 + i]);
      outputStrides.push_back(d.output_strides[2 + i]);
      stride.push_back(d.stride[i]);
      dilation.push_back(d.dilation[i] - 1);
      padLow.push_back(d.pad_lo[i]);
      // oneDNN wants the padding that gives exactly this output.
      int64_t reach = (d.output[i] - 1) * d.stride[i] +
                      d.dilation[i] * (d.filter[i] - 1) + 1;
      int64_t exact = reach - d.input[i] - d.pad_lo[i];
      padHigh.push_back(exact > -d.stride[i] && exact < 0 ? 0 : exact);
    }
  }

  Dims input, filter, output;
  Dims inputStrides, filterStrides, outputStrides;
  Dims stride, dilation, padLow, padHigh;
};

struct Layouts {
  dnnl_memory_desc_t input, filter, output;
};

/// The primitive for the given layouts, some of which may be open.
PrimitiveDesc pick(int32_t kind, const Shapes &s, const Layouts &l) {
  DnnlHandle<dnnl_primitive_attr> attributes = makeAttributes(false);
  dnnl_convolution_desc_t forward;
  if (!attributes ||
      dnnl_dilated_convolution_forward_desc_init(
          &forward, dnnl_forward_training, dnnl_convolution_direct, &l.input,
          &l.filter, nullptr, &l.output, s.stride.data(), s.dilation.data(),
          s.padLow.data(), s.padHigh.data()) != dnnl_success)
    return nullptr;
  if (kind == REMAT_CONV_FORWARD)
    return pickPrimitive(&forward, attributes.get(), nullptr);
  // The hint: which forward primitive this is the gradient of.
  dnnl_primitive_desc_t hint = nullptr;
  if (dnnl_primitive_desc_create(&hint, &forward, attributes.get(),
                                 dnnlEngine(), nullptr) != dnnl_success)
    return nullptr;
  PrimitiveDesc owned(hint);
  dnnl_convolution_desc_t gradient;
  dnnl_status_t status =
      kind == REMAT_CONV_INPUT_GRADIENT
          ? dnnl_dilated_convolution_backward_data_desc_init(
                &gradient, dnnl_convolution_direct, &l.input, &l.filter,
                &l.output, s.stride.data(), s.dilation.data(), s.padLow.data(),
                s.padHigh.data())
          : dnnl_dilated_convolution_backward_weights_desc_init(
                &gradient, dnnl_convolution_direct, &l.input, &l.filter,
                nullptr, &l.output, s.stride.data(), s.dilation.data(),
                s.padLow.data(), s.padHigh.data());
  if (status != dnnl_success)
    return nullptr;
  return pickPrimitive(&gradient, attributes.get(), hint);
}

/// One tensor of the call: which argument of the primitive it is.
struct Tensor {
  DnnlCall::Place place;
  int argument;
  dnnl_query_t query;
  const dnnl_memory_desc_t *given;
};

/// The call of `desc` on tensors in the layouts `given`.
std::unique_ptr<LibraryCall> build(int32_t kind, const Layouts &given,
                                   const dnnl_primitive_desc *desc,
                                   int threads) {
  std::vector<Tensor> tensors;
  switch (kind) {
  case REMAT_CONV_FORWARD:
    tensors = {
        {DnnlCall::Operand0, DNNL_ARG_SRC, dnnl_query_src_md, &given.input},
        {DnnlCall::Operand1, DNNL_ARG_WEIGHTS, dnnl_query_weights_md,
         &given.filter},
        {DnnlCall::Result, DNNL_ARG_DST, dnnl_query_dst_md, &given.output}};
    break;
  case REMAT_CONV_INPUT_GRADIENT:
    tensors = {{DnnlCall::Operand0, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md,
                &given.output},
               {DnnlCall::Operand1, DNNL_ARG_WEIGHTS, dnnl_query_weights_md,
                &given.filter},
               {DnnlCall::Result, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md,
                &given.input}};
    break;
  default:
    tensors = {
        {DnnlCall::Operand0, DNNL_ARG_SRC, dnnl_query_src_md, &given.input},
        {DnnlCall::Operand1, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md,
         &given.output},
        {DnnlCall::Result, DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md,
         &given.filter}};
  }
  auto call = std::make_unique<DnnlCall>();
  call->threads = threads;
  call->implementation = implementationOf(desc);
  std::vector<std::pair<int, int>> arguments;
  int callers = -1, inner = -1;
  for (const Tensor &tensor : tensors) {
    inner = call->addInLayout(*tensor.given, memoryOf(desc, tensor.query),
                              tensor.place, callers);
    if (inner < 0)
      return nullptr;
    arguments.push_back({tensor.argument, inner});
    if (inner != callers && tensor.place != DnnlCall::Result &&
        !call->addReorder(callers, inner))
      return nullptr;
  }
  // The result came last.
  if (!call->addPrimitive(desc, arguments) ||
      (inner != callers && !call->addReorder(inner, callers)) ||
      !call->finish())
    return nullptr;
  return call;
}

std::unique_ptr<LibraryCall> prepareDnnl(const remat_convolution &d,
                                         int threads) {
  Shapes s(d);
  Layouts given, any, mixed;
  if (!dnnlEngine() ||
      !describe(given.input, d.input_dtype, s.input, s.inputStrides) ||
      !describe(given.filter, d.filter_dtype, s.filter, s.filterStrides) ||
      !describe(given.output, d.output_dtype, s.output, s.outputStrides) ||
      !describeAny(any.input, d.input_dtype, s.input) ||
      !describeAny(any.filter, d.filter_dtype, s.filter) ||
      !describeAny(any.output, d.output_dtype, s.output))
    return nullptr;
  mixed = {given.input, any.filter, given.output};
  auto isProduct = [](const PrimitiveDesc &desc) {
    return implementationOf(desc.get()).find("gemm") != std::string::npos;
  };
  ThreadScope scope(threads);
  PrimitiveDesc inPlace = pick(d.kind, s, mixed);
  if (inPlace && !isProduct(inPlace))
    if (auto call = build(d.kind, given, inPlace.get(), threads))
      return call;
  PrimitiveDesc blocked = pick(d.kind, s, any);
  if (blocked && !isProduct(blocked))
    if (auto call = build(d.kind, given, blocked.get(), threads))
      return call;
  for (const PrimitiveDesc *desc : {&inPlace, &blocked})
    if (*desc)
      if (auto call = build(d.kind, given, desc->get(), threads))
        return call;
  return nullptr;
}

} // namespace

std::unique_ptr<LibraryCall>
remat::prepareConvolution(const remat_convolution &d, int threads) {
  double work = double(d.batch) * double(d.input_channels) *
                double(d.output_channels) / double(d.groups);
  bool empty = work == 0;
  for (int i = 0; i < d.spatial_rank; ++i) {
    work *= double(d.filter[i]) * double(d.output[i]);
    empty |= d.input[i] == 0 || d.filter[i] == 0 || d.output[i] == 0;
  }
  threads = usefulThreads(threads, work);
  if (!empty)
    if (std::unique_ptr<LibraryCall> call = prepareDnnl(d, threads))
      return call;
  return referenceConvolution(d, threads);
}
