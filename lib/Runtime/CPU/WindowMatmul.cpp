//===- WindowMatmul.cpp - convolutions as matmuls -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a convolution has no more output positions than output channels, as in
// the last stages of a network, the filter is its largest operand. Direct
// kernels would first copy it to a layout of theirs, and their gradient of the
// filter is slow. Here the filter stays where it is, as a matrix with a row for
// each output channel; the windows of the input are gathered to the other
// factor, and a matmul does the rest:
//
//   forward           output   [channel, position] = filter * windows
//   input gradient    windows  [position, tap]     = output^T * filter,
//                     of which the input's elements are sums
//   filter gradient   filter   [channel, tap]      = output * windows^T
//
// For f64, oneDNN has no kernels at all, and this is the way for any number of
// positions. So it is for gradients of filters in bf16 whose windows do not
// overlap, as those of one point and of the patches of a vision transformer,
// for which its kernels take up to six times as long. Activations are read
// where they are, if their positions or channels lie next to each other.
// Positions are taken in chunks, so that copied windows are no larger than the
// filter or a megabyte. What a chunk is depends on the shapes alone, and so do
// the bits.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "LibraryCall.h"
#include "Threads.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

using namespace remat;

namespace {

/// Numbers of a convolution as matmuls. A tap is an input channel at one
/// position of the filter.
struct WindowShape {
  explicit WindowShape(const remat_convolution &d)
      : positions(d.batch), taps(d.input_channels) {
    for (int i = 0; i < d.spatial_rank; ++i) {
      positions *= d.output[i];
      points *= d.filter[i];
    }
    taps *= points;
  }

  int64_t positions, points = 1, taps;
};

/// A dimension in memory.
struct Dimension {
  int64_t extent, stride;
};

/// The distance of neighbours if the dimensions, from the slowest to the
/// fastest one, are one in memory; else none.
std::optional<int64_t> mergeDimensions(const std::vector<Dimension> &dims) {
  std::optional<int64_t> distance;
  int64_t expected = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    const Dimension &dim = dims[i];
    if (dim.extent == 1) // its stride means nothing
      continue;
    if (!distance)
      distance = expected = dim.stride;
    if (dim.stride != expected)
      return std::nullopt;
    expected *= dim.extent;
  }
  return distance.value_or(1);
}

/// The filter as a matrix: taps at a distance of `tapStride` if they are
/// counted with the channel as the slowest index, or else as the fastest.
struct FilterMatrix {
  bool find(const remat_convolution &d, const WindowShape &shape) {
    rowStride = d.filter_strides[1];
    std::vector<Dimension> dims;
    for (int i = 0; i < d.spatial_rank; ++i)
      dims.push_back({d.filter[i], d.filter_strides[3 + i]});
    std::optional<int64_t> merged = mergeDimensions(dims);
    if (!merged)
      return false;
    pointStride = *merged;
    int64_t channelStride = d.filter_strides[2];
    if (shape.points == 1 || d.input_channels == 1) {
      channelIsSlow = d.input_channels == 1;
      tapStride = channelIsSlow ? pointStride : channelStride;
      return tapStride > 0;
    }
    channelIsSlow = channelStride == shape.points * pointStride;
    tapStride = channelIsSlow ? pointStride : channelStride;
    return tapStride > 0 &&
           (channelIsSlow || pointStride == d.input_channels * channelStride);
  }

  int64_t rowStride = 0, tapStride = 0, pointStride = 0;
  bool channelIsSlow = true;
};

/// An activation where it is as a matrix of positions and channels.
struct ActivationMatrix {
  /// False where it has to be copied for that.
  bool find(int64_t channelCount, int64_t channelStride,
            const std::vector<Dimension> &positions) {
    std::optional<int64_t> distance = mergeDimensions(positions);
    // The library wants rows or columns without gaps.
    if (!distance || (*distance != 1 && channelStride != 1))
      return false;
    position = *distance;
    channel = channelCount == 1 ? 1 : channelStride;
    return true;
  }

