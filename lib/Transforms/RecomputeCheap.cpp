//===- RecomputeCheap.cpp - cheap values are not kept ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before any budget binds, and before the planner is asked, the backward
// computation makes again what is not worth keeping.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Target/Target.h"
#include "remat/Utils/CheapRecomputation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {
#define GEN_PASS_DEF_RECOMPUTECHEAPPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct RecomputeCheap : remat::impl::RecomputeCheapPassBase<RecomputeCheap> {
  using RecomputeCheapPassBase::RecomputeCheapPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!llvm::hasSingleElement(function.getBody()))
      return;
    Block &body = function.getBody().front();
    if (int64_t bytes = countReadForwardBytes(body))
      function->setAttr(RematDialect::readBytesAttrName,
                        Builder(function).getI64IntegerAttr(bytes));
    const Target *target = lookupTarget(function);
    if (!target)
      return signalPassFailure();
    numCloned += recomputeCheap(body, maxDepth, target->hasCheapStems());
  }
};
} // namespace
