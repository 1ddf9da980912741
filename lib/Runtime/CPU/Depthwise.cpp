//===- Depthwise.cpp - filter gradients of depthwise convolutions ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN has a direct kernel for filters of width 3; for others it makes a
// matmul of each channel, with one row, at a fiftieth of the speed.
// Here a vector holds the same place of several channels:
//
//   filter[tap] += input[position * stride + tap * dilation] * output[position]
//
// A few taps are summed in registers at a time. Images are copied to that
// layout in bands that stay in cache, with their padding, so that no loop asks
// where an image ends. Sums over a band are f32, those of bands f64; what is
// added in which order does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "LibraryCall.h"
#include "Threads.h"
#include "Tuning.h"
#include "VectorIsa.h"

#include <algorithm>
#include <vector>

using namespace remat;

namespace {

constexpr int64_t numLanes = 16;
/// Taps whose sums are in registers, with one more vector: 16 of AVX2.
constexpr int64_t maxTaps = 7;

using Lanes = float __attribute__((vector_size(numLanes * sizeof(float))));

/// A band of `extent` output positions, in the copies that the loops read.
struct Band {
  const float *input, *output;
  int64_t extent[3];
  /// Distances in the copy of the input, in vectors: from one output position
  /// to the next in each dimension.
  int64_t step[3];
};

/// sums[tap][lane] += over the band, for `numTaps` taps that lie at `offsets`
/// in the input.
template <int numTaps>
[[gnu::always_inline]] inline void
addTaps(const Band &band, const int64_t *offsets, double *sums) {
  Lanes sum[numTaps] = {};
  const auto *output = reinterpret_cast<const Lanes *>(band.output);
  for (int64_t z = 0; z < band.extent[0]; ++z)
    for (int64_t y = 0; y < band.extent[1]; ++y) {
      const auto *input = reinterpret_cast<const Lanes *>(band.input) +
                          z * band.step[0] + y * band.step[1];
      for (int64_t x = 0; x < band.extent[2]; ++x) {
        Lanes factor = *output++;
        for (int tap = 0; tap < numTaps; ++tap)
          sum[tap] += input[offsets[tap]] * factor;
        input += band.step[2];
      }
    }
  for (int tap = 0; tap < numTaps; ++tap)
    for (int64_t lane = 0; lane < numLanes; ++lane)
      sums[tap * numLanes + lane] += double(sum[tap][lane]);
}

/// The same for at most `most` taps.
template <int most = maxTaps>
[[gnu::always_inline]] inline void addAnyTaps(const Band &band,
                                              const int64_t *offsets,
                                              int64_t numTaps, double *sums) {
  if constexpr (most > 1)
    if (numTaps < most)
      return addAnyTaps<most - 1>(band, offsets, numTaps, sums);
  addTaps<most>(band, offsets, sums);
}

using AddTaps = void (*)(const Band &, const int64_t *, int64_t, double *);

void addTapsPortable(const Band &band, const int64_t *offsets, int64_t numTaps,
                     double *sums) {
  addAnyTaps(band, offsets, numTaps, sums);
}

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void addTapsAvx2(const Band &band,
                                             const int64_t *offsets,
                                             int64_t numTaps, double *sums) {
  addAnyTaps(band, offsets, numTaps, sums);
}

[[gnu::target("avx512f")]] void addTapsAvx512(const Band &band,
                                              const int64_t *offsets,
                                              int64_t numTaps, double *sums) {
  addAnyTaps(band, offsets, numTaps, sums);
}
#endif

/// The loops for this machine.
AddTaps pickAddTaps() {
#ifdef __x86_64__
  switch (getVectorIsa()) {
  case VectorIsa::Avx512:
    return addTapsAvx512;
  case VectorIsa::Avx2:
    return addTapsAvx2;
  case VectorIsa::Portable:
    break;
  }
#endif
  return addTapsPortable;
}

/// to[j * numLanes + i] = from[i * stride + j], for i and j below 4.
void transposeSquare(const float *from, int64_t stride, float *to) {
  using Four = float __attribute__((vector_size(16)));
  Four rows[4];
  for (int i = 0; i < 4; ++i)
    std::memcpy(&rows[i], from + i * stride, sizeof(Four));
  Four low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  Four high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  Four low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  Four high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  Four columns[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                     __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                     __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                     __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int j = 0; j < 4; ++j)
    std::memcpy(to + j * numLanes, &columns[j], sizeof(Four));
}

uint64_t roundUp(int64_t bytes) {
  return (static_cast<uint64_t>(bytes) + REMAT_ALIGNMENT - 1) /
         REMAT_ALIGNMENT * REMAT_ALIGNMENT;
}

class DepthwiseFilterGradient : public LibraryCall {
public:
  DepthwiseFilterGradient(const remat_convolution &descriptor, int numThreads);
  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  /// One side of the convolution: a tensor and the copy of a band of it.
  struct Side {
    int32_t dtype;
    const int64_t *strides;
    /// Extents and strides of the tensor, as if it had three dimensions.
    int64_t extent[3] = {1, 1, 1}, stride[3] = {0, 0, 0};
    /// Of the copy.
    int64_t copied[3] = {1, 1, 1};
    int64_t countCopied() const { return copied[0] * copied[1] * copied[2]; }
  };

