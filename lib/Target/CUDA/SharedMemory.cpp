//===- SharedMemory.cpp - shared memory of a block ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <map>

using namespace mlir;
using namespace remat;

int64_t remat::cuda::getMostSharedBytes(Operation *op) {
  // Facts that say more than all devices have are those of one that has it.
  constexpr int64_t all = 99 << 10, hopper = 227 << 10;
  return getTargetFacts(op).getBlockBytes() <= all ? all : hopper;
}

/// Bytes of the scratch of all reductions, which share it, but for elements of
/// other sizes.
static int64_t countScratchBytes(func::FuncOp kernel, int64_t threads) {
  // Sums of narrow elements are f32, and a thread may have a vector of results
  // that are next to each other.
  constexpr int64_t leastBytes = sizeof(float), width = 8;
  std::map<int64_t, int64_t> bytesBySize;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    if (op.getNumReductionLoops() == 0)
      continue;
    bool haveVectors =
        linalg::isParallelIterator(op.getIteratorTypesArray().back());
    std::map<int64_t, int64_t> bytes;
    for (Value init : op.getDpsInits()) {
      int64_t size = std::max(
          leastBytes, getElementBytes(getElementTypeOrSelf(init.getType())));
      bytes[size] += size * threads * (haveVectors ? width : 1);
    }
    for (auto [size, count] : bytes)
      bytesBySize[size] = std::max(
          bytesBySize[size],
          haveVectors ? std::min(count, cuda::maxScratchBytes) : count);
  }
  int64_t bytes = 0;
  for (auto [size, count] : bytesBySize)
    bytes += count;
  return bytes;
}

int64_t remat::cuda::getMaxInsideBytes(func::FuncOp kernel, int64_t threads) {
  // Numbers of rows that tiles in registers read ahead: two of each line of 64.
  constexpr int64_t lineBytes = 4 << 10;
  int64_t rest = getMostSharedBytes(kernel) - lineBytes -
                 countScratchBytes(kernel, threads);
  int64_t most =
      std::min(getTargetFacts(kernel).getBlockBytes(), blockBytesOfHopper);
  return std::clamp<int64_t>(rest, 0, most);
}
