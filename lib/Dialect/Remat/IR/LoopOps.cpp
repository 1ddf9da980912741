//===- LoopOps.cpp - loops that stay loops --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace remat;

void LoopOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                   StringRef body, int64_t count, bool reverse,
                   ValueRange inits, ValueRange invariants, ValueRange slices) {
  build(builder, state, results, body, count, reverse, inits, invariants,
        slices, /*advance=*/nullptr, /*slots=*/nullptr, {}, {}, {});
}

LogicalResult LoopOp::verify() {
  if (getNumResults() < getInits().size())
    return emitOpError("has ") << getNumResults() << " results, expected "
                               << getInits().size() << " or more";
  if (getFinals().getTypes() != getInits().getTypes())
    return emitOpError("carries (")
           << getInits().getTypes() << "), but ends with ("
           << getFinals().getTypes() << ")";
  bool isGiven = getAdvance().has_value() || getSlots().has_value() ||
                 !getStateInits().empty() || !getStateInvariants().empty() ||
                 !getStateSlices().empty();
  if (isGiven && (!getAdvance() || !getSlots()))
    return emitOpError("makes states again, expected 'advance' and 'slots'");
  return success();
}

/// Appends what an iteration sees of tensors with an element for each.
static LogicalResult addElements(LoopOp loop, TypeRange types, StringRef what,
                                 SmallVectorImpl<Type> &elements) {
  int64_t count = loop.getCount();
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() == 0 || tensor.getDimSize(0) != count)
      return loop.emitOpError("has ")
             << what << " of type " << type << ", expected " << count
             << " elements in the first dimension";
    elements.push_back(tensor.clone(tensor.getShape().drop_front()));
  }
  return success();
}

/// Checks that `symbol` is a function of these types.
static LogicalResult checkFunction(LoopOp loop, SymbolTableCollection &symbols,
                                   FlatSymbolRefAttr symbol,
                                   TypeRange arguments, TypeRange results) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      symbols.lookupNearestSymbolFrom(loop, symbol));
  if (!function)
    return loop.emitOpError("runs '")
           << symbol.getValue() << "', which is no function";
  auto check = [&](StringRef what, TypeRange types,
                   TypeRange expected) -> LogicalResult {
    if (types == expected)
      return success();
    return loop.emitOpError("runs '")
           << symbol.getValue() << "' with " << what << " (" << types
           << "), expected (" << expected << ")";
  };
  if (failed(check("arguments", function.getArgumentTypes(), arguments)))
    return failure();
  return check("results", function.getResultTypes(), results);
}

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> arguments(getInits().getTypes()), results(arguments);
  llvm::append_range(arguments, getInvariants().getTypes());
  llvm::append_range(arguments, getStateInits().getTypes());
  if (failed(
          addElements(*this, getSlices().getTypes(), "a slice", arguments)) ||
      failed(addElements(*this, getStacks().getTypes(), "a stacked result",
                         results)) ||
      failed(checkFunction(*this, symbols, getBodyAttr(), arguments, results)))
    return failure();
  if (!getAdvanceAttr())
    return success();
  SmallVector<Type> states(getStateInits().getTypes());
  arguments = states;
  llvm::append_range(arguments, getStateInvariants().getTypes());
  if (failed(addElements(*this, getStateSlices().getTypes(), "a slice",
                         arguments)))
    return failure();
  return checkFunction(*this, symbols, getAdvanceAttr(), arguments, states);
}
