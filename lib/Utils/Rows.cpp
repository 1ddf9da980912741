//===- Rows.cpp - kernels that work row by row ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Rows.h"

#include "remat/Utils/Structured.h"

using namespace mlir;
using namespace remat;

int64_t remat::chooseBlockRows(int64_t rows, int64_t rowBytes,
                               TargetAttr target) {
  int64_t block = rowBytes > 0 ? target.getBlockBytes() / rowBytes : rows;
  block = std::min(block, target.getBlockRows());
  // Whole register tiles, where there is more than one.
  if (block > target.getMinBlockRows())
    block -= block % target.getMinBlockRows();
  return std::min(std::max<int64_t>(block, 1), rows);
}

bool remat::isContractionInRow(linalg::LinalgOp contraction,
                               ArrayRef<int64_t> rows) {
  if (contraction->getNumOperands() != 3 ||
      contraction.getNumLoops() != rows.size() + 2)
    return false;
  SmallVector<AffineMap> maps = contraction.getIndexingMapsArray();
  SmallVector<int64_t> sizes = getLoopSizes(contraction);
  int64_t longestSum = getTargetFacts(contraction).getSumLength();
  unsigned pairs = 0;
  for (unsigned loop = 0; loop < contraction.getNumLoops(); ++loop) {
    if (llvm::is_contained(rows.drop_back(), static_cast<int64_t>(loop)))
      continue;
    unsigned readers = 0;
    for (auto [number, map] : llvm::enumerate(maps))
      readers |= map.isFunctionOfDim(loop) ? 1u << number : 0;
    bool isLongSum = !maps[2].isFunctionOfDim(loop) &&
                     static_cast<int64_t>(loop) != rows.back() &&
                     sizes[loop] > longestSum;
    if (llvm::popcount(readers) != 2 || isLongSum)
      return false;
    // A pair is known by the operand that is not in it.
    pairs |= 7u & ~readers;
  }
  return pairs == 7;
}
