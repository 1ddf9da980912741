//===- TypeNames.cpp - types in what people read --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/TypeNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

std::string remat::describeType(mlir::RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (type.getElementType().isInteger(1))
    os << "bool";
  else
    os << type.getElementType();
  os << '[';
  llvm::interleave(type.getShape(), os, ",");
  os << ']';
  return text;
}
