//===- WindowProduct.cpp - convolutions with few positions ----------------===//
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
// factor, whose size is at most the filter's, and one product does the rest:
//
//   forward           output   [channel, position] = filter * windows
//   input gradient    windows  [position, tap]     = output^T * filter,
//                     of which the input's elements are sums
//   filter gradient   filter   [channel, tap]      = output * windows^T
//
//===----------------------------------------------------------------------===//

#include "LibraryCall.h"
#include "Threads.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace remat;

namespace {

/// Numbers of a convolution as products. A tap is an input channel at one
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

/// The filter as a matrix: taps at a distance of `tapStride` if they are
/// counted with the channel as the slowest index, or else as the fastest.
struct FilterMatrix {
  bool find(const remat_convolution &d, const WindowShape &shape) {
    rowStride = d.filter_strides[1];
    // Strides of extents 1 mean nothing.
    int last = d.spatial_rank - 1;
    while (last >= 0 && d.filter[last] == 1)
      --last;
    int64_t expected = last >= 0 ? d.filter_strides[3 + last] : 0;
    pointStride = expected;
    for (int i = last; i >= 0; --i) {
      if (d.filter[i] != 1 && d.filter_strides[3 + i] != expected)
        return false;
      expected *= d.filter[i];
    }
    int64_t channelStride = d.filter_strides[2];
    if (last < 0 || d.input_channels == 1) {
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

class WindowProduct : public LibraryCall {
public:
  bool prepare(const remat_convolution &descriptor, int numThreads);
  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  /// Calls function(window, input) with the offsets of all elements of windows
  /// that lie in the input, of the images [begin, end) and input channels
  /// [firstChannel, lastChannel).
  template <typename Function>
  void forEachElement(int64_t begin, int64_t end, int64_t firstChannel,
                      int64_t lastChannel, const Function &function) const;
  void gatherWindows(const float *input, float *windows) const;
  void scatterWindows(const float *windows, float *input) const;
  /// Copies between the output and its matrix.
  template <bool toMatrix>
  void copyOutput(float *output, float *matrix) const;

  remat_convolution d;
  WindowShape shape{remat_convolution{}};
  FilterMatrix filter;
  /// Strides of the matrices in the workspace.
  int64_t windowPosition = 0, windowTap = 0;
  int64_t outputPosition = 0, outputChannel = 0;
  uint64_t outputOffset = 0, productOffset = 0;
  std::unique_ptr<LibraryCall> product;
};

uint64_t roundUp(int64_t elements) {
  uint64_t bytes = static_cast<uint64_t>(elements) * sizeof(float);
  return (bytes + REMAT_ALIGNMENT - 1) / REMAT_ALIGNMENT * REMAT_ALIGNMENT;
}

} // namespace

bool WindowProduct::prepare(const remat_convolution &descriptor,
                            int numThreads) {
  d = descriptor;
  threads = numThreads;
  shape = WindowShape(d);
  bool isF32 = d.input_dtype == REMAT_F32 && d.filter_dtype == REMAT_F32 &&
               d.output_dtype == REMAT_F32;
  if (!isF32 || d.groups != 1 || shape.positions > d.output_channels ||
      !filter.find(d, shape))
    return false;
  bool isForward = d.kind == REMAT_CONV_FORWARD;
  windowPosition = isForward ? 1 : shape.taps;
  windowTap = isForward ? shape.positions : 1;
  bool isInput = d.kind == REMAT_CONV_INPUT_GRADIENT;
  outputPosition = isInput ? d.output_channels : 1;
  outputChannel = isInput ? 1 : shape.positions;

  remat_matmul m = {};
  m.a_dtype = m.b_dtype = m.c_dtype = REMAT_F32;
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
    m.m = d.output_channels, m.k = shape.taps, m.n = shape.positions;
    setA(filter.rowStride, filter.tapStride);
    setB(windowTap, windowPosition);
    setC(outputChannel, outputPosition);
    break;
  case REMAT_CONV_INPUT_GRADIENT:
    m.m = shape.positions, m.k = d.output_channels, m.n = shape.taps;
    setA(outputPosition, outputChannel);
    setB(filter.rowStride, filter.tapStride);
    setC(windowPosition, windowTap);
    break;
  default:
    m.m = d.output_channels, m.k = shape.positions, m.n = shape.taps;
    setA(outputChannel, outputPosition);
    setB(windowPosition, windowTap);
    setC(filter.rowStride, filter.tapStride);
  }
  product = prepareMatmul(m, threads);
  if (!product)
    return false;
  outputOffset = roundUp(shape.positions * shape.taps);
  productOffset = outputOffset + roundUp(shape.positions * d.output_channels);
  workspaceBytes = productOffset + product->workspaceBytes;
  implementation = "windows, " + product->implementation;
  return true;
}

template <typename Function>
void WindowProduct::forEachElement(int64_t begin, int64_t end,
                                   int64_t firstChannel, int64_t lastChannel,
                                   const Function &function) const {
  int64_t pointStep = filter.channelIsSlow ? 1 : d.input_channels;
  int64_t channelStep = filter.channelIsSlow ? shape.points : 1;
  int64_t perImage = shape.positions / d.batch;
  for (int64_t n = begin; n < end; ++n)
    for (int64_t at = 0; at < perImage; ++at)
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
        int64_t window = (n * perImage + at) * windowPosition +
                         point * pointStep * windowTap;
        for (int64_t c = firstChannel; c < lastChannel; ++c)
          function(window + c * channelStep * windowTap,
                   in + c * d.input_strides[1]);
      }
}

void WindowProduct::gatherWindows(const float *input, float *windows) const {
  // Elements outside of the input are zeros.
  std::memset(windows, 0, roundUp(shape.positions * shape.taps));
  parallelFor(
      threads, d.input_channels, 16, [&](int64_t begin, int64_t end, int) {
        forEachElement(0, d.batch, begin, end, [&](int64_t window, int64_t in) {
          windows[window] = input[in];
        });
      });
}

void WindowProduct::scatterWindows(const float *windows, float *input) const {
  // An image's windows overlap only each other, and run on one thread.
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
          input[at + c * d.input_strides[1]] = 0;
      }
    forEachElement(
        begin, end, 0, d.input_channels,
        [&](int64_t window, int64_t in) { input[in] += windows[window]; });
  });
}

