//===- Convolution.cpp - convolutions by oneDNN ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's direct kernels want blocked layouts; on plain ones it falls back to
// im2col and a matmul, which is about half as fast, needs more scratch, and
// allocates inside. So, in this order:
//   1. few positions, f64, which oneDNN has not, or gradients of filters in
//      bf16 whose windows do not overlap: a product with the windows
//      (WindowMatmul.cpp);
//   2. gradients of filters without AVX-512, by our own loops
//      (FilterGradient.cpp);
//   3. activations where they are, only the filter in the kernel's layout
//      (channels-last layouts have direct kernels);
//   4. all three in the kernel's layouts, with reorders in the workspace, for
//      one chunk of the batch after the other: what is reordered stays in
//      cache, and the workspace is a chunk's;
//   5. gradients of depthwise filters, by channels (Depthwise.cpp);
//   6. whatever oneDNN has for 3.;
//   7. 16 bits in f32, with their bias (WidenedConvolution.cpp);
//   8. our own loops.
//
//===----------------------------------------------------------------------===//

#include "OneDnn.h"
#include "Threads.h"
#include "Tuning.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>

using namespace remat;

namespace {

using Dims = std::vector<int64_t>;

/// Whether the call is a deconvolution of oneDNN: its gradients of inputs have
/// no bias.
bool isDeconvolution(const remat_convolution &d) {
  return d.kind == REMAT_CONV_INPUT_GRADIENT && d.bias;
}

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
    // A deconvolution has the channels of its result first.
    if (isDeconvolution(d))
      for (Dims *dims : {&filter, &filterStrides})
        std::iter_swap(dims->rbegin(), dims->rbegin() + 1);
    for (int i = 0; i < d.spatial_rank; ++i) {
      input.push_back(d.input[i]);
      filter.push_back(d.filter[i]);
      output.push_back(d.output[i]);
      inputStrides.push_back(d.input_strides[2 + i]);
      filterStrides.push_back(d.filter_strides[3 + i]);
      outputStrides.push_back(d.output_strides[2 + i]);
      stride.push_back(d.stride[i]);
      dilation.push_back(d.filter[i] > 1 ? d.dilation[i] - 1 : 0);
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
  /// Of no meaning where there is no bias.
  dnnl_memory_desc_t bias;
};

/// What an activation or the filter is to the primitive.
struct Role {
  dnnl_query_t query;
  int argument;
};

struct Roles {
  explicit Roles(const remat_convolution &d) {
    if (isDeconvolution(d))
      std::swap(input, output);
    else if (d.kind == REMAT_CONV_INPUT_GRADIENT)
      input = {dnnl_query_diff_src_md, DNNL_ARG_DIFF_SRC};
    else if (d.kind == REMAT_CONV_FILTER_GRADIENT)
      filter = {dnnl_query_diff_weights_md, DNNL_ARG_DIFF_WEIGHTS};
    if (d.kind != REMAT_CONV_FORWARD && !isDeconvolution(d))
      output = {dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST};
  }

