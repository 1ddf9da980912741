//===- WrittenElements.cpp - what a structured op writes ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/WrittenElements.h"

#include "remat/Utils/Structured.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace remat;

std::optional<SmallVector<Coordinate>> remat::getCoordinates(AffineMap map) {
  SmallVector<Coordinate> coordinates;
  for (AffineExpr expr : map.getResults()) {
    SmallVector<int64_t> terms;
    if (failed(getFlattenedAffineExpr(expr, map.getNumDims(),
                                      map.getNumSymbols(), &terms)) ||
        terms.size() != map.getNumDims() + 1)
      return std::nullopt;
    Coordinate &made = coordinates.emplace_back();
    made.offset = terms.pop_back_val();
    for (auto [loop, factor] : llvm::enumerate(terms)) {
      if (factor == 0)
        continue;
      if (made.loop)
        return std::nullopt;
      made.loop = loop;
      made.stride = factor;
    }
  }
  return coordinates;
}

bool remat::writesAllElements(linalg::LinalgOp op, OpOperand *init) {
  AffineMap map = op.getMatchingIndexingMap(init);
  auto type = cast<ShapedType>(init->get().getType());
  SmallVector<int64_t> sizes = getLoopSizes(op);
  if (map.isProjectedPermutation() || !type.hasStaticShape() ||
      llvm::any_of(sizes, ShapedType::isDynamic))
    return true;
  std::optional<SmallVector<Coordinate>> coordinates = getCoordinates(map);
  if (!coordinates && op.getNumReductionLoops() != 0 &&
      op.payloadUsesValueFromOperand(init))
    return true;
  // As many elements are written as there are iterations of the loops that
  // select them.
  llvm::SmallBitVector selects(sizes.size(), !coordinates);
  if (coordinates)
    for (const Coordinate &coordinate : *coordinates)
      if (coordinate.loop)
        selects.set(*coordinate.loop);
  int64_t points = 1;
  for (unsigned loop : selects.set_bits())
    points *= sizes[loop];
  return points >= type.getNumElements();
}