  /// How many rows, slices or elements of the input, in the first dimension,
  /// `count` ones of the output need.
  int64_t reach(int dim, int64_t count) const {
    return (count - 1) * step[dim] + (filter[dim] - 1) * dilation[dim] + 1;
  }
  /// Copies `count` elements from position `from` of a channel's image on, of
  /// all channels that belong to the output channels [channel, channel +
  /// lanes).
  void copyRow(const Side &side, const void *data, int64_t from,
               int64_t channel, int64_t lanes, int64_t channelsPerInput,
               int64_t count, float *to) const;
  /// Copies `side`, of image `n`, from position `at` on, with the channels that
  /// belong to the output channels [channel, channel + lanes).
  void copyBand(const Side &side, const void *data, int64_t n,
                const int64_t (&at)[3], int64_t channel, int64_t lanes,
                int64_t channelsPerInput, float *copy) const;
  /// Adds the gradient of a block of channels over the images [begin, end).
  void addImages(const void *const *operands, int64_t begin, int64_t end,
                 int64_t channel, float *copies, double *sums) const;
  void store(const double *sums, void *result) const;

  remat_convolution d;
  Side input, output;
  int64_t filter[3] = {1, 1, 1}, step[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0}, filterStride[3] = {0, 0, 0};
  /// The first dimension there is; bands are of `bandExtent` positions in it.
  int first;
  int64_t bandExtent, numTaps, numBlocks, numParts;
  std::vector<int64_t> offsets;
  uint64_t copyBytes, sumBytes;
};

} // namespace

DepthwiseFilterGradient::DepthwiseFilterGradient(
    const remat_convolution &descriptor, int numThreads)
    : d(descriptor), first(3 - d.spatial_rank) {
  threads = numThreads;
  implementation = "depthwise";
  input.dtype = d.input_dtype, output.dtype = d.output_dtype;
  input.strides = d.input_strides, output.strides = d.output_strides;
  for (int i = 0; i < d.spatial_rank; ++i) {
    int dim = first + i;
    filter[dim] = d.filter[i];
    step[dim] = d.stride[i];
    dilation[dim] = d.dilation[i];
    padding[dim] = d.pad_lo[i];
    filterStride[dim] = d.filter_strides[3 + i];
    input.extent[dim] = d.input[i];
    input.stride[dim] = d.input_strides[2 + i];
    output.extent[dim] = output.copied[dim] = d.output[i];
    output.stride[dim] = d.output_strides[2 + i];
    input.copied[dim] = reach(dim, d.output[i]);
  }
  // As many positions as keep both copies in cache, of about equal bands.
  constexpr int64_t maxVectors =
      DepthwiseTuning::maxCopiedBytes / sizeof(Lanes);
  int64_t bands = 1;
  do {
    bandExtent = (output.extent[first] + bands - 1) / bands;
    output.copied[first] = bandExtent;
    input.copied[first] = reach(first, bandExtent);
    ++bands;
  } while (bandExtent > 1 &&
           input.countCopied() + output.countCopied() > maxVectors);
  for (int64_t z = 0; z < filter[0]; ++z)
    for (int64_t y = 0; y < filter[1]; ++y)
      for (int64_t x = 0; x < filter[2]; ++x)
        offsets.push_back(
            (z * dilation[0] * input.copied[1] + y * dilation[1]) *
                input.copied[2] +
            x * dilation[2]);
  numTaps = static_cast<int64_t>(offsets.size());
  numBlocks = (d.output_channels + numLanes - 1) / numLanes;
  constexpr int64_t wantedPieces = DepthwiseTuning::wantedPieces;
  numParts = std::min(d.batch, (wantedPieces + numBlocks - 1) / numBlocks);
  copyBytes = (input.countCopied() + output.countCopied()) * sizeof(Lanes);
  sumBytes = roundUp(numTaps * numLanes * int64_t(sizeof(double)));
  threads = static_cast<int>(
      std::min<int64_t>(std::max(threads, 1), numBlocks * numParts));
  workspaceBytes =
      threads * copyBytes + uint64_t(numBlocks * numParts) * sumBytes;
}

