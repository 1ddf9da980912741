//===- LoopBounds.cpp - what an scf.for counts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBounds.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

unsigned import::getCounterWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

std::optional<int64_t> import::countIterations(scf::ForOp loop, int64_t low,
                                               int64_t high, int64_t step) {
  uint64_t mask =
      llvm::maxUIntN(getCounterWidth(loop.getInductionVar().getType()));
  if (loop.getUnsignedCmp() ? (low & mask) >= (high & mask) : low >= high)
    return 0;
  uint64_t distance =
      (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) & mask;
  uint64_t trips = llvm::divideCeil(distance, static_cast<uint64_t>(step));
  return trips <= INT64_MAX ? std::optional<int64_t>(trips) : std::nullopt;
}

std::optional<import::LoopBounds> import::getConstantBounds(scf::ForOp loop) {
  if (getCounterWidth(loop.getInductionVar().getType()) > 64)
    return std::nullopt;
  std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                         high = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!low || !high || !step || *step <= 0)
    return std::nullopt;
  std::optional<int64_t> trips = countIterations(loop, *low, *high, *step);
  if (!trips)
    return std::nullopt;
  return LoopBounds{*low, *step, *trips};
}

IntegerAttr import::getCounter(Type type, int64_t low, int64_t step,
                               int64_t number) {
  uint64_t counter =
      static_cast<uint64_t>(low) +
      static_cast<uint64_t>(number) * static_cast<uint64_t>(step);
  return IntegerAttr::get(type,
                          llvm::SignExtend64(counter, getCounterWidth(type)));
}
