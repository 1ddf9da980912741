//===- LoopOps.cpp - loops that stay loops --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace remat;

/// What iteration sees of `type`, a tensor with an element for each of `count`
/// iterations; null if it is none.
static Type getElement(Type type, int64_t count) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() == 0 || tensor.getDimSize(0) != count)
    return nullptr;
  return tensor.clone(tensor.getShape().drop_front());
}

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto body = dyn_cast_or_null<FunctionOpInterface>(
      symbols.lookupNearestSymbolFrom(*this, getBodyAttr()));
  if (!body)
    return emitOpError("runs '") << getBody() << "', which is no function";
  if (getNumResults() < getInits().size())
    return emitOpError("has ") << getNumResults() << " results, expected "
                               << getInits().size() << " or more";
  int64_t count = getCount();
  SmallVector<Type> arguments(getInits().getTypes()), results(arguments);
  llvm::append_range(arguments, getInvariants().getTypes());
  auto addElements = [&](TypeRange types, StringRef what,
                         SmallVectorImpl<Type> &elements) -> LogicalResult {
    for (Type type : types) {
      Type element = getElement(type, count);
      if (!element)
        return emitOpError("has ")
               << what << " of type " << type << ", expected " << count
               << " elements in the first dimension";
      elements.push_back(element);
    }
    return success();
  };
  if (failed(addElements(getSlices().getTypes(), "a slice", arguments)) ||
      failed(addElements(getStacks().getTypes(), "a stacked result", results)))
    return failure();
  auto check = [&](StringRef what, TypeRange types,
                   TypeRange expected) -> LogicalResult {
    if (types == expected)
      return success();
    return emitOpError("has a body with ")
           << what << " (" << types << "), expected (" << expected << ")";
  };
  if (getFinals().getTypes() != getInits().getTypes())
    return emitOpError("carries (")
           << getInits().getTypes() << "), but ends with ("
           << getFinals().getTypes() << ")";
  if (failed(check("arguments", body.getArgumentTypes(), arguments)))
    return failure();
  return check("results", body.getResultTypes(), results);
}
