//===- ScatterToOneHot.cpp - scatters of one element per row --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a loss that picks one probability of each row is a tensor of
// zeros with one number per row. Written as a comparison of the column's number
// with the picked one, it is elementwise, fuses with what reads it, and is
// never in memory.
//
//===----------------------------------------------------------------------===//

#include "OneHotSums.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_SCATTERTOONEHOTPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// Where each point of a scatter goes: all dimensions of the result but one are
/// loops, so that no two points meet.
struct OneHot {
  /// The dimension of the result that each loop walks.
  SmallVector<unsigned> dimOfLoop;
  /// The dimension whose index is computed.
  unsigned picked;
};
} // namespace

static std::optional<OneHot> match(ScatterOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getInit().getType());
  ArrayRef<int64_t> sizes = op.getSizes();
  if (!type || !type.hasStaticShape() || op.getMaximum() ||
      !isMemoryEffectFree(op) || !isZeroTensor(op.getInit()) ||
      type.getRank() != static_cast<int64_t>(sizes.size()) + 1)
    return std::nullopt;
  Block &body = op.getBody().front();
  if (body.getTerminator()->getOperands().back().getType() !=
      type.getElementType())
    return std::nullopt;
  OneHot result{SmallVector<unsigned>(sizes.size(), ~0u), ~0u};
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    auto argument =
        dyn_cast<BlockArgument>(body.getTerminator()->getOperand(dim));
    bool isLoop = argument && argument.getOwner() == &body &&
                  argument.getArgNumber() < sizes.size();
    if (!isLoop) {
      if (result.picked != ~0u)
        return std::nullopt;
      result.picked = dim;
      continue;
    }
    unsigned &known = result.dimOfLoop[argument.getArgNumber()];
    if (known != ~0u || sizes[argument.getArgNumber()] != type.getDimSize(dim))
      return std::nullopt;
    known = dim;
  }
  if (result.picked == ~0u || llvm::is_contained(result.dimOfLoop, ~0u))
    return std::nullopt;
  return result;
}

static void rewrite(ScatterOp op, const OneHot &oneHot) {
  OpBuilder builder(op);
  MLIRContext *context = op.getContext();
  auto type = cast<RankedTensorType>(op.getInit().getType());
  unsigned rank = type.getRank();
  SmallVector<AffineExpr> dims;
  for (unsigned dim : oneHot.dimOfLoop)
    dims.push_back(getAffineDimExpr(dim, context));
  SmallVector<AffineMap> maps;
  for (AffineMap map : op.getIndexingMaps().getAsValueRange<AffineMapAttr>())
    maps.push_back(map.replaceDimsAndSymbols(dims, {}, rank, 0));
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  auto generic = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(type), op.getInputs(), ValueRange(empty),
      maps, iterators, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Block &body = op.getBody().front();
        IRMapping mapping;
        unsigned numLoops = op.getSizes().size();
        for (unsigned loop = 0; loop < numLoops; ++loop)
          mapping.map(body.getArgument(loop),
                      linalg::IndexOp::create(b, loc, oneHot.dimOfLoop[loop]));
        for (unsigned i = numLoops; i < body.getNumArguments(); ++i)
          mapping.map(body.getArgument(i), arguments[i - numLoops]);
        for (Operation &inner : body.without_terminator())
          b.clone(inner, mapping);
        Operation *yield = body.getTerminator();
        Value index = linalg::IndexOp::create(b, loc, oneHot.picked);
        Value isPicked = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::eq, index,
            mapping.lookupOrDefault(yield->getOperand(oneHot.picked)));
        Value zero = arith::ConstantOp::create(
            b, loc, b.getZeroAttr(type.getElementType()));
        Value element = arith::SelectOp::create(
            b, loc, isPicked, mapping.lookupOrDefault(yield->getOperand(rank)),
            zero);
        linalg::YieldOp::create(b, loc, element);
      });
  copyBackward(op, generic);
  copyBackward(op, empty.getDefiningOp());
  op->replaceAllUsesWith(generic);
  op.erase();
}

namespace {
struct OneHotScatters
    : public remat::impl::ScatterToOneHotPassBase<OneHotScatters> {
  void runOnOperation() override {
    for (ScatterOp op : collectOps<ScatterOp>(getOperation()))
      if (std::optional<OneHot> oneHot = match(op)) {
        rewrite(op, *oneHot);
        ++numRewritten;
      }
    numSums += sumOneHots(getOperation());
  }
};
} // namespace
