//===- Sizes.cpp - tensors that are too large -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/BufferTypes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTSIZESPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

LogicalResult SizeChecker::check(Operation *op) {
  auto checkTypes = [&](TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (!hasSize(type))
        return op->emitOpError("has a value of type ")
               << type << ", expected at most " << maxBufferBytes << " bytes";
    return success();
  };
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    if (failed(checkTypes(function.getArgumentTypes())) ||
        failed(checkTypes(function.getResultTypes())))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(checkTypes(block.getArgumentTypes())))
        return failure();
  return checkTypes(op->getResultTypes());
}

/// Whether what a value of the type holds, which may be a tuple, is of a size
/// for a buffer.
bool SizeChecker::hasSize(Type type) {
  auto [entry, inserted] = known.try_emplace(type, true);
  if (inserted)
    entry->second = !type.walk([](ShapedType shaped) {
                           return hasBufferSize(shaped)
                                      ? WalkResult::advance()
                                      : WalkResult::interrupt();
                         })
                         .wasInterrupted();
  return entry->second;
}

namespace {
struct ImportSizes : public remat::impl::ImportSizesPassBase<ImportSizes> {
  void runOnOperation() override {
    SizeChecker checker;
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { return WalkResult(checker.check(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
