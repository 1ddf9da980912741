//===- CarryRandomState.cpp - random state that loops carry ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that draws numbers loads and stores a global in each iteration. As a
// value that the loop carries, the state is like any other: the loop has no
// effect, and can stay a loop.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

#include "remat/Conversion/Import/Passes.h"

namespace remat {
#define GEN_PASS_DEF_CARRYRANDOMSTATEPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using ml_program::GlobalLoadOp;
using ml_program::GlobalStoreOp;

namespace {
/// The loads and stores of one global in a loop, in order.
struct State {
  SmallVector<Operation *> uses;
  Type type;
  /// Whether each iteration has all of them, one after the other.
  bool isStraight = true;
};
} // namespace

static llvm::MapVector<SymbolRefAttr, State> findStates(scf::ForOp loop) {
  llvm::MapVector<SymbolRefAttr, State> states;
  loop.getRegion().walk([&](Operation *op) {
    SymbolRefAttr global;
    Type type;
    if (auto load = dyn_cast<GlobalLoadOp>(op)) {
      global = load.getGlobal();
      type = load.getType();
    } else if (auto store = dyn_cast<GlobalStoreOp>(op)) {
      global = store.getGlobal();
      type = store.getValue().getType();
    } else {
      return;
    }
    State &state = states[global];
    state.uses.push_back(op);
    state.isStraight &=
        op->getBlock() == loop.getBody() && (!state.type || state.type == type);
    state.type = type;
  });
  states.remove_if([](auto &entry) {
    return !entry.second.isStraight ||
           !isa<RankedTensorType>(entry.second.type);
  });
  return states;
}

/// Lets `loop` carry the global. Returns the loop that does.
static scf::ForOp carry(scf::ForOp loop, SymbolRefAttr global,
                        const State &state) {
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  Value init = GlobalLoadOp::create(rewriter, loc, state.type, global);
  auto replaceUses = [&](OpBuilder &, Location, ArrayRef<BlockArgument> added) {
    Value current = added.front();
    for (Operation *use : state.uses) {
      if (auto store = dyn_cast<GlobalStoreOp>(use))
        current = store.getValue();
      else
        use->replaceAllUsesWith(ValueRange(current));
      use->erase();
    }
    return SmallVector<Value>{current};
  };
  auto carrying = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, init, /*replaceInitOperandUsesInLoop=*/false, replaceUses));
  carrying->setDiscardableAttrs(attributes);
  rewriter.setInsertionPointAfter(carrying);
  GlobalStoreOp::create(rewriter, loc, global, carrying.getResults().back());
  return carrying;
}

namespace {
struct CarryRandomState
    : remat::impl::CarryRandomStatePassBase<CarryRandomState> {
  void runOnOperation() override {
    // What an inner loop carries, the one around it loads and stores.
    SmallVector<scf::ForOp> loops;
    getOperation().walk<WalkOrder::PostOrder>(
        [&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (auto &[global, state] : findStates(loop)) {
        loop = carry(loop, global, state);
        ++numCarried;
      }
  }
};
} // namespace