  int64_t position = 0, channel = 0;
};

template <typename T>
class WindowMatmul : public LibraryCall {
public:
  bool prepare(const remat_convolution &descriptor, int numThreads);
  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  bool areApart() const;
  bool isSuited() const;
  void findMatrices();
  bool prepareProducts();
  std::unique_ptr<LibraryCall> prepareProduct(int64_t count,
                                              bool accumulates) const;
  /// Calls function(window, input) with the offsets of all elements of the
  /// windows at the positions [begin, begin + count) that lie in the input, of
  /// input channels [firstChannel, lastChannel).
  template <typename Function>
  void forEachElement(int64_t begin, int64_t count, int64_t firstChannel,
                      int64_t lastChannel, const Function &function) const;
  void gatherWindows(const T *input, T *windows, int64_t begin,
                     int64_t count) const;
  void gatherRows(const T *input, T *windows, int64_t begin,
                  int64_t count) const;
  void clearInput(T *input) const;
  void scatterWindows(const T *windows, T *input, int64_t begin,
                      int64_t count) const;
  void roundSums(const float *sums, void *result) const;
  /// Copies between the output and its matrix.
  template <bool toMatrix>
  void copyOutput(T *output, T *matrix, int64_t begin, int64_t count) const;
  bool runChunk(int64_t begin, const void *const *operands, void *result,
                char *workspace, std::string &error);

  remat_convolution d;
  WindowShape shape{remat_convolution{}};
  FilterMatrix filter;
  /// Positions of a chunk.
  int64_t chunk = 0;
  /// Whether the matrices are the caller's tensors, or copied, and their
  /// strides.
  bool windowsAreInput = false, matrixIsOutput = false;
  int64_t windowPosition = 0, windowTap = 0;
  int64_t outputPosition = 0, outputChannel = 0;
  /// Whether the parts of several chunks are added up in f32 and rounded once.
  bool hasSums = false;
  uint64_t outputOffset = 0, sumsOffset = 0, matmulOffset = 0;
  /// Of the first chunk, of the others, and of a last one with fewer positions.
  std::unique_ptr<LibraryCall> first, next, last;
};

template <typename T>
uint64_t roundUp(int64_t elements) {
  uint64_t bytes = static_cast<uint64_t>(elements) * sizeof(T);
  return (bytes + REMAT_ALIGNMENT - 1) / REMAT_ALIGNMENT * REMAT_ALIGNMENT;
}

/// The bits of a bf16.
struct Bfloat16 {
  uint16_t bits;
};

template <typename T>
constexpr bool isBfloat16 = std::is_same_v<T, Bfloat16>;

template <typename T>
constexpr remat_dtype dtypeOf = isBfloat16<T>                ? REMAT_BF16
                                : sizeof(T) == sizeof(float) ? REMAT_F32
                                                             : REMAT_F64;

} // namespace

/// Whether windows lie inside of the input, and no element in two of them.
template <typename T>
bool WindowMatmul<T>::areApart() const {
  for (int i = 0; i < d.spatial_rank; ++i)
    if (d.pad_lo[i] != 0 || (d.filter[i] != 1 && d.dilation[i] != 1) ||
        (d.output[i] != 1 && d.stride[i] < d.filter[i]) ||
        (d.output[i] - 1) * d.stride[i] + d.filter[i] > d.input[i])
      return false;
  return true;
}

