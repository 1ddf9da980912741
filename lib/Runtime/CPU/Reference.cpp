//===- Reference.cpp - convolutions by plain loops ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The answer for every sound description: other element types, strides that the
// library does not take, empty sums. One thread computes an element, adding in
// the order of the indices, so that the result depends on nothing else.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "LibraryCall.h"
#include "Threads.h"

#include <algorithm>

using namespace remat;

namespace {

/// Elements of a row that are computed together.
constexpr int64_t width = 64;

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// A convolution as three spatial dims: missing ones come first, with extent 1.
struct Geometry {
  explicit Geometry(const remat_convolution &d) {
    std::copy_n(d.input_strides, 2, inputStrides);
    std::copy_n(d.filter_strides, 3, filterStrides);
    std::copy_n(d.output_strides, 2, outputStrides);
    for (int from = 0; from < d.spatial_rank; ++from) {
      int to = 3 - d.spatial_rank + from;
      input[to] = d.input[from];
      filter[to] = d.filter[from];
      output[to] = d.output[from];
      stride[to] = d.stride[from];
      dilation[to] = d.dilation[from];
      pad[to] = d.pad_lo[from];
      inputStrides[2 + to] = d.input_strides[2 + from];
      filterStrides[3 + to] = d.filter_strides[3 + from];
      outputStrides[2 + to] = d.output_strides[2 + from];
    }
    inputsPerGroup = d.input_channels / d.groups;
    outputsPerGroup = d.output_channels / d.groups;
  }

  /// Input position of output position `out` and filter position `r`.
  int64_t inputAt(int dim, int64_t out, int64_t r) const {
    return out * stride[dim] + r * dilation[dim] - pad[dim];
  }

  /// The output positions [begin, end) whose input position at `r` lies in
  /// [low, high).
  void outputsFor(int dim, int64_t r, int64_t low, int64_t high, int64_t &begin,
                  int64_t &end) const {
    int64_t shift = r * dilation[dim] - pad[dim];
    begin = ceilDiv(low - shift, stride[dim]);
    end = std::min(output[dim], ceilDiv(high - shift, stride[dim]));
  }

  /// a / b rounded up, and 0 when a is negative. b > 0.
  static int64_t ceilDiv(int64_t a, int64_t b) {
    return a <= 0 ? 0 : (a - 1) / b + 1;
  }

  int64_t input[3] = {1, 1, 1}, filter[3] = {1, 1, 1}, output[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {};
  int64_t inputStrides[5] = {}, filterStrides[6] = {}, outputStrides[5] = {};
  int64_t inputsPerGroup, outputsPerGroup;
};

/// Adds the bias of a channel, if there is one.
template <typename T>
void addBias(T (&sums)[width], const remat_convolution &d, const void *bias,
             int32_t dtype, int64_t channel, int64_t count) {
  if (!d.bias)
    return;
  T added;
  loadRow(&added, bias, dtype, channel, 1, 1);
  for (int64_t j = 0; j < count; ++j)
    sums[j] += added;
}

/// Calls body(n, channel, y, x, begin, count) for each piece of at most `width`
/// elements of the rows of an activation with `extents`.
template <typename Body>
void forEachPiece(int threads, int64_t batch, int64_t channels,
                  const int64_t (&extents)[3], const Body &body) {
  int64_t pieces = (extents[2] + width - 1) / width;
  int64_t total = batch * channels * extents[0] * extents[1] * pieces;
  parallelFor(threads, total, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t at = first; at < last; ++at) {
      int64_t rest = at;
      auto take = [&](int64_t extent) {
        int64_t index = rest % extent;
        rest /= extent;
        return index;
      };
      int64_t begin = take(pieces) * width;
      int64_t x = take(extents[1]), y = take(extents[0]);
      int64_t channel = take(channels), n = take(batch);
      body(n, channel, y, x, begin, std::min(width, extents[2] - begin));
    }
  });
}

