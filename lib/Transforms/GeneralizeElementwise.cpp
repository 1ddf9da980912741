//===- GeneralizeElementwise.cpp - arithmetic on tensors ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A derivative rule that is a formula emits arithmetic on what its operation is
// on. For an operation of another dialect that stays whole these are tensors.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace remat {
#define GEN_PASS_DEF_GENERALIZEELEMENTWISEPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static bool isArithmeticOnTensors(Operation &op) {
  return OpTrait::hasElementwiseMappableTraits(&op) &&
         llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>);
}

namespace {
struct GeneralizeElementwise
    : remat::impl::GeneralizeElementwisePassBase<GeneralizeElementwise> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    WalkResult found = function->walk([](Operation *op) {
      return isArithmeticOnTensors(*op) ? WalkResult::interrupt()
                                        : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      return;
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    normalizeBackward(function);
    BackwardMarkListener marks;
    walkAndApplyPatterns(function, std::move(patterns), &marks);
  }
};
} // namespace