/// Whether a matmul is better than a kernel for convolutions.
template <typename T>
bool WindowMatmul<T>::isSuited() const {
  for (int32_t dtype : {d.input_dtype, d.filter_dtype, d.output_dtype})
    if (dtype != dtypeOf<T>)
      return false;
  if (d.bias || d.groups != 1)
    return false;
  bool areFewPositions = shape.positions <= d.output_channels;
  if constexpr (isBfloat16<T>) {
    // A matmul's threads share the tiles of its result.
    constexpr int64_t tile = 64;
    auto tiles = [](int64_t extent) { return (extent + tile - 1) / tile; };
    // Narrow results of long sums are slow.
    constexpr int64_t leastTaps = 2 * tile;
    return d.kind == REMAT_CONV_FILTER_GRADIENT &&
           (areFewPositions || shape.points == 1 ||
            (shape.taps >= leastTaps && areApart())) &&
           tiles(d.output_channels) * tiles(shape.taps) >= threads;
  }
  return areFewPositions || dtypeOf<T> == REMAT_F64;
}

/// Finds the matrices of gradients of filters in bf16 where the activations
/// are, if windows do not overlap: there, positions are many. Copies of few
/// positions take no time, and oneDNN would copy columns to more memory.
template <typename T>
void WindowMatmul<T>::findMatrices() {
  bool areMany = shape.positions > d.output_channels;
  bool mayBe = isBfloat16<T> && (shape.points == 1 || (areMany && areApart()));
  bool areInside = shape.points == 1;
  std::vector<Dimension> inputs{{d.batch, d.input_strides[0]}};
  std::vector<Dimension> outputs{{d.batch, d.output_strides[0]}};
  for (int i = 0; i < d.spatial_rank; ++i) {
    inputs.push_back({d.output[i], d.input_strides[2 + i] * d.stride[i]});
    outputs.push_back({d.output[i], d.output_strides[2 + i]});
    areInside &=
        d.pad_lo[i] == 0 && (d.output[i] - 1) * d.stride[i] < d.input[i];
  }
  ActivationMatrix input, output;
  windowsAreInput = mayBe && areInside &&
                    input.find(d.input_channels, d.input_strides[1], inputs);
  matrixIsOutput =
      mayBe && output.find(d.output_channels, d.output_strides[1], outputs);
  constexpr int64_t maxElements = (1 << 20) / sizeof(T);
  chunk = shape.positions;
  // What is added up from chunk to chunk takes bytes as well.
  int64_t sums = isBfloat16<T> ? 2 * d.output_channels * shape.taps : 0;
  if ((!windowsAreInput || !matrixIsOutput) &&
      shape.positions * shape.taps > maxElements + sums)
    chunk =
        std::min(chunk, std::max(maxElements / shape.taps, d.output_channels));
  bool isForward = d.kind == REMAT_CONV_FORWARD;
  bool isInput = d.kind == REMAT_CONV_INPUT_GRADIENT;
  if (!windowsAreInput)
    input = {isForward ? 1 : shape.taps, isForward ? chunk : 1};
  if (!matrixIsOutput)
    output = {isInput ? d.output_channels : 1, isInput ? 1 : chunk};
  windowPosition = input.position, windowTap = input.channel;
  outputPosition = output.position, outputChannel = output.channel;
}

template <typename T>
bool WindowMatmul<T>::prepare(const remat_convolution &descriptor,
                              int numThreads) {
  d = descriptor;
  threads = numThreads;
  shape = WindowShape(d);
  findMatrices();
  return isSuited() && filter.find(d, shape) && prepareProducts();
}

