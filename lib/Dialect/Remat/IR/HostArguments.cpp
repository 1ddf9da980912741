//===- HostArguments.cpp - arguments in host memory -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/HostArguments.h"

using namespace mlir;
using namespace remat;

bool remat::isHostArgument(FunctionOpInterface function, unsigned argument) {
  return static_cast<bool>(function.getArgAttr(argument, hostAttrName));
}

Operation *remat::findTransfer(FunctionOpInterface kernel) {
  Region &body = kernel.getFunctionBody();
  if (!body.hasOneBlock())
    return nullptr;
  for (Operation &op : body.front())
    if (op.hasAttr(transferAttrName))
      return &op;
  return nullptr;
}
