//===- ReversedLoops.cpp - results that are written backwards -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The map of a result may count down: (d0) -> (3 - d0). What comes after import
// takes the dimensions of a result that is not reduced to be loops. The order
// of parallel loops does not matter, so such a loop is counted the other way,
// and it is inputs that are read backwards.
//
//===----------------------------------------------------------------------===//

#include "ReversedLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

#include "remat/Utils/Structured.h"
#include "remat/Utils/WrittenElements.h"

using namespace mlir;
using namespace remat;

/// The loops of which the coordinate of a result is the last iteration minus
/// the current one, and which no result counts up.
static SetVector<unsigned> findReversed(linalg::GenericOp generic,
                                        ArrayRef<int64_t> sizes) {
  SetVector<unsigned> reversed, straight;
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    std::optional<SmallVector<Coordinate>> coordinates =
        getCoordinates(generic.getMatchingIndexingMap(&init));
    if (!coordinates)
      continue;
    for (const Coordinate &coordinate : *coordinates) {
      if (!coordinate.loop)
        continue;
      if (coordinate.stride > 0)
        straight.insert(*coordinate.loop);
      else if (coordinate.stride == -1 &&
               coordinate.offset == sizes[*coordinate.loop] - 1)
        reversed.insert(*coordinate.loop);
    }
  }
  reversed.set_subtract(straight);
  reversed.remove_if([&](unsigned loop) {
    return generic.getIteratorTypesArray()[loop] !=
           utils::IteratorType::parallel;
  });
  return reversed;
}

void import::turnReversedLoops(RewriterBase &rewriter,
                               linalg::GenericOp generic) {
  SmallVector<int64_t> sizes = getLoopSizes(generic);
  SetVector<unsigned> reversed = findReversed(generic, sizes);
  if (reversed.empty())
    return;
  rewriter.modifyOpInPlace(generic, [&] {
    SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
    for (unsigned loop : reversed) {
      AffineExpr dim = rewriter.getAffineDimExpr(loop);
      for (AffineMap &map : maps)
        map = simplifyAffineMap(
            map.replace(dim, sizes[loop] - 1 - dim, map.getNumDims(), 0));
    }
    generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
  OpBuilder::InsertionGuard guard(rewriter);
  generic.getBody()->walk([&](linalg::IndexOp index) {
    if (!reversed.contains(index.getDim()) ||
        index->getParentOfType<linalg::LinalgOp>() != generic)
      return;
    rewriter.setInsertionPointAfter(index);
    Value last = arith::ConstantIndexOp::create(rewriter, index.getLoc(),
                                                sizes[index.getDim()] - 1);
    auto turned = arith::SubIOp::create(rewriter, index.getLoc(), last, index);
    rewriter.replaceAllUsesExcept(index, turned, turned);
  });
}
