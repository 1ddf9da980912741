//===- PointConvolution.cpp - convolutions with one point -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution whose filter is one point, and whose activations are matrices
// of positions and channels where they are, is a matmul. oneDNN's kernels for
// them are as fast, but for what a matrix unit adds up.
//
//===----------------------------------------------------------------------===//

#include "LibraryCall.h"
#include "MatrixUnit.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace remat;

namespace {

/// Positions of an activation: of a batch as a whole, or of each image.
struct Positions {
  int64_t distance, images, imageStride;
};

/// Of the points that a filter reads or writes, `stride` apart, if they lie at
/// one distance in each image.
std::optional<Positions> findPositions(const remat_convolution &d,
                                       const int64_t *strides,
                                       const int64_t *steps) {
  int64_t distance = 0, next = 0;
  for (int i = d.spatial_rank - 1; i >= 0; --i) {
    if (d.output[i] == 1)
      continue;
    int64_t stride = strides[2 + i] * (steps ? steps[i] : 1);
    if (distance == 0)
      distance = next = stride;
    if (stride != next)
      return std::nullopt;
    next *= d.output[i];
  }
  if (distance == 0)
    distance = next = strides[0];
  bool isOne = d.batch == 1 || strides[0] == next;
  return Positions{distance, isOne ? 1 : d.batch, strides[0]};
}

/// Whether each point of the output is one of the input, and the other way
/// round where the input is the result.
bool isPoint(const remat_convolution &d) {
  for (int i = 0; i < d.spatial_rank; ++i) {
    if (d.filter[i] != 1 || d.pad_lo[i] != 0 ||
        (d.output[i] - 1) * d.stride[i] >= d.input[i])
      return false;
    if (d.kind == REMAT_CONV_INPUT_GRADIENT && d.input[i] != d.output[i])
      return false;
  }
  return d.groups == 1 && !d.bias;
}

/// One of the two activations.
struct Side {
  int32_t dtype;
  int64_t channels, channelStride;
  Positions positions;
};

/// The matmul that the convolution is, if it is one. Its operands are those of
/// the convolution.
std::optional<remat_matmul> findMatmul(const remat_convolution &d) {
  std::optional<Positions> input = findPositions(d, d.input_strides, d.stride);
  std::optional<Positions> output =
      findPositions(d, d.output_strides, /*steps=*/nullptr);
  if (!isPoint(d) || !input || !output)
    return std::nullopt;
  int64_t images = std::max(input->images, output->images);
  // Sums over images would be several matmuls.
  if (images > 1 && d.kind == REMAT_CONV_FILTER_GRADIENT)
    return std::nullopt;
  int64_t positions = d.batch / images;
  for (int i = 0; i < d.spatial_rank; ++i)
    positions *= d.output[i];

  remat_matmul m = {};
  m.batch[0] = images;
  m.batch[1] = m.batch[2] = 1;
  Side from{d.input_dtype, d.input_channels, d.input_strides[1], *input};
  Side to{d.output_dtype, d.output_channels, d.output_strides[1], *output};
  int64_t filterFrom = d.filter_strides[2], filterTo = d.filter_strides[1];
  if (d.kind == REMAT_CONV_FILTER_GRADIENT) {
    m.a_dtype = from.dtype, m.b_dtype = to.dtype, m.c_dtype = d.filter_dtype;
    m.m = from.channels, m.k = positions, m.n = to.channels;
    m.a_m_stride = from.channelStride, m.a_k_stride = from.positions.distance;
    m.b_k_stride = to.positions.distance, m.b_n_stride = to.channelStride;
    m.c_m_stride = filterFrom, m.c_n_stride = filterTo;
    return m;
  }
  // The other way round, it is the same.
  if (d.kind == REMAT_CONV_INPUT_GRADIENT) {
    std::swap(from, to);
    std::swap(filterFrom, filterTo);
  }
  m.a_dtype = from.dtype, m.b_dtype = d.filter_dtype, m.c_dtype = to.dtype;
  m.m = positions, m.k = from.channels, m.n = to.channels;
  m.a_batch_stride[0] = from.positions.imageStride;
  m.c_batch_stride[0] = to.positions.imageStride;
  m.a_m_stride = from.positions.distance, m.a_k_stride = from.channelStride;
  m.b_k_stride = filterFrom, m.b_n_stride = filterTo;
  m.c_m_stride = to.positions.distance, m.c_n_stride = to.channelStride;
  return m;
}

} // namespace

std::unique_ptr<LibraryCall>
remat::preparePointConvolution(const remat_convolution &descriptor,
                               int threads) {
  std::optional<remat_matmul> matmul = findMatmul(descriptor);
  if (!matmul || !usesMatrixUnit(*matmul))
    return nullptr;
  return prepareMatmul(*matmul, threads);
}
