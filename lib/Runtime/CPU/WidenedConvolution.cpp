//===- WidenedConvolution.cpp - convolutions of 16 bits in f32 ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN convolves bf16 only on CPUs with AVX-512, and f16 not at all. Here the
// operands of one chunk of the batch after the other are copied to f32, dense
// and with dimensions in the caller's order, convolved as f32, and the result,
// with its bias, is rounded once. A gradient of the filter is summed over the
// chunks in f32. How many chunks there are depends on the shapes alone, and so
// do the bits.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "LibraryCall.h"
#include "Threads.h"
#include "Tuning.h"
#include "remat/Runtime/LibraryCalls.h"

#include <algorithm>
#include <vector>

using namespace remat;

namespace {

/// One dimension of a tensor.
struct Dimension {
  int64_t extent, stride;
};

/// A tensor that the caller has, and its copy in f32.
struct Tensor {
  const void *data;
  float *copy;
};

/// How to copy between a tensor and f32. The copy is dense, and its dimensions
/// are in the tensor's order, but for the first one, which stays the outermost.
class Widening {
public:
  Widening() = default;
  /// The channels of a tensor that gets a bias are its second dimension.
  Widening(int32_t elementType, const std::vector<int64_t> &extents,
           const int64_t *strides, bool hasBias);

  /// Distances in the copy, for the dimensions as they were given.
  const std::vector<int64_t> &getStrides() const { return copyStrides; }
  int64_t countElements() const { return elements; }
  /// Copies `tensor` to its copy, or back.
  void widen(const Tensor &tensor, int threads) const;
  void narrow(const Tensor &tensor, int threads) const;
  /// Adds `bias`, a number for each channel, to the copy.
  void addBias(float *copy, const float *bias, int threads) const;

private:
  /// A piece of a row: where it begins in the tensor and in the copy, and the
  /// channel of its first element.
  struct Piece {
    int64_t at, copyAt, count, channel;
  };

  template <typename Function>
  void forEachRow(int threads, const Function &function) const;

  int32_t dtype = REMAT_F32;
  int64_t elements = 0;
  std::vector<int64_t> copyStrides;
  /// What is left of the dimensions where those that are one in memory are
  /// merged, but for channels that get a bias. The last one are the rows.
  std::vector<Dimension> dimensions;
  static constexpr size_t none = -1;
  /// Which of them are such channels.
  size_t channels = none;
};

class WidenedConvolution : public LibraryCall {
public:
  bool prepare(const remat_convolution &descriptor, int numThreads);
  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  enum Role { Input, Filter, Output };
  static constexpr int numTensors = 3;
  /// By kind of convolution, which tensor is which operand; the last one is the
  /// result.
  static constexpr Role allRoles[REMAT_CONV_KIND_COUNT][numTensors] = {
      {Input, Filter, Output},
      {Output, Filter, Input},
      {Input, Output, Filter}};

  void describeCopies(remat_convolution &part);
  bool isSum() const { return d.kind == REMAT_CONV_FILTER_GRADIENT; }
  int64_t getBiasLength() const {
    return d.kind == REMAT_CONV_FORWARD ? d.output_channels : d.input_channels;
  }

  remat_convolution d;
  const Role *roles = nullptr;
  int64_t chunks = 1;
  /// By role: a chunk's copies, where they lie in the workspace, and bytes from
  /// one chunk of the caller's tensor to the next.
  Widening widenings[numTensors];
  uint64_t offsets[numTensors];
  int64_t steps[numTensors];
  /// The bias in f32; of a gradient of the filter, the part of a chunk behind
  /// the first one; what the convolution of a chunk needs.
  uint64_t biasOffset = 0, partOffset = 0, innerOffset = 0;
  /// The convolution of a chunk, in f32.
  std::unique_ptr<LibraryCall> inner;
};

} // namespace

Widening::Widening(int32_t elementType, const std::vector<int64_t> &extents,
                   const int64_t *strides, bool hasBias)
    : dtype(elementType), elements(1), copyStrides(extents.size()) {
  std::vector<size_t> order(extents.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin() + 1, order.end(), [&](size_t a, size_t b) {
    return strides[a] != strides[b] ? strides[a] > strides[b] : a < b;
  });
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    copyStrides[*dim] = elements;
    elements *= extents[*dim];
  }
  for (size_t dim : order) {
    Dimension next{extents[dim], strides[dim]};
    if (next.extent == 1)
      continue;
    bool isChannels = hasBias && dim == 1;
    bool isBehindChannels = channels + 1 == dimensions.size();
    if (!dimensions.empty() && !isChannels && !isBehindChannels &&
        dimensions.back().stride == next.extent * next.stride) {
      next.extent *= dimensions.back().extent;
      dimensions.pop_back();
    }
    if (isChannels)
      channels = dimensions.size();
    dimensions.push_back(next);
  }
  if (dimensions.empty())
    dimensions.push_back({1, 1});
}

