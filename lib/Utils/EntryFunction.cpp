//===- EntryFunction.cpp - the function that a module is about ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/EntryFunction.h"

using namespace mlir;

/// The sequences of a transform script are no functions of the program.
static bool isFunction(FunctionOpInterface function) {
  return function->getName().getDialectNamespace() != "transform";
}

FunctionOpInterface remat::findEntry(ModuleOp module, StringRef name) {
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

LogicalResult remat::reportNoEntry(ModuleOp module, StringRef name) {
  InFlightDiagnostic error = module.emitError("has no function '")
                             << name << "' to compile";
  constexpr unsigned most = 8;
  unsigned count = 0;
  for (auto other : llvm::make_filter_range(
           module.getOps<FunctionOpInterface>(), isFunction)) {
    if (++count > most) {
      error << " and others";
      break;
    }
    error << (count == 1 ? ", expected one of '" : ", '") << other.getName()
          << "'";
  }
  return error;
}