template <bool toMatrix>
void WindowProduct::copyOutput(float *output, float *matrix) const {
  int64_t perImage = shape.positions / d.batch;
  parallelFor(threads, d.batch, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t at = 0; at < perImage; ++at) {
        int64_t rest = at, out = n * d.output_strides[0];
        for (int i = d.spatial_rank - 1; i >= 0; --i) {
          out += rest % d.output[i] * d.output_strides[2 + i];
          rest /= d.output[i];
        }
        float *row = matrix + (n * perImage + at) * outputPosition;
        for (int64_t c = 0; c < d.output_channels; ++c) {
          float &inMatrix = row[c * outputChannel];
          float &inOutput = output[out + c * d.output_strides[1]];
          if (toMatrix)
            inMatrix = inOutput;
          else
            inOutput = inMatrix;
        }
      }
  });
}

bool WindowProduct::run(const void *const *operands, void *result,
                        void *workspace, std::string &error) {
  auto *base = static_cast<char *>(workspace);
  auto *windows = reinterpret_cast<float *>(base);
  auto *matrix = reinterpret_cast<float *>(base + outputOffset);
  void *scratch = base + productOffset;
  auto floats = [](const void *data) {
    return static_cast<float *>(const_cast<void *>(data));
  };
  switch (d.kind) {
  case REMAT_CONV_FORWARD: {
    gatherWindows(floats(operands[0]), windows);
    const void *factors[] = {operands[1], windows};
    if (!product->run(factors, matrix, scratch, error))
      return false;
    copyOutput<false>(floats(result), matrix);
    return true;
  }
  case REMAT_CONV_INPUT_GRADIENT: {
    copyOutput<true>(floats(operands[0]), matrix);
    const void *factors[] = {matrix, operands[1]};
    if (!product->run(factors, windows, scratch, error))
      return false;
    scatterWindows(windows, floats(result));
    return true;
  }
  default: {
    gatherWindows(floats(operands[0]), windows);
    copyOutput<true>(floats(operands[1]), matrix);
    const void *factors[] = {matrix, windows};
    return product->run(factors, result, scratch, error);
  }
  }
}

std::unique_ptr<LibraryCall>
remat::prepareWindowProduct(const remat_convolution &descriptor, int threads) {
  auto call = std::make_unique<WindowProduct>();
  if (!call->prepare(descriptor, threads))
    return nullptr;
  return call;
}
