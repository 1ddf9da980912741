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
    int64_t alignment, int64_t row_bytes, int64_t block_bytes,
    int64_t block_rows, int64_t min_block_rows, int64_t sum_length,
    int64_t channel_bytes, int64_t slice_bytes, int64_t slice_rows,
    int64_t min_slice_rows, bool in_place, int64_t threads,
    int64_t contraction_flops, int64_t loop_flops, int64_t bandwidth,
    int64_t launch_ns, int64_t link_bandwidth, bool duplex_link) {
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
      {"row_bytes", row_bytes},
      {"block_bytes", block_bytes},
      {"block_rows", block_rows},
      {"min_block_rows", min_block_rows},
      {"sum_length", sum_length},
      {"channel_bytes", channel_bytes},
      {"slice_bytes", slice_bytes},
      {"slice_rows", slice_rows},
      {"min_slice_rows", min_slice_rows},
      {"threads", threads},
      {"contraction_flops", contraction_flops},
      {"loop_flops", loop_flops},
      {"bandwidth", bandwidth},
      {"link_bandwidth", link_bandwidth}};
  for (auto [fact, value] : positive)
    if (value <= 0)
      return emitError() << fact << " must be positive, got " << value;
  if (launch_ns < 0)
    return emitError() << "launch_ns must not be negative, got " << launch_ns;
  if (block_rows < min_block_rows)
    return emitError() << "block_rows, " << block_rows
                       << ", must be at least min_block_rows, "
                       << min_block_rows;
  return success();
}
