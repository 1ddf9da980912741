//===- Rows.cpp - kernels that work row by row ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Rows.h"

#include "remat/Dialect/Remat/IR/Views.h"
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

bool remat::addsUpInF32(linalg::LinalgOp contraction) {
  return getElementTypeOrSelf(contraction.getDpsInits().front()).isF32() &&
         llvm::all_of(contraction.getDpsInputs(), [](Value factor) {
           Type type = getElementTypeOrSelf(factor);
           return type.isF32() || type.isF16() || type.isBF16();
         });
}

/// Whether the elements of each row of the result are next to each other.
static bool hasRowsInOrder(AffineMap result, ArrayRef<int64_t> rows,
                           ArrayRef<int64_t> sizes) {
  // Loops of one iteration are nowhere in memory.
  SmallVector<int64_t> loops;
  for (AffineExpr expr : result.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && sizes[dim.getPosition()] != 1)
      loops.push_back(dim.getPosition());
  auto isRow = [&](int64_t loop) { return llvm::is_contained(rows, loop); };
  return llvm::all_of(loops, isRow) || !isRow(loops.back());
}

bool remat::isContractionInRow(linalg::LinalgOp contraction,
                               ArrayRef<int64_t> rows) {
  if (contraction->getNumOperands() != 3 ||
      contraction.getNumLoops() != rows.size() + 2)
    return false;
  SmallVector<AffineMap> maps = contraction.getIndexingMapsArray();
  SmallVector<int64_t> sizes = getLoopSizes(contraction);
  int64_t longestSum = getTargetFacts(contraction).getSumLength();
  if (!addsUpInF32(contraction) || !hasRowsInOrder(maps[2], rows, sizes))
    return false;
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

/// Whether `op` is no contraction, and reduces the last dimension of the
/// operand `use`, but not all dimensions.
static bool reducesRows(linalg::LinalgOp op, OpOperand &use) {
  if (isContractionBody(*op.getBlock()) || !op.isDpsInput(&use))
    return false;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  auto isReduced = [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim &&
           iterators[dim.getPosition()] == utils::IteratorType::reduction;
  };
  ArrayRef<AffineExpr> results = op.getMatchingIndexingMap(&use).getResults();
  return !results.empty() && isReduced(results.back()) &&
         !llvm::all_of(results, isReduced);
}

/// Whether an operation reduces the rows of `value`, or of what is computed
/// from it element by element.
static bool hasReducedRows(Value value) {
  SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      auto structured = dyn_cast<linalg::LinalgOp>(user);
      if (structured && reducesRows(structured, use))
        return true;
      if (structured ? structured.getNumReductionLoops() == 0 : isAlias(user))
        values.insert_range(user->getResults());
    }
  return false;
}

/// Whether each point of a loop has a matrix product of its own: all operands
/// depend on it.
static bool isBatch(linalg::LinalgOp contraction) {
  SmallVector<AffineMap> maps = contraction.getIndexingMapsArray();
  SmallVector<int64_t> sizes = getLoopSizes(contraction);
  // A batch of one is none.
  return llvm::any_of(llvm::seq(contraction.getNumLoops()), [&](unsigned loop) {
    return sizes[loop] != 1 && llvm::all_of(maps, [&](AffineMap map) {
             return map.isFunctionOfDim(loop);
           });
  });
}

bool remat::isExpanding(linalg::LinalgOp contraction) {
  auto getNumElements = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getNumElements();
  };
  int64_t factors = 0;
  for (Value input : contraction.getDpsInputs())
    factors += getNumElements(input);
  return getNumElements(contraction->getResult(0)) >= factors;
}

bool remat::makesScores(linalg::LinalgOp contraction) {
  Value result = contraction->getResult(0);
  return cast<RankedTensorType>(result.getType()).getRank() >= 3 &&
         isExpanding(contraction) &&
         (isBatch(contraction) || hasReducedRows(result));
}
