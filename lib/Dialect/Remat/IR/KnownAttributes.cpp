//===- KnownAttributes.cpp - operations refuse unknown attributes ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/KnownAttributes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

LogicalResult remat::verifyKnownAttributes(Operation *op) {
  for (NamedAttribute attr : op->getDiscardableAttrs()) {
    StringRef name = attr.getName();
    if (name.contains('.'))
      continue;
    InFlightDiagnostic diag = op->emitOpError("has the unknown attribute '")
                              << name << "', expected ";
    SmallVector<StringRef> known;
    for (StringAttr own : op->getName().getAttributeNames())
      if (!own.getValue().ends_with("SegmentSizes"))
        known.push_back(own);
    diag << (known.empty() ? "none" : known.size() == 1 ? "" : "one of ");
    llvm::interleaveComma(known, diag,
                          [&](StringRef name) { diag << "'" << name << "'"; });
    return diag;
  }
  return success();
}