  Role input{dnnl_query_src_md, DNNL_ARG_SRC};
  Role filter{dnnl_query_weights_md, DNNL_ARG_WEIGHTS};
  Role output{dnnl_query_dst_md, DNNL_ARG_DST};
};

PrimitiveDesc pickDeconvolution(const Shapes &s, const Layouts &l,
                                const dnnl_primitive_attr *attributes) {
  dnnl_deconvolution_desc_t desc;
  if (dnnl_dilated_deconvolution_forward_desc_init(
          &desc, dnnl_forward_training, dnnl_deconvolution_direct, &l.output,
          &l.filter, &l.bias, &l.input, s.stride.data(), s.dilation.data(),
          s.padLow.data(), s.padHigh.data()) != dnnl_success)
    return nullptr;
  return pickPrimitive(&desc, attributes, nullptr);
}

/// The primitive for the given layouts, some of which may be open.
PrimitiveDesc pick(const remat_convolution &d, const Shapes &s,
                   const Layouts &l) {
  DnnlHandle<dnnl_primitive_attr> attributes = makeAttributes(false);
  if (attributes && isDeconvolution(d))
    return pickDeconvolution(s, l, attributes.get());
  dnnl_convolution_desc_t forward;
  if (!attributes ||
      dnnl_dilated_convolution_forward_desc_init(
          &forward, dnnl_forward_training, dnnl_convolution_direct, &l.input,
          &l.filter, d.bias ? &l.bias : nullptr, &l.output, s.stride.data(),
          s.dilation.data(), s.padLow.data(), s.padHigh.data()) != dnnl_success)
    return nullptr;
  if (d.kind == REMAT_CONV_FORWARD)
    return pickPrimitive(&forward, attributes.get(), nullptr);
  // The hint: which forward primitive this is the gradient of.
  dnnl_primitive_desc_t hint = nullptr;
  if (dnnl_primitive_desc_create(&hint, &forward, attributes.get(),
                                 dnnlEngine(), nullptr) != dnnl_success)
    return nullptr;
  PrimitiveDesc owned(hint);
  dnnl_convolution_desc_t gradient;
  dnnl_status_t status =
      d.kind == REMAT_CONV_INPUT_GRADIENT
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

/// One tensor of the call.
struct Tensor {
  DnnlCall::Place place;
  Role role;
  const dnnl_memory_desc_t *given;
  /// Bytes from one chunk's part to the next.
  int64_t step;
};

int64_t bytesOf(int32_t dtype) {
  return static_cast<int64_t>(remat_dtype_bytes(dtype));
}

/// The call of `desc` on tensors in the layouts `given`, for each of `chunks`
/// equal parts of the batch.
std::unique_ptr<LibraryCall> build(const remat_convolution &d,
                                   const Layouts &given,
                                   const dnnl_primitive_desc *desc, int threads,
                                   int chunks) {
  int64_t inputStep = 0, outputStep = 0;
  if (chunks > 1) {
    int64_t samples = d.batch / chunks;
    inputStep = samples * d.input_strides[0] * bytesOf(d.input_dtype);
    outputStep = samples * d.output_strides[0] * bytesOf(d.output_dtype);
  }
  Roles roles(d);
  Tensor input{DnnlCall::Operand0, roles.input, &given.input, inputStep};
  Tensor filter{DnnlCall::Operand1, roles.filter, &given.filter, 0};
  Tensor output{DnnlCall::Result, roles.output, &given.output, outputStep};
  std::vector<Tensor> tensors;
  switch (d.kind) {
  case REMAT_CONV_FORWARD:
    tensors = {input, filter, output};
    break;
  case REMAT_CONV_INPUT_GRADIENT:
    output.place = DnnlCall::Operand0, input.place = DnnlCall::Result;
    tensors = {output, filter, input};
    break;
  default:
    output.place = DnnlCall::Operand1, filter.place = DnnlCall::Result;
    tensors = {input, output, filter};
  }
  auto call = std::make_unique<DnnlCall>();
  call->threads = threads;
  call->implementation = implementationOf(desc);
  call->chunks = chunks;
  std::vector<std::pair<int, int>> arguments;
  int callers = -1, inner = -1;
  for (const Tensor &tensor : tensors) {
    inner = call->addInLayout(*tensor.given, memoryOf(desc, tensor.role.query),
                              tensor.place, tensor.step, callers);
    if (inner < 0)
      return nullptr;
    arguments.push_back({tensor.role.argument, inner});
    if (inner != callers && tensor.given != &given.filter)
      call->copiedBytes += chunks * dnnl_memory_desc_get_size(tensor.given);
    if (inner != callers && tensor.place != DnnlCall::Result &&
        !call->addReorder(callers, inner,
                          tensor.step ? DnnlCall::Always : DnnlCall::First))
      return nullptr;
  }
  if (d.bias) {
    int bias = call->addMemory(given.bias, DnnlCall::Operand2);
    if (bias < 0)
      return nullptr;
    arguments.insert(arguments.begin(), {DNNL_ARG_BIAS, bias});
  }
  // The result came last. A gradient of the filter is the sum over all chunks.
  bool isSum = chunks > 1 && tensors.back().step == 0;
  if (!call->addPrimitive(desc, arguments,
                          isSum ? DnnlCall::First : DnnlCall::Always))
    return nullptr;
  if (isSum) {
    int part = call->addMemory(memoryOf(desc, tensors.back().role.query),
                               DnnlCall::Workspace);
    arguments.back().second = part;
    if (part < 0 || !call->addPrimitive(desc, arguments, DnnlCall::NotFirst))
      return nullptr;
    call->addSum(part, inner, DnnlCall::NotFirst);
  }
  if ((inner != callers &&
       !call->addReorder(inner, callers,
                         isSum ? DnnlCall::Last : DnnlCall::Always)) ||
      !call->finish())
    return nullptr;
  return call;
}

/// Into how many equal parts to split the batch, so that the copies of a
/// chunk's activations stay in the cache.
int countChunks(const remat_convolution &d, const Layouts &l,
                const dnnl_primitive_desc *desc) {
  if (d.kind == REMAT_CONV_FILTER_GRADIENT && d.filter_dtype != REMAT_F32)
    return 1;
  auto copied = [&](const Role &role, const dnnl_memory_desc_t &given) {
    dnnl_memory_desc_t wanted = memoryOf(desc, role.query);
    return dnnl_memory_desc_equal(&given, &wanted)
               ? 0
               : static_cast<int64_t>(dnnl_memory_desc_get_size(&wanted));
  };
  Roles roles(d);
  int64_t bytes = copied(roles.input, l.input) + copied(roles.output, l.output);
  int chunks = 1;
  while (chunks < d.batch &&
         (d.batch % chunks != 0 ||
          bytes / chunks > ConvolutionTuning::maxCopiedBytes))
    ++chunks;
  return chunks;
}

/// The bias of the channels of the result, if there is one.
bool describeBias(const remat_convolution &d, Layouts &layouts) {
  bool isForward = d.kind == REMAT_CONV_FORWARD;
  return !d.bias ||
         describe(layouts.bias, isForward ? d.output_dtype : d.input_dtype,
                  {isForward ? d.output_channels : d.input_channels}, {1});
}

/// The layouts that the caller has.
bool describeGiven(const remat_convolution &d, const Shapes &s,
                   Layouts &given) {
  return describe(given.input, d.input_dtype, s.input, s.inputStrides) &&
         describe(given.filter, d.filter_dtype, s.filter, s.filterStrides) &&
         describe(given.output, d.output_dtype, s.output, s.outputStrides) &&
         describeBias(d, given);
}

bool describeOpen(const remat_convolution &d, const Shapes &s, Layouts &any) {
  return describeAny(any.input, d.input_dtype, s.input) &&
         describeAny(any.filter, d.filter_dtype, s.filter) &&
         describeAny(any.output, d.output_dtype, s.output) &&
         describeBias(d, any);
}

/// Whether oneDNN has a direct kernel: it has others where it makes a matmul,
/// and where a group's single channel fills one lane of a vector.
bool isDirect(const remat_convolution &d, const PrimitiveDesc &desc) {
  if (!desc)
    return false;
  std::string name = implementationOf(desc.get());
  bool isDepthwise = d.groups > 1 && d.groups == d.input_channels;
  return name.find("gemm") == std::string::npos &&
         (!isDepthwise || d.kind != REMAT_CONV_FILTER_GRADIENT ||
          name.find("dw") != std::string::npos);
}

/// False where kernels of oneDNN 2.6 for bf16 are wrong, with AMX or without:
/// their sums, or they read memory that is not theirs or was never written.
bool isSound(const remat_convolution &d) {
  if (d.input_dtype != REMAT_BF16)
    return true;
  int last = d.spatial_rank - 1;
  if (d.kind == REMAT_CONV_FORWARD) {
    for (int i = 0; i <= last; ++i)
      // The last window begins behind the input.
      if ((d.output[i] - 1) * d.stride[i] - d.pad_lo[i] >= d.input[i])
        return false;
    // Windows fit without padding, but are moved into it.
    int64_t reach = (d.output[last] - 1) * d.stride[last] +
                    d.dilation[last] * (d.filter[last] - 1) + 1;
    return d.pad_lo[last] <= 0 || reach != d.input[last];
  }
  if (d.kind == REMAT_CONV_FILTER_GRADIENT) {
    constexpr int64_t blockChannels = 16;
    for (int i = 0; i < last; ++i)
      if (d.dilation[i] > 1 && d.filter[i] > 1 &&
          d.input_channels / d.groups % blockChannels != 0)
        return false;
    return d.input[last] >= d.stride[last];
  }
  return true;
}

/// The call with all tensors in the kernel's layouts.
std::unique_ptr<LibraryCall> prepareBlocked(const remat_convolution &d,
                                            const Layouts &given,
                                            const PrimitiveDesc &blocked,
                                            int threads) {
  int chunks = countChunks(d, given, blocked.get());
  if (chunks > 1) {
    remat_convolution part = d;
    part.batch /= chunks;
    Shapes s(part);
    Layouts partGiven, partAny;
    if (describeGiven(part, s, partGiven) && describeOpen(part, s, partAny))
      if (PrimitiveDesc desc = pick(d, s, partAny); isDirect(d, desc))
        if (auto call = build(d, partGiven, desc.get(), threads, chunks))
          return call;
  }
  return build(d, given, blocked.get(), threads, 1);
}

/// What oneDNN has for a convolution.
struct Candidates {
  Candidates(const remat_convolution &d, int threads) {
    Shapes s(d);
    Layouts any;
    if (!isSound(d) || !dnnlEngine() || !describeGiven(d, s, given) ||
        !describeOpen(d, s, any))
      return;
    ThreadScope scope(threads);
    inPlace = pick(d, s, {given.input, any.filter, given.output, given.bias});
    blocked = pick(d, s, any);
  }

  Layouts given;
  PrimitiveDesc inPlace, blocked;
};

std::unique_ptr<LibraryCall> prepareDirect(const remat_convolution &d,
                                           const Candidates &c, int threads) {
  ThreadScope scope(threads);
  if (isDirect(d, c.inPlace))
    if (auto call = build(d, c.given, c.inPlace.get(), threads, 1))
      return call;
  if (isDirect(d, c.blocked))
    return prepareBlocked(d, c.given, c.blocked, threads);
  return nullptr;
}

std::unique_ptr<LibraryCall> prepareAny(const remat_convolution &d,
                                        const Candidates &c, int threads) {
  ThreadScope scope(threads);
  for (const PrimitiveDesc *desc : {&c.inPlace, &c.blocked})
    if (*desc)
      if (auto call = build(d, c.given, desc->get(), threads, 1))
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
  if (!empty) {
    if (auto call = preparePointConvolution(d, threads))
      return call;
    if (std::unique_ptr<LibraryCall> call = prepareWindowMatmul(d, threads))
      return call;
    if (std::unique_ptr<LibraryCall> call = prepareFilterGradient(d, threads))
      return call;
    Candidates candidates(d, threads);
    if (auto call = prepareDirect(d, candidates, threads))
      return call;
    if (std::unique_ptr<LibraryCall> call = prepareDepthwise(d, threads))
      return call;
    if (auto call = prepareAny(d, candidates, threads))
      return call;
    if (auto call = prepareWidenedConvolution(d, threads))
      return call;
  }
  return referenceConvolution(d, threads);
}
