//===- Products.cpp - products of tensors as linalg.contract --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is what libraries are called for, so it must not be taken apart or
// swallowed by fusion. One op with indexing maps stands for all of them.
//
//===----------------------------------------------------------------------===//

#include "Utils.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTPRODUCTSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `linalg.contract` takes these maps: its dimensions are reduced and
/// read by both inputs, or written and read by one.
static bool areContractMaps(ArrayRef<AffineMap> maps) {
  if (!llvm::all_of(maps, [](AffineMap map) {
        return map.isProjectedPermutation() && map.getNumSymbols() == 0;
      }))
    return false;
  bool contracts = false;
  for (unsigned dim = 0, e = maps[0].getNumDims(); dim < e; ++dim) {
    bool lhs = maps[0].isFunctionOfDim(dim), rhs = maps[1].isFunctionOfDim(dim);
    bool out = maps[2].isFunctionOfDim(dim);
    if (out ? !lhs && !rhs : !lhs || !rhs)
      return false;
    contracts |= !out;
  }
  return contracts;
}

/// What the map of an operand becomes if the operand's transpose is left out.
static AffineMap composePermutation(AffineMap map, ArrayRef<int64_t> dims) {
  // Result dimension i of the transpose is dimension dims[i] of its input.
  SmallVector<AffineExpr> exprs(map.getNumResults());
  for (auto [result, input] : llvm::enumerate(dims))
    exprs[input] = map.getResult(result);
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

static void convertProduct(RewriterBase &rewriter, linalg::LinalgOp op) {
  if (isa<linalg::ContractOp>(op.getOperation()) &&
      import::isZeroTensor(op.getDpsInits()[0]))
    return;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::optional<import::ProductBody> body = import::matchProductBody(op);
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  if (!body || !type || !areContractMaps(maps) ||
      !llvm::all_of(op.getDpsInputs(), [](Value input) {
        return isa<RankedTensorType>(input.getType());
      }))
    return;

  // The body may multiply its inputs in the other order: a product of two
  // numbers does not depend on it.
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  bool addsInit = !import::isZeroTensor(init);
  Value zero = addsInit ? import::createZeroTensor(rewriter, loc, type) : init;
  SmallVector<NamedAttribute> attributes;
  if (body->cast != linalg::TypeFn::cast_signed)
    attributes.push_back(rewriter.getNamedAttr(
        "cast", linalg::TypeFnAttr::get(op.getContext(), body->cast)));
  Value result =
      linalg::ContractOp::create(
          rewriter, loc, TypeRange{type}, op.getDpsInputs(), ValueRange{zero},
          rewriter.getAffineMapArrayAttr(maps), attributes)
          .getResult(0);
  if (addsInit)
    result = import::createSum(rewriter, loc, result, init);
  rewriter.replaceOp(op, result);
}

/// If `value` repeats a tensor along further dimensions, the operation that
/// does.
static linalg::LinalgOp matchBroadcast(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !isa<RankedTensorType>(op->getOperand(0).getType()))
    return {};
  Block &body = *op.getBlock();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return body.getTerminator()->getOperand(0) == body.getArgument(0) &&
                 maps[0].isProjectedPermutation() && maps[1].isIdentity()
             ? op
             : linalg::LinalgOp();
}

/// Reads what a transpose or a broadcast reads in place of its result.
static void foldLayouts(RewriterBase &rewriter, linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (OpOperand &operand : op.getInputsMutable()) {
    AffineMap &map = maps[operand.getOperandNumber()];
    while (true) {
      AffineMap previous = map;
      Value input;
      if (std::optional<import::Permutation> transpose =
              import::matchPermutation(operand.get().getDefiningOp())) {
        map = composePermutation(map, transpose->dims);
        input = transpose->input;
      } else if (linalg::LinalgOp broadcast = matchBroadcast(operand.get())) {
        map = broadcast.getIndexingMapsArray()[0].compose(map);
        input = broadcast->getOperand(0);
      } else {
        break;
      }
      // A dimension that is summed has to be one of both factors.
      if (!areContractMaps(maps)) {
        map = previous;
        break;
      }
      rewriter.modifyOpInPlace(op, [&] { operand.set(input); });
    }
  }
  rewriter.modifyOpInPlace(op, [&] {
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

namespace {
struct ImportProducts
    : public remat::impl::ImportProductsPassBase<ImportProducts> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      convertProduct(rewriter, op);
    getOperation().walk(
        [&](linalg::ContractOp op) { foldLayouts(rewriter, op); });
  }
};
} // namespace
