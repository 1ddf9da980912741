//===- ReductionOrder.cpp - which reductions may be reordered -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace remat;

Operation *remat::findCombiner(Block &body, BlockArgument old,
                               unsigned number) {
  Value result = body.getTerminator()->getOperand(number);
  Operation *op = result.getDefiningOp();
  if (!op || op->getBlock() != &body || op->getNumOperands() != 2 ||
      !old.hasOneUse() || *old.user_begin() != op || !result.hasOneUse())
    return nullptr;
  return isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
             arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)
             ? op
             : nullptr;
}

std::optional<TypedAttr> remat::getNeutralElement(Operation *combiner) {
  // MLIR asks an index for a width, which it does not have.
  if (combiner->getResult(0).getType().isIndex()) {
    unsigned width = IndexType::kInternalStorageBitWidth;
    std::optional<APInt> extreme;
    if (isa<arith::MaxSIOp>(combiner))
      extreme = APInt::getSignedMinValue(width);
    else if (isa<arith::MinSIOp>(combiner))
      extreme = APInt::getSignedMaxValue(width);
    else if (isa<arith::MinUIOp>(combiner))
      extreme = APInt::getMaxValue(width);
    if (extreme)
      return IntegerAttr::get(combiner->getResult(0).getType(), *extreme);
  }
  if (!isa<arith::AddFOp>(combiner))
    return arith::getNeutralElement(combiner);
  auto type = cast<FloatType>(combiner->getResult(0).getType());
  return FloatAttr::get(type, APFloat::getZero(type.getFloatSemantics(),
                                               /*Negative=*/true));
}

bool remat::hasOrderedReductions(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() < 2)
    return false;
  for (auto [number, old] : llvm::enumerate(op.getRegionOutputArgs()))
    if (!findCombiner(*op.getBlock(), old, number))
      return true;
  return false;
}

void remat::keepReductionOrder(MutableArrayRef<unsigned> order,
                               llvm::function_ref<bool(unsigned)> isReduction) {
  SmallVector<unsigned *> places;
  SmallVector<unsigned> loops;
  for (unsigned &loop : order)
    if (isReduction(loop)) {
      places.push_back(&loop);
      loops.push_back(loop);
    }
  llvm::sort(loops);
  for (auto [place, loop] : llvm::zip_equal(places, loops))
    *place = loop;
}
