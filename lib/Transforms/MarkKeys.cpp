//===- MarkKeys.cpp - arguments that are keys of draws --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/Closure.h"

namespace remat {
#define GEN_PASS_DEF_MARKKEYSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `argument` is the key of a draw, in the body of a loop, too.
static bool isKey(BlockArgument argument) {
  return !holdsForClosure(
      argument, [](BlockArgument key, SmallVectorImpl<BlockArgument> &next) {
        for (Operation *user : key.getUsers()) {
          if (auto random = dyn_cast<RandomOp>(user);
              random && random.getKey() == key)
            return false;
          auto loop = dyn_cast<LoopOp>(user);
          auto body = loop ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                                 loop, loop.getBodyAttr())
                           : func::FuncOp();
          if (!body || body.isExternal())
            continue;
          for (auto [number, operand] : llvm::enumerate(loop.getInvariants()))
            if (operand == key)
              next.push_back(body.getArgument(loop.getInits().size() + number));
        }
        return true;
      });
}

namespace {
struct MarkKeys : remat::impl::MarkKeysPassBase<MarkKeys> {
  void runOnOperation() override {
    auto unit = UnitAttr::get(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        for (BlockArgument argument : function.getArguments())
          if (isKey(argument))
            function.setArgAttr(argument.getArgNumber(), keyAttrName, unit);
  }
};
} // namespace