/// Calls function(piece) for pieces of all rows.
template <typename Function>
void Widening::forEachRow(int threads, const Function &function) const {
  const Dimension &row = dimensions.back();
  const size_t last = dimensions.size() - 1;
  int64_t length = std::min(row.extent, ConvolutionTuning::convertedElements);
  int64_t pieces = (row.extent + length - 1) / length;
  int64_t grain = ConvolutionTuning::convertedElements / length;
  parallelFor(threads, elements / row.extent * pieces, grain,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t number = begin; number < end; ++number) {
                  int64_t first = number % pieces * length;
                  int64_t rest = number / pieces;
                  Piece piece{first * row.stride, rest * row.extent + first,
                              std::min(length, row.extent - first),
                              channels == last ? first : 0};
                  for (size_t i = last; i-- > 0;) {
                    int64_t index = rest % dimensions[i].extent;
                    rest /= dimensions[i].extent;
                    piece.at += index * dimensions[i].stride;
                    if (i == channels)
                      piece.channel = index;
                  }
                  function(piece);
                }
              });
}

void Widening::widen(const Tensor &tensor, int threads) const {
  int64_t stride = dimensions.back().stride;
  forEachRow(threads, [&](const Piece &piece) {
    loadRow(tensor.copy + piece.copyAt, tensor.data, dtype, piece.at, stride,
            piece.count);
  });
}

void Widening::narrow(const Tensor &tensor, int threads) const {
  int64_t stride = dimensions.back().stride;
  forEachRow(threads, [&](const Piece &piece) {
    storeRow(tensor.copy + piece.copyAt, const_cast<void *>(tensor.data), dtype,
             piece.at, stride, piece.count);
  });
}

void Widening::addBias(float *copy, const float *bias, int threads) const {
  // Where there is one channel, all rows have it.
  bool areRowsChannels = channels + 1 == dimensions.size();
  forEachRow(threads, [&](const Piece &piece) {
    float *row = copy + piece.copyAt;
    const float *added = bias + piece.channel;
    for (int64_t i = 0; i < piece.count; ++i)
      row[i] += added[areRowsChannels ? i : 0];
  });
}

/// Bytes of all three tensors in f32, of a part of the batch. In floating
/// point, since tensors that repeat elements may be of any size.
static double countBytes(const remat_convolution &d, double samples) {
  double input = samples * double(d.input_channels);
  double output = samples * double(d.output_channels);
  double filter =
      double(d.input_channels) * double(d.output_channels) / double(d.groups);
  for (int i = 0; i < d.spatial_rank; ++i) {
    input *= double(d.input[i]);
    output *= double(d.output[i]);
    filter *= double(d.filter[i]);
  }
  return sizeof(float) * (input + output + filter);
}

/// Makes the description that of a chunk's copies.
void WidenedConvolution::describeCopies(remat_convolution &part) {
  part.batch /= chunks;
  std::vector<int64_t> input = {part.batch, part.input_channels};
  std::vector<int64_t> output = {part.batch, part.output_channels};
  std::vector<int64_t> filter = {part.groups,
                                 part.output_channels / part.groups,
                                 part.input_channels / part.groups};
  for (int i = 0; i < part.spatial_rank; ++i) {
    input.push_back(part.input[i]);
    filter.push_back(part.filter[i]);
    output.push_back(part.output[i]);
  }
  part.bias = 0;
  auto widen = [&](Role role, int32_t &dtype,
                   const std::vector<int64_t> &extents, int64_t *strides,
                   bool isChunked) {
    auto step = static_cast<int64_t>(remat_dtype_bytes(dtype));
    steps[role] = isChunked ? part.batch * strides[0] * step : 0;
    widenings[role] = Widening(dtype, extents, strides,
                               d.bias && role == roles[numTensors - 1]);
    const std::vector<int64_t> &copied = widenings[role].getStrides();
    std::copy(copied.begin(), copied.end(), strides);
    dtype = REMAT_F32;
  };
  widen(Input, part.input_dtype, input, part.input_strides, true);
  widen(Filter, part.filter_dtype, filter, part.filter_strides, false);
  widen(Output, part.output_dtype, output, part.output_strides, true);
}

