//===- FilterGradient.cpp - gradients of filters by our own loops ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without AVX-512, oneDNN's kernels for gradients of filters reach half the
// speed of the machine or little more. Here a block of the filter, all taps for
// some channels, is summed up on the thread's stack:
//
//   for each chunk of the output's positions
//     copy its part of the input and of the output's gradient
//     for each vector of output channels, for each few input channels
//       for each tap
//         add the chunk's terms, with the sums in registers
//
// A tap reads the copy of the input from another position on. No term is added
// that the padding would make zero. An element is the sum of its terms in an
// order that the shapes alone decide, whatever the blocks and the threads are.
//
//===----------------------------------------------------------------------===//

#include "LibraryCall.h"
#include "RegisterTile.h"
#include "Threads.h"
#include "VectorIsa.h"

#include <cmath>

using namespace remat;

namespace {

/// Elements of a block, and of each copy of a chunk. They lie on the stack, 448
/// KiB that stay in the second cache.
constexpr int64_t blockElements = 48 << 10, copyElements = 32 << 10;
/// Fewer positions of a row are not worth a chunk.
constexpr int64_t leastColumns = 8;
/// The registers of AVX2: sums in 6 rows of a vector of 64 bytes.
constexpr int tileRows = 6, vectorBytes = 64, lanes = 16;
constexpr int64_t tileElements = tileRows * lanes;
/// So many taps have room for one tile each.
constexpr int64_t mostTaps = blockElements / tileElements;

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The positions of one dimension that a tap reads in the input.
struct Range {
  int64_t begin, end;
};

/// One of two spatial dimensions.
struct Dimension {
  int64_t input, output, filter, stride, dilation, padLow;
  int64_t inputStride, outputStride, filterStride;

  /// Positions of the input that `count` of the output read.
  int64_t getReach(int64_t count) const {
    return (count - 1) * stride + (filter - 1) * dilation + 1;
  }
  /// Of `count` positions of the output from `first` on, those at which `tap`
  /// reads the input and not the padding, counted from `first`.
  Range findInside(int64_t tap, int64_t first, int64_t count) const {
    int64_t start = first * stride - padLow + tap * dilation;
    int64_t begin = start < 0 ? divideUp(-start, stride) : 0;
    int64_t end = start < input ? divideUp(input - start, stride) : 0;
    return {std::min(begin, count), std::min(end, count)};
  }
};

/// The terms of a tap in a chunk, and where they begin in its copies.
struct Tap {
  int64_t inputAt, outputAt;
  TileTerms<float> terms;
};

/// The copies of a chunk, and the elements of those of few input channels and
/// of a vector of output channels.
struct Copies {
  const float *input, *output;
  int64_t inputStep, outputStep;
};

/// Adds the terms of a chunk to a block of `inputs` input channels and `panels`
/// vectors of output channels.
#ifdef __x86_64__
[[gnu::target("avx2,fma")]]
#endif
void addChunk(const Copies &copies, const Tap *taps, int64_t numTaps,
              int64_t inputs, int64_t panels, float *sums) {
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t first = 0; first < inputs; first += tileRows)
      for (const Tap *tap = taps; tap < taps + numTaps; ++tap) {
        TileTerms<float> terms = tap->terms;
        terms.a = reinterpret_cast<const char *>(
            copies.input + first / tileRows * copies.inputStep + tap->inputAt);
        terms.b = copies.output + panel * copies.outputStep + tap->outputAt;
        addAnyTerms<float, vectorBytes, tileRows>(
            std::min<int64_t>(tileRows, inputs - first), terms, sums, lanes);
        sums += tileElements;
      }
}

class FilterGradient : public LibraryCall {
public:
  bool prepare(const remat_convolution &descriptor, int numThreads);
  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  /// A chunk of the output's positions.
  struct Chunk {
    int64_t sample, row, rows, column, columns;
  };
  /// A block of the filter: channels of one group.
  struct Block {
    int64_t group, input, inputs, output, outputs;
  };

  bool chooseBlock();
  bool chooseChunk();
  void copyInput(const void *input, const Block &block, const Chunk &chunk,
                 float *to) const;
  void copyOutput(const void *output, const Block &block, const Chunk &chunk,
                  float *to) const;
  void findTaps(const Chunk &chunk, Tap *taps) const;
  void store(const Block &block, const float *sums, void *filter) const;
  void runBlock(const Block &block, const void *const *operands,
                void *result) const;
  int64_t countTaps() const { return rows.filter * columns.filter; }

  remat_convolution d;
  Dimension rows, columns;
  /// Channels of a group, and of a block.
  int64_t inputs, outputs, blockInputs, blockOutputs;
  /// Positions of a chunk.
  int64_t chunkRows, chunkColumns;
};

} // namespace