template <typename T>
bool WindowMatmul<T>::prepareProducts() {
  // Each chunk's part of a filter's gradient is added to those before it.
  bool isSum = d.kind == REMAT_CONV_FILTER_GRADIENT;
  hasSums = isSum && isBfloat16<T> && shape.positions > chunk;
  first = prepareProduct(chunk, false);
  uint64_t scratch = first ? first->workspaceBytes : 0;
  bool isPrepared = first != nullptr;
  auto add = [&](std::unique_ptr<LibraryCall> &matmul, int64_t count) {
    matmul = prepareProduct(count, isSum);
    isPrepared &= matmul != nullptr;
    if (matmul)
      scratch = std::max(scratch, matmul->workspaceBytes);
  };
  if (shape.positions > chunk)
    add(next, chunk);
  if (int64_t rest = shape.positions % chunk)
    add(last, rest);
  // Our own matmuls of bf16 are no faster than our own gradients of filters.
  if (!isPrepared || (isBfloat16<T> && first->implementation == "tiles"))
    return false;
  outputOffset = windowsAreInput ? 0 : roundUp<T>(chunk * shape.taps);
  sumsOffset = outputOffset +
               (matrixIsOutput ? 0 : roundUp<T>(chunk * d.output_channels));
  matmulOffset = sumsOffset +
                 (hasSums ? roundUp<float>(d.output_channels * shape.taps) : 0);
  workspaceBytes = matmulOffset + scratch;
  if (isBfloat16<T> && shape.points == 1)
    copiedBytes =
        static_cast<uint64_t>(shape.positions) * sizeof(T) *
        static_cast<uint64_t>((windowsAreInput ? 0 : d.input_channels) +
                              (matrixIsOutput ? 0 : d.output_channels));
  implementation = "windows, " + first->implementation;
  return true;
}

template <typename T>
std::unique_ptr<LibraryCall>
WindowMatmul<T>::prepareProduct(int64_t count, bool accumulates) const {
  remat_matmul m = {};
  m.a_dtype = m.b_dtype = m.c_dtype = dtypeOf<T>;
  m.accumulate = accumulates;
  std::fill_n(m.batch, 3, 1);
  auto setA = [&](int64_t row, int64_t column) {
    m.a_m_stride = row;
    m.a_k_stride = column;
  };
  auto setB = [&](int64_t row, int64_t column) {
    m.b_k_stride = row;
    m.b_n_stride = column;
  };
  auto setC = [&](int64_t row, int64_t column) {
    m.c_m_stride = row;
    m.c_n_stride = column;
  };
  switch (d.kind) {
  case REMAT_CONV_FORWARD:
    m.m = d.output_channels, m.k = shape.taps, m.n = count;
    setA(filter.rowStride, filter.tapStride);
    setB(windowTap, windowPosition);
    setC(outputChannel, outputPosition);
    break;
  case REMAT_CONV_INPUT_GRADIENT:
    m.m = count, m.k = d.output_channels, m.n = shape.taps;
    setA(outputPosition, outputChannel);
    setB(filter.rowStride, filter.tapStride);
    setC(windowPosition, windowTap);
    break;
  default:
    m.m = d.output_channels, m.k = count, m.n = shape.taps;
    setA(outputChannel, outputPosition);
    setB(windowPosition, windowTap);
    setC(filter.rowStride, filter.tapStride);
    if (hasSums) {
      m.c_dtype = REMAT_F32;
      setC(shape.taps, 1);
    }
  }
  return prepareMatmul(m, threads);
}

template <typename T>
template <typename Function>
void WindowMatmul<T>::forEachElement(int64_t begin, int64_t count,
                                     int64_t firstChannel, int64_t lastChannel,
                                     const Function &function) const {
  int64_t pointStep = filter.channelIsSlow ? 1 : d.input_channels;
  int64_t channelStep = filter.channelIsSlow ? shape.points : 1;
  int64_t perImage = shape.positions / d.batch;
  for (int64_t position = 0; position < count; ++position) {
    int64_t n = (begin + position) / perImage;
    int64_t at = (begin + position) % perImage;
    for (int64_t point = 0; point < shape.points; ++point) {
      int64_t restOut = at, restPoint = point;
      int64_t in = n * d.input_strides[0];
      bool isInside = true;
      for (int i = d.spatial_rank - 1; i >= 0; --i) {
        int64_t x = restOut % d.output[i] * d.stride[i] +
                    restPoint % d.filter[i] * d.dilation[i] - d.pad_lo[i];
        restOut /= d.output[i];
        restPoint /= d.filter[i];
        isInside &= x >= 0 && x < d.input[i];
        in += x * d.input_strides[2 + i];
      }
      if (!isInside)
        continue;
      int64_t window =
          position * windowPosition + point * pointStep * windowTap;
      for (int64_t c = firstChannel; c < lastChannel; ++c)
        function(window + c * channelStep * windowTap,
                 in + c * d.input_strides[1]);
    }
  }
}