template <typename T>
void convolutionForward(const remat_convolution &d, const Geometry &g,
                        int threads, const void *input, const void *filter,
                        const void *bias, void *output) {
  auto piece = [&](int64_t n, int64_t channel, int64_t y, int64_t x,
                   int64_t begin, int64_t count) {
    T sums[width] = {}, row[width], weight;
    int64_t group = channel / g.outputsPerGroup;
    int64_t f0 = group * g.filterStrides[0] +
                 channel % g.outputsPerGroup * g.filterStrides[1];
    for (int64_t i = 0; i < g.inputsPerGroup; ++i)
      for (int64_t ry = 0; ry < g.filter[0]; ++ry)
        for (int64_t rx = 0; rx < g.filter[1]; ++rx) {
          int64_t iy = g.inputAt(0, y, ry), ix = g.inputAt(1, x, rx);
          if (iy < 0 || iy >= g.input[0] || ix < 0 || ix >= g.input[1])
            continue;
          int64_t base = n * g.inputStrides[0] +
                         (group * g.inputsPerGroup + i) * g.inputStrides[1] +
                         iy * g.inputStrides[2] + ix * g.inputStrides[3];
          int64_t f1 = f0 + i * g.filterStrides[2] + ry * g.filterStrides[3] +
                       rx * g.filterStrides[4];
          for (int64_t r = 0; r < g.filter[2]; ++r) {
            int64_t low, high;
            g.outputsFor(2, r, 0, g.input[2], low, high);
            low = std::max(low, begin);
            high = std::min(high, begin + count);
            if (low >= high)
              continue;
            loadRow(&weight, filter, d.filter_dtype,
                    f1 + r * g.filterStrides[5], 1, 1);
            loadRow(row, input, d.input_dtype,
                    base + g.inputAt(2, low, r) * g.inputStrides[4],
                    g.stride[2] * g.inputStrides[4], high - low);
            for (int64_t j = low; j < high; ++j)
              sums[j - begin] += row[j - low] * weight;
          }
        }
    addBias(sums, d, bias, d.output_dtype, channel, count);
    storeRow(sums, output, d.output_dtype,
             n * g.outputStrides[0] + channel * g.outputStrides[1] +
                 y * g.outputStrides[2] + x * g.outputStrides[3] +
                 begin * g.outputStrides[4],
             g.outputStrides[4], count);
  };
  forEachPiece(threads, d.batch, d.output_channels, g.output, piece);
}

/// The output position that reads input position `in` at filter position `r`,
/// or -1.
int64_t outputAt(const Geometry &g, int dim, int64_t in, int64_t r) {
  int64_t shifted = in + g.pad[dim] - r * g.dilation[dim];
  if (shifted < 0 || shifted % g.stride[dim] != 0)
    return -1;
  int64_t out = shifted / g.stride[dim];
  return out < g.output[dim] ? out : -1;
}

template <typename T>
void convolutionInputGradient(const remat_convolution &d, const Geometry &g,
                              int threads, const void *output,
                              const void *filter, const void *bias,
                              void *input) {
  auto piece = [&](int64_t n, int64_t channel, int64_t y, int64_t x,
                   int64_t begin, int64_t count) {
    T sums[width] = {}, row[width], weight;
    int64_t group = channel / g.inputsPerGroup;
    int64_t f0 = group * g.filterStrides[0] +
                 channel % g.inputsPerGroup * g.filterStrides[2];
    for (int64_t o = 0; o < g.outputsPerGroup; ++o)
      for (int64_t ry = 0; ry < g.filter[0]; ++ry)
        for (int64_t rx = 0; rx < g.filter[1]; ++rx) {
          int64_t oy = outputAt(g, 0, y, ry), ox = outputAt(g, 1, x, rx);
          if (oy < 0 || ox < 0)
            continue;
          int64_t base = n * g.outputStrides[0] +
                         (group * g.outputsPerGroup + o) * g.outputStrides[1] +
                         oy * g.outputStrides[2] + ox * g.outputStrides[3];
          int64_t f1 = f0 + o * g.filterStrides[1] + ry * g.filterStrides[3] +
                       rx * g.filterStrides[4];
          for (int64_t r = 0; r < g.filter[2]; ++r) {
            int64_t low, high;
            g.outputsFor(2, r, begin, begin + count, low, high);
            if (low >= high)
              continue;
            loadRow(&weight, filter, d.filter_dtype,
                    f1 + r * g.filterStrides[5], 1, 1);
            loadRow(row, output, d.output_dtype,
                    base + low * g.outputStrides[4], g.outputStrides[4],
                    high - low);
            for (int64_t j = low; j < high; ++j)
              sums[g.inputAt(2, j, r) - begin] += row[j - low] * weight;
          }
        }
    addBias(sums, d, bias, d.input_dtype, channel, count);
    storeRow(sums, input, d.input_dtype,
             n * g.inputStrides[0] + channel * g.inputStrides[1] +
                 y * g.inputStrides[2] + x * g.inputStrides[3] +
                 begin * g.inputStrides[4],
             g.inputStrides[4], count);
  };
  forEachPiece(threads, d.batch, d.input_channels, g.input, piece);
}

