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

SmallVector<func::FuncOp> remat::collectWithBodies(func::FuncOp function) {
  llvm::SetVector<func::FuncOp> found;
  found.insert(function);
  for (size_t i = 0; i < found.size(); ++i) {
    func::FuncOp caller = found[i];
    caller.walk([&](LoopOp loop) {
      for (FlatSymbolRefAttr symbol :
           {loop.getBodyAttr(), loop.getAdvanceAttr()})
        if (symbol)
          if (auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                  loop, symbol))
            found.insert(body);
    });
  }
  return found.takeVector();
}

SmallVector<func::FuncOp> remat::cloneWithBodies(func::FuncOp function,
                                                 StringRef suffix) {
  SymbolTable table(function->getParentOfType<ModuleOp>());
  SmallVector<func::FuncOp> copies;
  DenseMap<Attribute, FlatSymbolRefAttr> names;
  for (func::FuncOp old : collectWithBodies(function)) {
    func::FuncOp copy = old.clone();
    copy->removeAttr(RematDialect::alternativeAttrName);
    copy.setName((old.getName() + suffix).str());
    copy.setPrivate();
    table.insert(copy, std::next(Block::iterator(old)));
    names[FlatSymbolRefAttr::get(old)] = FlatSymbolRefAttr::get(copy);
    copies.push_back(copy);
  }
  for (func::FuncOp copy : copies)
    copy.walk([&](LoopOp loop) {
      if (FlatSymbolRefAttr body = names.lookup(loop.getBodyAttr()))
        loop.setBodyAttr(body);
      if (FlatSymbolRefAttr symbol = loop.getAdvanceAttr())
        if (FlatSymbolRefAttr advance = names.lookup(symbol))
          loop.setAdvanceAttr(advance);
    });
  return copies;
}
