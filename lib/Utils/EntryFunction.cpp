//===- EntryFunction.cpp - the function that a module is about ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/EntryFunction.h"

using namespace mlir;

FunctionOpInterface remat::findEntry(ModuleOp module, StringRef name) {
  if (auto entry = module.lookupSymbol<FunctionOpInterface>(name))
    return entry;
  auto functions = module.getOps<FunctionOpInterface>();
  if (name == "main" && llvm::hasSingleElement(functions))
    return *functions.begin();
  return {};
}