bool WidenedConvolution::prepare(const remat_convolution &descriptor,
                                 int numThreads) {
  d = descriptor;
  threads = numThreads;
  roles = allRoles[d.kind];
  for (int32_t dtype : {d.input_dtype, d.filter_dtype, d.output_dtype})
    if (computeType(dtype) != Compute::Float)
      return false;
  if (d.input_dtype == REMAT_F32 && d.filter_dtype == REMAT_F32 &&
      d.output_dtype == REMAT_F32)
    return false;
  constexpr double mostBytes = 1LL << 46;
  if (countBytes(d, double(d.batch)) > mostBytes)
    return false;
  double filterBytes = countBytes(d, 0);
  double room =
      std::max<double>(ConvolutionTuning::maxWidenedBytes, filterBytes);
  double fitting = room / (countBytes(d, 1) - filterBytes);
  auto samples = static_cast<int64_t>(
      std::clamp<double>(fitting, 1, static_cast<double>(d.batch)));
  while (d.batch % samples != 0)
    --samples;
  chunks = d.batch / samples;
  remat_convolution part = d;
  describeCopies(part);
  inner = prepareConvolution(part, threads);
  if (!inner || inner->implementation == "reference")
    return false;
  auto take = [&](int64_t elements) {
    uint64_t offset = workspaceBytes;
    workspaceBytes += (static_cast<uint64_t>(elements) * sizeof(float) +
                       REMAT_ALIGNMENT - 1) /
                      REMAT_ALIGNMENT * REMAT_ALIGNMENT;
    return offset;
  };
  for (int role : {Input, Filter, Output})
    offsets[role] = take(widenings[role].countElements());
  if (d.bias)
    biasOffset = take(getBiasLength());
  if (isSum() && chunks > 1)
    partOffset = take(widenings[Filter].countElements());
  innerOffset = workspaceBytes;
  workspaceBytes += inner->workspaceBytes;
  copiedBytes = static_cast<uint64_t>(chunks) * inner->copiedBytes;
  implementation = "in f32, " + inner->implementation;
  return true;
}

bool WidenedConvolution::run(const void *const *operands, void *result,
                             void *workspace, std::string &error) {
  auto *base = static_cast<char *>(workspace);
  auto getCopy = [&](uint64_t offset) {
    return reinterpret_cast<float *>(base + offset);
  };
  auto getTensor = [&](Role role, const void *data, int64_t chunk) {
    return Tensor{static_cast<const char *>(data) + chunk * steps[role],
                  getCopy(offsets[role])};
  };
  const Role resultRole = roles[numTensors - 1];
  float *bias = getCopy(biasOffset);
  if (d.bias)
    loadRow(bias, operands[2],
            d.kind == REMAT_CONV_FORWARD ? d.output_dtype : d.input_dtype, 0, 1,
            getBiasLength());
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int i = 0; i < numTensors - 1; ++i)
      if (chunk == 0 || steps[roles[i]] != 0)
        widenings[roles[i]].widen(getTensor(roles[i], operands[i], chunk),
                                  threads);
    const void *copies[] = {getCopy(offsets[roles[0]]),
                            getCopy(offsets[roles[1]])};
    bool isPart = isSum() && chunk > 0;
    float *sums = getCopy(offsets[resultRole]);
    float *to = isPart ? getCopy(partOffset) : sums;
    if (!inner->run(copies, to, base + innerOffset, error))
      return false;
    if (isPart)
      parallelFor(threads, widenings[Filter].countElements(),
                  ConvolutionTuning::addedElements,
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; ++i)
                      sums[i] += to[i];
                  });
    if (d.bias)
      widenings[resultRole].addBias(sums, bias, threads);
    if (!isSum() || chunk == chunks - 1)
      widenings[resultRole].narrow(getTensor(resultRole, result, chunk),
                                   threads);
  }
  return true;
}

std::unique_ptr<LibraryCall>
remat::prepareWidenedConvolution(const remat_convolution &descriptor,
                                 int threads) {
  auto call = std::make_unique<WidenedConvolution>();
  if (!call->prepare(descriptor, threads))
    return nullptr;
  return call;
}