bool FilterGradient::prepare(const remat_convolution &descriptor,
                             int numThreads) {
  d = descriptor;
  threads = numThreads;
  implementation = "tiles";
  if (d.kind != REMAT_CONV_FILTER_GRADIENT || d.spatial_rank > 2 ||
      getVectorIsa() != VectorIsa::Avx2)
    return false;
  for (int32_t dtype : {d.input_dtype, d.filter_dtype, d.output_dtype})
    if (computeType(dtype) != Compute::Float)
      return false;
  rows = {1, 1, 1, 1, 1, 0, 0, 0, 0};
  for (int i = 0; i < d.spatial_rank; ++i) {
    Dimension &dimension = i + 1 == d.spatial_rank ? columns : rows;
    dimension = {d.input[i],
                 d.output[i],
                 d.filter[i],
                 d.stride[i],
                 d.dilation[i],
                 d.pad_lo[i],
                 d.input_strides[2 + i],
                 d.output_strides[2 + i],
                 d.filter_strides[3 + i]};
  }
  inputs = d.input_channels / d.groups;
  outputs = d.output_channels / d.groups;
  return chooseBlock() && chooseChunk();
}

/// As square as the channels allow.
bool FilterGradient::chooseBlock() {
  if (inputs < tileRows || outputs < lanes / 2 || countTaps() > mostTaps)
    return false;
  int64_t area = blockElements / countTaps();
  auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(area)));
  auto fit = [&](int64_t channels, int64_t room, int64_t multiple) {
    return std::max<int64_t>(
        std::min(divideUp(channels, multiple), room / multiple) * multiple,
        multiple);
  };
  blockOutputs = fit(outputs, side, lanes);
  blockInputs = fit(inputs, area / blockOutputs, tileRows);
  blockOutputs = fit(outputs, area / blockInputs, lanes);
  return true;
}

/// As many whole rows as their copies have room for, or a part of one.
bool FilterGradient::chooseChunk() {
  auto fits = [&](int64_t rowCount, int64_t columnCount) {
    // In floating point: dilations may be large.
    auto area = [](int64_t channels, int64_t height, int64_t width) {
      return static_cast<double>(channels) * static_cast<double>(height) *
             static_cast<double>(width);
    };
    return area(blockInputs, rows.getReach(rowCount),
                columns.getReach(columnCount)) <= copyElements &&
           area(blockOutputs, rowCount, columnCount) <= copyElements;
  };
  chunkRows = 1;
  chunkColumns = columns.output;
  while (!fits(1, chunkColumns)) {
    if (chunkColumns < 2 * leastColumns)
      return false;
    chunkColumns = divideUp(chunkColumns, 2);
  }
  while (chunkColumns == columns.output && chunkRows < rows.output &&
         fits(chunkRows + 1, chunkColumns))
    ++chunkRows;
  // Where there are fewer blocks than threads, they are cut. Chunks stay.
  auto areFew = [&] {
    return d.groups * divideUp(inputs, blockInputs) *
               divideUp(outputs, blockOutputs) <
           threads;
  };
  while (areFew() && blockOutputs > lanes)
    blockOutputs = divideUp(blockOutputs / lanes, 2) * lanes;
  while (areFew() && blockInputs > tileRows)
    blockInputs = divideUp(blockInputs / tileRows, 2) * tileRows;
  return true;
}

/// Copies what the chunk reads of the input: few channels after few channels,
/// and all positions of those one after the other. What is padding is not
/// written.
void FilterGradient::copyInput(const void *input, const Block &block,
                               const Chunk &chunk, float *to) const {
  int64_t height = rows.getReach(chunk.rows);
  int64_t width = columns.getReach(chunk.columns);
  int64_t top = chunk.row * rows.stride - rows.padLow;
  int64_t left = chunk.column * columns.stride - columns.padLow;
  int64_t begin = std::max<int64_t>(-left, 0);
  int64_t end = std::min(width, columns.input - left);
  for (int64_t row = 0; row < height; ++row) {
    if (top + row < 0 || top + row >= rows.input || begin >= end)
      continue;
    int64_t at = chunk.sample * d.input_strides[0] +
                 (block.group * inputs + block.input) * d.input_strides[1] +
                 (top + row) * rows.inputStride +
                 (left + begin) * columns.inputStride;
    pack<float, tileRows>(
        {input, d.input_dtype, at, d.input_strides[1], columns.inputStride},
        block.inputs, end - begin, to + (row * width + begin) * tileRows,
        height * width * tileRows);
  }
}