template <typename T>
void WindowMatmul<T>::gatherWindows(const T *input, T *windows, int64_t begin,
                                    int64_t count) const {
  bool hasRows = filter.channelIsSlow && windowTap == 1 &&
                 d.input_strides[1 + d.spatial_rank] == 1;
  if (hasRows && areApart())
    return gatherRows(input, windows, begin, count);
  // Elements outside of the input are zeros.
  std::memset(windows, 0, roundUp<T>(chunk * shape.taps));
  parallelFor(threads, d.input_channels, 16,
              [&](int64_t low, int64_t high, int) {
                forEachElement(begin, count, low, high,
                               [&](int64_t window, int64_t in) {
                                 windows[window] = input[in];
                               });
              });
}

/// The same for windows whose rows are rows of the input.
template <typename T>
void WindowMatmul<T>::gatherRows(const T *input, T *windows, int64_t begin,
                                 int64_t count) const {
  int inner = d.spatial_rank - 1;
  int64_t perImage = shape.positions / d.batch, length = d.filter[inner];
  parallelFor(threads, count, 16, [&](int64_t low, int64_t high, int) {
    for (int64_t position = low; position < high; ++position) {
      int64_t rest = (begin + position) % perImage;
      int64_t from = (begin + position) / perImage * d.input_strides[0];
      for (int i = inner; i >= 0; --i) {
        from += rest % d.output[i] * d.stride[i] * d.input_strides[2 + i];
        rest /= d.output[i];
      }
      T *to = windows + position * windowPosition;
      for (int64_t c = 0; c < d.input_channels; ++c)
        for (int64_t row = 0; row < shape.points / length; ++row) {
          int64_t at = from + c * d.input_strides[1], restRow = row;
          for (int i = inner - 1; i >= 0; --i) {
            at += restRow % d.filter[i] * d.input_strides[2 + i];
            restRow /= d.filter[i];
          }
          to = std::copy_n(input + at, length, to);
        }
    }
  });
}

template <typename T>
void WindowMatmul<T>::clearInput(T *input) const {
  parallelFor(threads, d.batch, 1, [&](int64_t begin, int64_t end, int) {
    int64_t points = 1;
    for (int i = 0; i < d.spatial_rank; ++i)
      points *= d.input[i];
    for (int64_t n = begin; n < end; ++n)
      for (int64_t point = 0; point < points; ++point) {
        int64_t rest = point, at = n * d.input_strides[0];
        for (int i = d.spatial_rank - 1; i >= 0; --i) {
          at += rest % d.input[i] * d.input_strides[2 + i];
          rest /= d.input[i];
        }
        for (int64_t c = 0; c < d.input_channels; ++c)
          input[at + c * d.input_strides[1]] = T();
      }
  });
}

template <typename T>
void WindowMatmul<T>::scatterWindows(const T *windows, T *input, int64_t begin,
                                     int64_t count) const {
  // Windows overlap. The sum of an element is one thread's, in their order.
  parallelFor(threads, d.input_channels, 16,
              [&](int64_t low, int64_t high, int) {
                forEachElement(begin, count, low, high,
                               [&](int64_t window, int64_t in) {
                                 if constexpr (!isBfloat16<T>)
                                   input[in] += windows[window];
                               });
              });
}

