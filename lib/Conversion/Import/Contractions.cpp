//===- Contractions.cpp - contractions of tensors as linalg.contract ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction is what libraries are called for, so it must not be taken apart
// or swallowed by fusion. One op with indexing maps stands for all of them.
//
//===----------------------------------------------------------------------===//

#include "FoldTransposesIntoContractions.h"

#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCONTRACTIONSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static void convertContraction(RewriterBase &rewriter, linalg::LinalgOp op) {
  if (isa<linalg::ContractOp>(op.getOperation()) &&
      isZeroTensor(op.getDpsInits()[0]))
    return;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::optional<ContractionBody> body = matchContractionBody(op);
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  if (!body || !type || !import::areContractMaps(maps) ||
      !llvm::all_of(op.getDpsInputs(), [](Value input) {
        return isa<RankedTensorType>(input.getType());
      }))
    return;

  // The body may multiply its inputs in the other order: a contraction of two
  // numbers does not depend on it.
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  bool addsInit = !isZeroTensor(init);
  Value zero = addsInit ? createZeros(rewriter, loc, type) : init;
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
    result = createSum(rewriter, loc, result, init);
  rewriter.replaceOp(op, result);
}

namespace {
struct ImportContractions
    : public remat::impl::ImportContractionsPassBase<ImportContractions> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    for (linalg::LinalgOp op : collectOps<linalg::LinalgOp>(getOperation()))
      convertContraction(rewriter, op);
    SmallVector<linalg::ContractOp> contractions =
        collectOps<linalg::ContractOp>(getOperation());
    for (linalg::ContractOp contraction : contractions)
      import::foldTransposesIntoContraction(rewriter, contraction);
  }
};
} // namespace
