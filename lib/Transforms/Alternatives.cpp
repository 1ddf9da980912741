//===- Alternatives.cpp - another form of a function ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternatives.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

func::FuncOp remat::addAlternative(func::FuncOp function, StringRef suffix) {
  func::FuncOp copy = function.clone();
  copy.setName((function.getName() + suffix).str());
  copy.setPrivate();
  SymbolTable(function->getParentOfType<ModuleOp>())
      .insert(copy, std::next(Block::iterator(function)));
  function->setAttr(RematDialect::alternativeAttrName,
                    FlatSymbolRefAttr::get(copy));
  return copy;
}
