//===- FilterGradients.cpp - gradients that are written forward -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX and XLA have one kind of convolution. They write the gradient of a filter
// as a forward one of the input and the gradient of the output, with batch and
// features exchanged, and strides and dilations. As a convolution it has a
// filter as large as an image, for which no library has a fast way.
//
//===----------------------------------------------------------------------===//

#include "FilterGradients.h"

using namespace mlir;
using namespace remat;

/// The number of elements along the spatial dimensions of a layout.
static int64_t countPositions(RankedTensorType type, ArrayRef<int64_t> layout) {
  int64_t count = 1;
  for (int64_t dim : layout.drop_front(2))
    count *= type.getDimSize(dim);
  return count;
}

/// Whether the sum is over a batch, which is outermost in memory in all layouts
/// in use, and the filter has more positions than the result.
static bool isFilterGradient(ConvOp op) {
  RankedTensorType filter = op.getFilterType(), output = op.getOutputType();
  return op.getKind() == ConvKind::Forward && op.getGroups() == 1 &&
         op.getInputLayout()[1] == 0 && op.getFilterLayout()[1] == 0 &&
         output.getNumElements() != 0 && filter.getNumElements() != 0 &&
         countPositions(filter, op.getFilterLayout()) >
             countPositions(output, op.getOutputLayout());
}

/// With batch and features, or output and input features, exchanged.
static SmallVector<int64_t> exchange(ArrayRef<int64_t> layout) {
  SmallVector<int64_t> result(layout);
  std::swap(result[0], result[1]);
  return result;
}

void import::recognizeFilterGradient(RewriterBase &rewriter, ConvOp op) {
  if (!isFilterGradient(op))
    return;
  SmallVector<int64_t> padding(op.getPadding());
  for (unsigned i = 0; i < op.getSpatialRank(); ++i) {
    int64_t input = op.getInputType().getDimSize(op.getInputLayout()[i + 2]);
    int64_t filter = op.getFilterType().getDimSize(op.getFilterLayout()[i + 2]);
    int64_t output = op.getOutputType().getDimSize(op.getOutputLayout()[i + 2]);
    // What is read has to be all of the padded input, but for less than a
    // stride.
    int64_t read = (filter - 1) * op.getDilations()[i] +
                   (output - 1) * op.getStrides()[i] + 1;
    int64_t high = std::max<int64_t>(read - input - padding[2 * i], 0);
    if (input + padding[2 * i] + high - read >= op.getDilations()[i])
      return;
    padding[2 * i + 1] = high;
  }
  rewriter.setInsertionPoint(op);
  auto gradient = ConvOp::create(
      rewriter, op.getLoc(), op.getResult().getType(), ConvKind::FilterGrad,
      op.getLhs(), op.getRhs(), /*strides=*/op.getDilations(),
      /*dilations=*/op.getStrides(), padding, op.getGroups(),
      exchange(op.getInputLayout()), exchange(op.getOutputLayout()),
      exchange(op.getFilterLayout()));
  gradient->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, gradient);
}
