//===- EntryFunction.cpp - the function that a module is about ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/EntryFunction.h"

using namespace mlir;

FunctionOpInterface remat::findEntry(ModuleOp module, StringRef name) {
  // The sequences of a transform script are no functions of the program.
  auto isFunction = [](FunctionOpInterface function) {
    return function->getName().getDialectNamespace() != "transform";
  };
  auto entry = module.lookupSymbol<FunctionOpInterface>(name);
  if (entry && isFunction(entry))
    return entry;
  auto functions =
      llvm::make_filter_range(module.getOps<FunctionOpInterface>(), isFunction);
  if (name == "main" && llvm::hasSingleElement(functions))
    return *functions.begin();
  return {};
}
