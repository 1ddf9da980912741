//===- NamedFunctions.cpp - functions that operations name ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/NamedFunctions.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat;

Operation *remat::getNamedFunction(Operation *op) {
  SymbolRefAttr symbol;
  if (auto vjp = dyn_cast<VJPOp>(op))
    symbol = vjp.getCalleeAttr();
  else if (auto jvp = dyn_cast<JVPOp>(op))
    symbol = jvp.getCalleeAttr();
  else if (auto call = dyn_cast<CallOpInterface>(op))
    symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
  else if (auto loop = dyn_cast<LoopOp>(op))
    symbol = loop.getBodyAttr();
  return symbol ? SymbolTable::lookupNearestSymbolFrom(op, symbol) : nullptr;
}

bool remat::holdsDerivative(Operation *function) {
  SetVector<Operation *> functions;
  functions.insert(function);
  for (size_t i = 0; i < functions.size(); ++i) {
    WalkResult found = functions[i]->walk([&](Operation *op) {
      if (isa<VJPOp, JVPOp>(op))
        return WalkResult::interrupt();
      if (Operation *callee = getNamedFunction(op))
        functions.insert(callee);
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
  }
  return false;
}
