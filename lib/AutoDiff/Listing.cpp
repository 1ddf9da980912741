//===- Listing.cpp - what can be differentiated ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Listing.h"

#include "mlir/IR/MLIRContext.h"

#include "Idioms.h"

using namespace mlir;
using namespace remat;

void remat::listDerivativeRules(const DialectRegistry &registry,
                                raw_ostream &os) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SmallVector<StringRef> names;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<DifferentiableOpInterface>())
      names.push_back(name.getStringRef());
  llvm::sort(names);
  for (StringRef name : names)
    os << name << '\n';
}

void remat::listIdioms(raw_ostream &os) {
  for (const Idiom &idiom : getIdioms())
    os << idiom.name << ": " << idiom.source << '\n';
}