void DepthwiseFilterGradient::copyRow(const Side &side, const void *data,
                                      int64_t from, int64_t channel,
                                      int64_t lanes, int64_t channelsPerInput,
                                      int64_t count, float *to) const {
  int64_t channelStride = side.strides[1], xStride = side.stride[2];
  int64_t x = 0, lane = 0;
  if (side.dtype == REMAT_F32 && channelsPerInput == 1) {
    const float *source =
        static_cast<const float *>(data) + from + channel * channelStride;
    if (channelStride == 1 && lanes == numLanes) {
      for (; x < count; ++x)
        std::memcpy(to + x * numLanes, source + x * xStride, sizeof(Lanes));
      return;
    }
    // Squares of 4 x 4 elements; what is left below and beside them follows.
    if (xStride == 1)
      for (; lane + 4 <= lanes; lane += 4)
        for (x = 0; x + 4 <= count; x += 4)
          transposeSquare(source + lane * channelStride + x, channelStride,
                          to + x * numLanes + lane);
  }
  constexpr int64_t maxRow = 64;
  float row[maxRow];
  for (int64_t done = lane, i = 0; i < lanes; ++i)
    for (int64_t at = i < done ? x : 0; at < count; at += maxRow) {
      int64_t length = std::min(maxRow, count - at);
      loadRow(row, data, side.dtype,
              from + at * xStride +
                  (channel + i) / channelsPerInput * channelStride,
              xStride, length);
      for (int64_t j = 0; j < length; ++j)
        to[(at + j) * numLanes + i] = row[j];
    }
}

void DepthwiseFilterGradient::copyBand(const Side &side, const void *data,
                                       int64_t n, const int64_t (&at)[3],
                                       int64_t channel, int64_t lanes,
                                       int64_t channelsPerInput,
                                       float *copy) const {
  // Elements of a row that are in the tensor.
  int64_t begin = std::clamp<int64_t>(-at[2], 0, side.copied[2]);
  int64_t end =
      std::clamp<int64_t>(side.extent[2] - at[2], begin, side.copied[2]);
  bool isInside = lanes == numLanes;
  for (int dim = 0; dim < 3; ++dim)
    isInside &= at[dim] >= 0 && at[dim] + side.copied[dim] <= side.extent[dim];
  if (!isInside)
    std::memset(copy, 0, side.countCopied() * sizeof(Lanes));
  for (int64_t z = 0; z < side.copied[0]; ++z)
    for (int64_t y = 0; y < side.copied[1]; ++y) {
      float *to = copy + (z * side.copied[1] + y) * side.copied[2] * numLanes;
      int64_t fromZ = at[0] + z, fromY = at[1] + y;
      if (fromZ < 0 || fromZ >= side.extent[0] || fromY < 0 ||
          fromY >= side.extent[1])
        continue;
      int64_t from = n * side.strides[0] + fromZ * side.stride[0] +
                     fromY * side.stride[1] + (at[2] + begin) * side.stride[2];
      copyRow(side, data, from, channel, lanes, channelsPerInput, end - begin,
              to + begin * numLanes);
    }
}

