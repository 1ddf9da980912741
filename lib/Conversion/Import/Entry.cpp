//===- Entry.cpp - one function with static shapes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is refused here would otherwise surface in a pass that cannot say what
// is wrong with the input.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/EntryFunction.h"
#include "llvm/ADT/SetVector.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTENTRYPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static bool hasNoBits(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && tensor.getElementType().isInteger(0);
}

static bool hasEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding();
}

static LogicalResult checkType(Location loc, Type type) {
  if (hasNoBits(type))
    return emitError(loc, "elements without bits are not supported: ") << type;
  if (isa<BaseMemRefType, UnrankedTensorType>(type))
    return emitError(loc, "expected tensors of static shape, got ") << type;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && !tensor.hasStaticShape())
    return emitError(loc, "dynamic shape is not supported: ") << type;
  if (hasEncoding(type))
    return emitError(loc, "encodings of tensors are not supported: ") << type;
  return success();
}

/// The function and those that it names, as remat.vjp does, and these in turn.
static SetVector<Operation *> findReachable(Operation *entry) {
  SetVector<Operation *> reached;
  reached.insert(entry);
  for (size_t i = 0; i < reached.size(); ++i) {
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(reached[i]);
    if (!uses)
      continue;
    for (const SymbolTable::SymbolUse &use : *uses)
      if (Operation *named = SymbolTable::lookupNearestSymbolFrom(
              use.getUser(), use.getSymbolRef()))
        reached.insert(named);
  }
  return reached;
}

/// Says why there is still a call: those that can be inlined were.
static LogicalResult refuseCall(CallOpInterface call) {
  InFlightDiagnostic error = call->emitOpError("could not be inlined");
  auto name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
  if (!name)
    return error << ": what it calls is a value, expected a function's name";
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  if (!callee)
    return error << ": " << name << " is no function";
  if (callee.isExternal())
    return error << ": '" << callee.getName() << "' has no body";
  StringAttr symbol = callee.getNameAttr();
  if (llvm::any_of(findReachable(callee), [&](Operation *reached) {
        return !SymbolTable::symbolKnownUseEmpty(symbol, reached);
      }))
    return error << ": '" << callee.getName()
                 << "' calls itself, maybe through others; write the recursion "
                    "as a loop";
  return error;
}

static LogicalResult checkFunction(func::FuncOp function) {
  if (function.isExternal())
    return function.emitOpError("'")
           << function.getName() << "' has no body to compile";
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("'")
           << function.getName() << "' has "
           << function.getBody().getBlocks().size()
           << " blocks, expected 1: control flow is not supported";
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<TensorType>(argument.getType()))
      return emitError(argument.getLoc(), "argument ")
             << argument.getArgNumber() << " of '" << function.getName()
             << "' has type " << argument.getType() << ", expected a tensor";
    if (failed(checkType(argument.getLoc(), argument.getType())))
      return failure();
  }
  WalkResult result = function.walk([](Operation *op) {
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      (void)refuseCall(call);
      return WalkResult::interrupt();
    }
    // Whether shapes are static is seen once loops are unrolled.
    for (Type type : op->getResultTypes())
      if ((!isa<RankedTensorType>(type) || hasNoBits(type) ||
           hasEncoding(type)) &&
          failed(checkType(op->getLoc(), type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// What is differentiated has no calls either.
static LogicalResult checkCalls(func::FuncOp function) {
  WalkResult result = function.walk([](CallOpInterface call) {
    (void)refuseCall(call);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Gives the buffers that JAX offers (`jax.buffer_donor`) to the first results
/// of their types that have none, in the order of the arguments.
static void importOffers(func::FuncOp function) {
  constexpr StringLiteral offer = "jax.buffer_donor";
  SmallVector<BlockArgument> donors = getDonors(function);
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    Attribute offered = function.removeArgAttr(number, offer);
    auto flag = dyn_cast_or_null<BoolAttr>(offered);
    if (!offered || (flag && !flag.getValue()) ||
        getDonatedResult(function, number))
      continue;
    Type type = function.getArgumentTypes()[number];
    bool isTaken = false;
    for (auto [result, resultType] :
         llvm::enumerate(function.getResultTypes())) {
      if (resultType != type || donors[result])
        continue;
      donors[result] = function.getArgument(number);
      function.setArgAttr(
          number, RematDialect::donatedAttrName,
          Builder(function.getContext()).getI64IntegerAttr(result));
      isTaken = true;
      break;
    }
    if (!isTaken)
      emitRemark(function.getArgument(number).getLoc())
          << "argument " << number << " of '" << function.getName()
          << "' offers its buffer, but no result of type " << type
          << " is without one";
  }
}

/// Which result has the buffer of an argument, as JAX writes it
/// (`donate_argnums`).
static void importDonations(func::FuncOp function) {
  constexpr StringLiteral aliasing = "tf.aliasing_output";
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    auto result = function.getArgAttrOfType<IntegerAttr>(number, aliasing);
    if (!result)
      continue;
    function.removeArgAttr(number, aliasing);
    if (!function.getArgAttr(number, RematDialect::donatedAttrName))
      function.setArgAttr(
          number, RematDialect::donatedAttrName,
          Builder(function.getContext()).getI64IntegerAttr(result.getInt()));
  }
  importOffers(function);
}

namespace {
struct ImportEntry : public remat::impl::ImportEntryPassBase<ImportEntry> {
  using ImportEntryPassBase::ImportEntryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry = dyn_cast_or_null<func::FuncOp>(
        findEntry(module, function).getOperation());
    if (!entry) {
      (void)reportNoEntry(module, function);
      return signalPassFailure();
    }
    SetVector<Operation *> reached = findReachable(entry);
    for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!reached.contains(other))
        other.erase();
    if (failed(checkFunction(entry)))
      return signalPassFailure();
    for (auto other : module.getOps<func::FuncOp>())
      if (other != entry && failed(checkCalls(other)))
        return signalPassFailure();
    importDonations(entry);
    if (failed(verifyDonations(entry)))
      return signalPassFailure();
  }
};
} // namespace