/// The same of the output's gradient.
void FilterGradient::copyOutput(const void *output, const Block &block,
                                const Chunk &chunk, float *to) const {
  for (int64_t row = 0; row < chunk.rows; ++row) {
    int64_t at = chunk.sample * d.output_strides[0] +
                 (block.group * outputs + block.output) * d.output_strides[1] +
                 (chunk.row + row) * rows.outputStride +
                 chunk.column * columns.outputStride;
    pack<float, lanes>(
        {output, d.output_dtype, at, d.output_strides[1], columns.outputStride},
        block.outputs, chunk.columns, to + row * chunk.columns * lanes,
        chunk.rows * chunk.columns * lanes);
  }
}

/// The terms of all taps.
void FilterGradient::findTaps(const Chunk &chunk, Tap *taps) const {
  int64_t width = columns.getReach(chunk.columns);
  for (int64_t i = 0; i < rows.filter; ++i) {
    Range down = rows.findInside(i, chunk.row, chunk.rows);
    for (int64_t j = 0; j < columns.filter; ++j) {
      Range across = columns.findInside(j, chunk.column, chunk.columns);
      Tap &tap = *taps++;
      tap.inputAt = (down.begin * rows.stride + i * rows.dilation) * width +
                    across.begin * columns.stride + j * columns.dilation;
      tap.inputAt *= tileRows;
      tap.outputAt = (down.begin * chunk.columns + across.begin) * lanes;
      TileTerms<float> &terms = tap.terms;
      terms.aRow = 1;
      terms.aTerm = columns.stride * tileRows;
      terms.aSegment = rows.stride * width * tileRows;
      terms.bSegment = chunk.columns * lanes;
      terms.count = std::max<int64_t>(across.end - across.begin, 0);
      terms.segments = std::max<int64_t>(down.end - down.begin, 0);
      if (terms.aSegment == terms.count * terms.aTerm &&
          terms.bSegment == terms.count * lanes) { // nothing between them
        terms.count *= terms.segments;
        terms.segments = 1;
      }
    }
  }
}

void FilterGradient::store(const Block &block, const float *sums,
                           void *filter) const {
  float line[blockElements / tileRows];
  int64_t taps = countTaps();
  int64_t tiles = divideUp(block.inputs, tileRows);
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t input = 0; input < block.inputs; ++input) {
      int64_t tile = input / tileRows, row = input % tileRows;
      for (int64_t output = 0; output < block.outputs; output += lanes)
        std::copy_n(sums +
                        ((output / lanes * tiles + tile) * taps + tap) *
                            tileElements +
                        row * lanes,
                    lanes, line + output);
      storeRow(line, filter, d.filter_dtype,
               block.group * d.filter_strides[0] +
                   block.output * d.filter_strides[1] +
                   (block.input + input) * d.filter_strides[2] +
                   tap / columns.filter * rows.filterStride +
                   tap % columns.filter * columns.filterStride,
               d.filter_strides[1], block.outputs);
    }
}

void FilterGradient::runBlock(const Block &block, const void *const *operands,
                              void *result) const {
  alignas(64) float sums[blockElements], input[copyElements],
      output[copyElements];
  Tap taps[mostTaps];
  int64_t panels = divideUp(block.outputs, lanes);
  std::fill_n(sums,
              panels * divideUp(block.inputs, tileRows) * countTaps() *
                  tileElements,
              0.f);
  for (int64_t sample = 0; sample < d.batch; ++sample)
    for (int64_t row = 0; row < rows.output; row += chunkRows)
      for (int64_t column = 0; column < columns.output;
           column += chunkColumns) {
        Chunk chunk{sample, row, std::min(chunkRows, rows.output - row), column,
                    std::min(chunkColumns, columns.output - column)};
        copyInput(operands[0], block, chunk, input);
        copyOutput(operands[1], block, chunk, output);
        findTaps(chunk, taps);
        addChunk({input, output,
                  rows.getReach(chunk.rows) * columns.getReach(chunk.columns) *
                      tileRows,
                  chunk.rows * chunk.columns * lanes},
                 taps, countTaps(), block.inputs, panels, sums);
      }
  store(block, sums, result);
}

bool FilterGradient::run(const void *const *operands, void *result, void *,
                         std::string &) {
  int64_t across = divideUp(inputs, blockInputs);
  int64_t down = divideUp(outputs, blockOutputs);
  parallelFor(threads, d.groups * across * down, 1,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t number = begin; number < end; ++number) {
                  int64_t input = number % across * blockInputs;
                  int64_t output = number / across % down * blockOutputs;
                  runBlock({number / across / down, input,
                            std::min(blockInputs, inputs - input), output,
                            std::min(blockOutputs, outputs - output)},
                           operands, result);
                }
              });
  return true;
}

std::unique_ptr<LibraryCall>
remat::prepareFilterGradient(const remat_convolution &descriptor, int threads) {
  auto call = std::make_unique<FilterGradient>();
  if (!call->prepare(descriptor, threads))
    return nullptr;
  return call;
}