/// Sum over batch and positions of one element of the filter, whose channels
/// start at `input` and `output` and whose filter position is `r`.
template <typename T>
T filterElement(const remat_convolution &d, const Geometry &g,
                const void *inputData, const void *outputData, int64_t input,
                int64_t output, const int64_t (&r)[3]) {
  int64_t low, high;
  g.outputsFor(2, r[2], 0, g.input[2], low, high);
  T sum = 0, inputRow[width], outputRow[width];
  for (int64_t n = 0; n < d.batch; ++n)
    for (int64_t y = 0; y < g.output[0]; ++y)
      for (int64_t x = 0; x < g.output[1]; ++x) {
        int64_t iy = g.inputAt(0, y, r[0]), ix = g.inputAt(1, x, r[1]);
        if (iy < 0 || iy >= g.input[0] || ix < 0 || ix >= g.input[1])
          continue;
        int64_t in = input + n * g.inputStrides[0] + iy * g.inputStrides[2] +
                     ix * g.inputStrides[3];
        int64_t out = output + n * g.outputStrides[0] + y * g.outputStrides[2] +
                      x * g.outputStrides[3];
        for (int64_t at = low; at < high; at += width) {
          int64_t count = std::min(width, high - at);
          loadRow(inputRow, inputData, d.input_dtype,
                  in + g.inputAt(2, at, r[2]) * g.inputStrides[4],
                  g.stride[2] * g.inputStrides[4], count);
          loadRow(outputRow, outputData, d.output_dtype,
                  out + at * g.outputStrides[4], g.outputStrides[4], count);
          for (int64_t j = 0; j < count; ++j)
            sum += inputRow[j] * outputRow[j];
        }
      }
  return sum;
}

template <typename T>
void convolutionFilterGradient(const remat_convolution &d, const Geometry &g,
                               int threads, const void *input,
                               const void *output, void *filter) {
  int64_t positions = g.filter[0] * g.filter[1] * g.filter[2];
  int64_t total = d.output_channels * g.inputsPerGroup * positions;
  parallelFor(threads, total, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin; at < end; ++at) {
      int64_t position = at % positions, rest = at / positions;
      int64_t i = rest % g.inputsPerGroup, channel = rest / g.inputsPerGroup;
      int64_t group = channel / g.outputsPerGroup;
      int64_t r[3] = {position / g.filter[2] / g.filter[1],
                      position / g.filter[2] % g.filter[1],
                      position % g.filter[2]};
      T sum =
          filterElement<T>(d, g, input, output,
                           (group * g.inputsPerGroup + i) * g.inputStrides[1],
                           channel * g.outputStrides[1], r);
      storeRow(&sum, filter, d.filter_dtype,
               group * g.filterStrides[0] +
                   channel % g.outputsPerGroup * g.filterStrides[1] +
                   i * g.filterStrides[2] + r[0] * g.filterStrides[3] +
                   r[1] * g.filterStrides[4] + r[2] * g.filterStrides[5],
               1, 1);
    }
  });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// True when a result with these extents has no elements. The other extents
/// may then be anything, so that not even their product may be formed.
template <size_t Count>
bool isEmpty(const int64_t (&extents)[Count]) {
  return std::find(extents, extents + Count, 0) != extents + Count;
}

bool isEmpty(const remat_convolution &d, const Geometry &g) {
  auto empty = [](int64_t a, int64_t b, const int64_t (&spatial)[3]) {
    return a == 0 || b == 0 || isEmpty(spatial);
  };
  switch (d.kind) {
  case REMAT_CONV_FORWARD:
    return empty(d.batch, d.output_channels, g.output);
  case REMAT_CONV_INPUT_GRADIENT:
    return empty(d.batch, d.input_channels, g.input);
  default:
    return empty(d.input_channels, d.output_channels, g.filter);
  }
}

struct ReferenceConvolution : LibraryCall {
  explicit ReferenceConvolution(const remat_convolution &convolution)
      : d(convolution), geometry(convolution) {}

  bool run(const void *const *operands, void *result, void *,
           std::string &) override {
    if (isEmpty(d, geometry))
      return true;
    const void *bias = d.bias ? operands[2] : nullptr;
    dispatch({d.input_dtype, d.filter_dtype, d.output_dtype}, [&](auto zero) {
      using T = decltype(zero);
      switch (d.kind) {
      case REMAT_CONV_FORWARD:
        return convolutionForward<T>(d, geometry, threads, operands[0],
                                     operands[1], bias, result);
      case REMAT_CONV_INPUT_GRADIENT:
        return convolutionInputGradient<T>(d, geometry, threads, operands[0],
                                           operands[1], bias, result);
      default:
        return convolutionFilterGradient<T>(d, geometry, threads, operands[0],
                                            operands[1], result);
      }
    });
    return true;
  }

  remat_convolution d;
  Geometry geometry;
};

} // namespace

std::unique_ptr<LibraryCall>
remat::referenceConvolution(const remat_convolution &descriptor, int threads) {
  auto call = std::make_unique<ReferenceConvolution>(descriptor);
  call->threads = threads;
  call->implementation = "reference";
  return call;
}