void DepthwiseFilterGradient::addImages(const void *const *operands,
                                        int64_t begin, int64_t end,
                                        int64_t channel, float *copies,
                                        double *sums) const {
  static const AddTaps addTaps = pickAddTaps();
  int64_t lanes = std::min(numLanes, d.output_channels - channel);
  float *inputCopy = copies;
  float *outputCopy = copies + input.countCopied() * numLanes;
  // As few rounds over the taps as there may be, of about equal numbers.
  int64_t rounds = (numTaps + maxTaps - 1) / maxTaps;
  for (int64_t n = begin; n < end; ++n)
    for (int64_t at = 0; at < output.extent[first]; at += bandExtent) {
      int64_t inputAt[3], outputAt[3] = {0, 0, 0};
      outputAt[first] = at;
      Band band = {inputCopy, outputCopy, {}, {}};
      for (int dim = 0; dim < 3; ++dim) {
        inputAt[dim] = outputAt[dim] * step[dim] - padding[dim];
        band.extent[dim] = output.copied[dim];
        band.step[dim] = step[dim];
        for (int inner = dim + 1; inner < 3; ++inner)
          band.step[dim] *= input.copied[inner];
      }
      band.extent[first] = std::min(bandExtent, output.extent[first] - at);
      copyBand(input, operands[0], n, inputAt, channel, lanes,
               d.output_channels / d.groups, inputCopy);
      copyBand(output, operands[1], n, outputAt, channel, lanes, 1, outputCopy);
      for (int64_t round = 0, tap = 0; round < rounds; ++round) {
        int64_t count = (numTaps - tap) / (rounds - round);
        addTaps(band, offsets.data() + tap, count, sums + tap * numLanes);
        tap += count;
      }
    }
}

void DepthwiseFilterGradient::store(const double *sums, void *result) const {
  int64_t perGroup = d.output_channels / d.groups;
  int64_t piece = static_cast<int64_t>(sumBytes / sizeof(double));
  for (int64_t channel = 0; channel < d.output_channels; ++channel) {
    const double *from =
        sums + channel / numLanes * numParts * piece + channel % numLanes;
    for (int64_t tap = 0; tap < numTaps; ++tap) {
      double sum = 0;
      for (int64_t part = 0; part < numParts; ++part)
        sum += from[part * piece + tap * numLanes];
      int64_t x = tap % filter[2], rest = tap / filter[2];
      storeRow(&sum, result, d.filter_dtype,
               channel / perGroup * d.filter_strides[0] +
                   channel % perGroup * d.filter_strides[1] +
                   rest / filter[1] * filterStride[0] +
                   rest % filter[1] * filterStride[1] + x * filterStride[2],
               1, 1);
    }
  }
}

bool DepthwiseFilterGradient::run(const void *const *operands, void *result,
                                  void *workspace, std::string &) {
  auto *base = static_cast<char *>(workspace);
  auto *sums = base + threads * copyBytes;
  std::memset(sums, 0, uint64_t(numBlocks * numParts) * sumBytes);
  parallelFor(
      threads, numBlocks * numParts, 1,
      [&](int64_t begin, int64_t end, int thread) {
        auto *copies = reinterpret_cast<float *>(base + thread * copyBytes);
        for (int64_t at = begin; at < end; ++at) {
          int64_t part = at % numParts;
          addImages(operands, d.batch * part / numParts,
                    d.batch * (part + 1) / numParts, at / numParts * numLanes,
                    copies, reinterpret_cast<double *>(sums + at * sumBytes));
        }
      });
  store(reinterpret_cast<const double *>(sums), result);
  return true;
}

std::unique_ptr<LibraryCall>
remat::prepareDepthwise(const remat_convolution &descriptor, int threads) {
  const remat_convolution &d = descriptor;
  for (int32_t dtype : {d.input_dtype, d.filter_dtype, d.output_dtype})
    if (computeType(dtype) != Compute::Float)
      return nullptr;
  if (d.kind != REMAT_CONV_FILTER_GRADIENT || d.groups == 1 ||
      d.groups != d.input_channels)
    return nullptr;
  return std::make_unique<DepthwiseFilterGradient>(d, threads);
}
