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
  if (name != "main")
    return {};
  if (llvm::hasSingleElement(functions))
    return *functions.begin();
  // Bodies of loops and what else only others name are private.
  auto visible =
      llvm::make_filter_range(functions, [](FunctionOpInterface function) {
        return function.isPublic();
      });
  return llvm::hasSingleElement(visible) ? *visible.begin()
                                         : FunctionOpInterface();
}
