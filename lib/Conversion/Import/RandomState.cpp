//===- RandomState.cpp - globals become arguments and results -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step has no memory of its own: what a program keeps in a mutable global,
// its caller passes in and takes out. Then recomputing a draw reads the same
// state.
//
//===----------------------------------------------------------------------===//

#include "RandomDraws.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/MLProgram/IR/MLProgram.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTRANDOMSTATEPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using namespace remat::import;
using ml_program::GlobalLoadOp;
using ml_program::GlobalOp;
using ml_program::GlobalStoreOp;

/// The global that the operation loads or stores, or null.
static FlatSymbolRefAttr getGlobal(Operation *op) {
  SymbolRefAttr symbol;
  if (auto load = dyn_cast<GlobalLoadOp>(op))
    symbol = load.getGlobal();
  else if (auto store = dyn_cast<GlobalStoreOp>(op))
    symbol = store.getGlobal();
  else if (auto load = dyn_cast<ml_program::GlobalLoadConstOp>(op))
    symbol = load.getGlobal();
  return dyn_cast_or_null<FlatSymbolRefAttr>(symbol);
}

/// Loads of a global that is never written.
static void replaceByConstant(GlobalOp global, ArrayRef<Operation *> uses) {
  for (Operation *use : uses) {
    OpBuilder builder(use);
    use->replaceAllUsesWith(arith::ConstantOp::create(
        builder, use->getLoc(), cast<TypedAttr>(*global.getValue())));
    use->erase();
  }
}

static LogicalResult checkUses(GlobalOp global, func::FuncOp function,
                               ArrayRef<Operation *> uses) {
  auto fail = [&](StringRef why) {
    InFlightDiagnostic diag = global.emitOpError("'")
                              << global.getSymName()
                              << "': random state in a mutable global is not "
                                 "supported "
                              << why;
    diag.attachNote(uses.front()->getLoc()) << "used here";
    return diag;
  };
  if (!isa<RankedTensorType>(global.getType()))
    return fail("of this type");
  if (!function.getBody().hasOneBlock() ||
      llvm::any_of(
          uses, [&](Operation *use) { return use->getParentOp() != function; }))
    return fail("in a region");
  if (!SymbolTable::symbolKnownUseEmpty(function,
                                        function->getParentOfType<ModuleOp>()))
    return fail("in a function that others name");
  return success();
}

/// Makes the global an argument of the function that uses it, and a result if
/// it is written. Returns the argument.
static FailureOr<BlockArgument> addState(GlobalOp global, func::FuncOp function,
                                         ArrayRef<Operation *> uses) {
  Builder builder(global.getContext());
  NamedAttribute name =
      builder.getNamedAttr(RematDialect::nameAttrName, global.getSymNameAttr());
  SmallVector<NamedAttribute> attributes = {name};
  if (global.getValue())
    attributes.push_back(builder.getNamedAttr(
        RematDialect::initialValueAttrName, *global.getValue()));
  unsigned number = function.getNumArguments();
  if (failed(function.insertArgument(number, global.getType(),
                                     builder.getDictionaryAttr(attributes),
                                     global.getLoc())))
    return failure();
  BlockArgument argument = function.getArgument(number);
  Value current = argument;
  for (Operation *use : uses) {
    if (auto store = dyn_cast<GlobalStoreOp>(use))
      current = store.getValue();
    else
      use->replaceAllUsesWith(ValueRange(current));
    use->erase();
  }
  if (current != argument) {
    Operation *terminator = function.front().getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), current);
    if (failed(function.insertResult(function.getNumResults(), global.getType(),
                                     builder.getDictionaryAttr(name))))
      return failure();
  }
  return argument;
}

namespace {
struct ImportRandomState
    : remat::impl::ImportRandomStatePassBase<ImportRandomState> {
  void runOnOperation() override {
    for (auto global :
         llvm::make_early_inc_range(getOperation().getOps<GlobalOp>()))
      if (failed(importGlobal(global)))
        return signalPassFailure();
  }

private:
  LogicalResult importGlobal(GlobalOp global) {
    // The loads and stores of each function, in order.
    llvm::MapVector<func::FuncOp, SmallVector<Operation *>> uses;
    bool isRead = false, isWritten = false;
    getOperation().walk([&](Operation *op) {
      auto symbol = getGlobal(op);
      auto function = op->getParentOfType<func::FuncOp>();
      if (!symbol || !function || symbol.getAttr() != global.getSymNameAttr())
        return;
      uses[function].push_back(op);
      isRead |= !op->use_empty();
      isWritten |= isa<GlobalStoreOp>(op);
    });
    for (auto &[function, ops] : uses) {
      if (!isRead) {
        for (Operation *op : ops)
          op->erase();
      } else if (!isWritten && global.getValue() && !global.getIsMutable()) {
        replaceByConstant(global, ops);
      } else {
        if (failed(checkUses(global, function, ops)))
          return failure();
        FailureOr<BlockArgument> state = addState(global, function, ops);
        if (failed(state))
          return failure();
        importDraws(*state);
      }
    }
    if (SymbolTable::symbolKnownUseEmpty(global, getOperation()))
      global.erase();
    return success();
  }
};
} // namespace