template <typename T>
template <bool toMatrix>
void WindowMatmul<T>::copyOutput(T *output, T *matrix, int64_t begin,
                                 int64_t count) const {
  int64_t perImage = shape.positions / d.batch;
  parallelFor(threads, count, 16, [&](int64_t low, int64_t high, int) {
    for (int64_t position = low; position < high; ++position) {
      int64_t rest = (begin + position) % perImage;
      int64_t out = (begin + position) / perImage * d.output_strides[0];
      for (int i = d.spatial_rank - 1; i >= 0; --i) {
        out += rest % d.output[i] * d.output_strides[2 + i];
        rest /= d.output[i];
      }
      T *row = matrix + position * outputPosition;
      for (int64_t c = 0; c < d.output_channels; ++c) {
        T &inMatrix = row[c * outputChannel];
        T &inOutput = output[out + c * d.output_strides[1]];
        if (toMatrix)
          inMatrix = inOutput;
        else
          inOutput = inMatrix;
      }
    }
  });
}

template <typename T>
bool WindowMatmul<T>::runChunk(int64_t begin, const void *const *operands,
                               void *result, char *workspace,
                               std::string &error) {
  int64_t count = std::min(chunk, shape.positions - begin);
  LibraryCall &matmul = *(count < chunk ? last : begin == 0 ? first : next);
  auto elements = [](const void *data) {
    return static_cast<T *>(const_cast<void *>(data));
  };
  auto *windows = reinterpret_cast<T *>(workspace);
  auto *matrix = reinterpret_cast<T *>(workspace + outputOffset);
  void *scratch = workspace + matmulOffset;
  switch (d.kind) {
  case REMAT_CONV_FORWARD: {
    gatherWindows(elements(operands[0]), windows, begin, count);
    const void *factors[] = {operands[1], windows};
    if (!matmul.run(factors, matrix, scratch, error))
      return false;
    copyOutput<false>(elements(result), matrix, begin, count);
    return true;
  }
  case REMAT_CONV_INPUT_GRADIENT: {
    copyOutput<true>(elements(operands[0]), matrix, begin, count);
    const void *factors[] = {matrix, operands[1]};
    if (!matmul.run(factors, windows, scratch, error))
      return false;
    scatterWindows(windows, elements(result), begin, count);
    return true;
  }
  default: {
    T *input = elements(operands[0]), *output = elements(operands[1]);
    if (windowsAreInput)
      windows = input + begin * windowPosition;
    else
      gatherWindows(input, windows, begin, count);
    if (matrixIsOutput)
      matrix = output + begin * outputPosition;
    else
      copyOutput<true>(output, matrix, begin, count);
    const void *factors[] = {matrix, windows};
    return matmul.run(factors, hasSums ? workspace + sumsOffset : result,
                      scratch, error);
  }
  }
}

/// Rounds the gradient of a filter.
template <typename T>
void WindowMatmul<T>::roundSums(const float *sums, void *result) const {
  parallelFor(
      threads, d.output_channels, 16, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row)
          storeRow(sums + row * shape.taps, result, d.filter_dtype,
                   row * filter.rowStride, filter.tapStride, shape.taps);
      });
}

template <typename T>
bool WindowMatmul<T>::run(const void *const *operands, void *result,
                          void *workspace, std::string &error) {
  auto *bytes = static_cast<char *>(workspace);
  if (d.kind == REMAT_CONV_INPUT_GRADIENT)
    clearInput(static_cast<T *>(result));
  for (int64_t begin = 0; begin < shape.positions; begin += chunk)
    if (!runChunk(begin, operands, result, bytes, error))
      return false;
  if (hasSums)
    roundSums(reinterpret_cast<float *>(bytes + sumsOffset), result);
  return true;
}

template <typename T>
static std::unique_ptr<LibraryCall>
prepareAs(const remat_convolution &descriptor, int threads) {
  auto call = std::make_unique<WindowMatmul<T>>();
  if (!call->prepare(descriptor, threads))
    return nullptr;
  return call;
}

std::unique_ptr<LibraryCall>
remat::prepareWindowMatmul(const remat_convolution &descriptor, int threads) {
  if (descriptor.input_dtype == REMAT_F64)
    return prepareAs<double>(descriptor, threads);
  if (descriptor.input_dtype == REMAT_BF16)
    return prepareAs<Bfloat16>(descriptor, threads);
  return prepareAs<float>(descriptor, threads);
}
