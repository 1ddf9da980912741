//===- TargetFacts.cpp - what passes know of a machine --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/TargetFacts.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

TargetAttr remat::getTargetFacts(Operation *op) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto target = dyn_cast_or_null<TargetAttr>(
            parent->getDiscardableAttr(targetAttrName)))
      return target;
  return TargetAttr::get(op->getContext(), "cpu");
}

int64_t remat::getBufferBytes(RankedTensorType type, TargetAttr target) {
  return llvm::alignTo(getBufferBytes(type), target.getAlignment());
}

LogicalResult TargetAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringRef name,
    int64_t alignment, int64_t rowBytes, int64_t blockBytes, int64_t blockRows,
    int64_t minBlockRows, int64_t sumLength, int64_t channelBytes,
    int64_t sliceBytes, int64_t sliceRows, int64_t minSliceRows, bool inPlace,
    bool biases, bool epilogues, bool strides, bool sharedStrides,
    bool rowStages, bool windows, int64_t threads, int64_t contractionFlops,
    int64_t narrowContractionFlops, int64_t tileFlops, int64_t narrowTileFlops,
    int64_t loopFlops, int64_t bandwidth, int64_t launchNs,
    int64_t linkBandwidth, bool duplexLink) {
  if (name.empty())
    return emitError() << "target must have a name";
  if (alignment <= 0 || alignment % bufferAlignment != 0 ||
      !llvm::isPowerOf2_64(alignment))
    return emitError() << "alignment must be a power of two and a multiple of "
                       << bufferAlignment << ", got " << alignment;
  if (alignment > maxBufferBytes)
    return emitError() << "alignment must be at most " << maxBufferBytes
                       << ", got " << alignment;
  const std::pair<StringRef, int64_t> positive[] = {
      {"row_bytes", rowBytes},          {"block_bytes", blockBytes},
      {"block_rows", blockRows},        {"min_block_rows", minBlockRows},
      {"sum_length", sumLength},        {"channel_bytes", channelBytes},
      {"slice_bytes", sliceBytes},      {"slice_rows", sliceRows},
      {"min_slice_rows", minSliceRows}, {"contraction_flops", contractionFlops},
      {"loop_flops", loopFlops},        {"bandwidth", bandwidth},
      {"link_bandwidth", linkBandwidth}};
  for (auto [fact, value] : positive)
    if (value <= 0)
      return emitError() << fact << " must be positive, got " << value;
  const std::pair<StringRef, int64_t> optional[] = {
      {"narrow_contraction_flops", narrowContractionFlops},
      {"tile_flops", tileFlops},
      {"narrow_tile_flops", narrowTileFlops}};
  for (auto [fact, value] : optional)
    if (value < 0)
      return emitError() << fact << " must not be negative, got " << value;
  if (threads < 0)
    return emitError() << "threads must not be negative, got " << threads;
  if (launchNs < 0)
    return emitError() << "launch_ns must not be negative, got " << launchNs;
  if (blockRows < minBlockRows)
    return emitError() << "block_rows, " << blockRows
                       << ", must be at least min_block_rows, " << minBlockRows;
  return success();
}
