//===- ModuleParts.cpp - a module of code in parts ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ModuleParts.h. Kernels know nothing of each other: what two of them share
// is small, such as the report of a failed check, and each part has its own.
//
//===----------------------------------------------------------------------===//

#include "ModuleParts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat::cpu;

/// More parts than there are threads, so that they end at about the same time;
/// a part itself costs about a millisecond.
static constexpr unsigned maxParts = 32;

namespace {

class Splitter {
public:
  explicit Splitter(ModuleOp module) : module(module), symbols(module) {}
  SmallVector<OwningOpRef<ModuleOp>> run();

private:
  void collect(Operation *op, SetVector<Operation *> &needed);
  OwningOpRef<ModuleOp> createPart(ArrayRef<Operation *> roots);

  ModuleOp module;
  SymbolTable symbols;
};

} // namespace

static bool isExternal(Operation *op) {
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    return function.getLinkage() == LLVM::Linkage::External;
  auto global = dyn_cast<LLVM::GlobalOp>(op);
  return global && global.getLinkage() == LLVM::Linkage::External;
}

/// What `op` needs beside it: internal symbols whole, of external functions a
/// declaration.
void Splitter::collect(Operation *op, SetVector<Operation *> &needed) {
  if (!needed.insert(op))
    return;
  op->walk([&](Operation *inner) {
    for (NamedAttribute attr : inner->getAttrs())
      attr.getValue().walk([&](SymbolRefAttr symbol) {
        Operation *other = symbols.lookup(symbol.getRootReference());
        if (!other)
          return;
        if (isExternal(other))
          needed.insert(other);
        else
          collect(other, needed);
      });
  });
}

OwningOpRef<ModuleOp> Splitter::createPart(ArrayRef<Operation *> roots) {
  OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
  part.get()->setAttrs(module->getAttrDictionary());
  DenseSet<Operation *> defined(roots.begin(), roots.end());
  SetVector<Operation *> needed;
  for (Operation *root : roots)
    collect(root, needed);
  OpBuilder builder(part->getBodyRegion());
  // In the order of the module.
  for (Operation &op : *module.getBody()) {
    if (!needed.contains(&op))
      continue;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!isExternal(&op) || defined.contains(&op)) {
      builder.clone(op);
    } else if (function) {
      auto declaration = cast<LLVM::LLVMFuncOp>(op.cloneWithoutRegions());
      builder.insert(declaration);
    }
  }
  return part;
}

SmallVector<OwningOpRef<ModuleOp>> Splitter::run() {
  SmallVector<Operation *> variables, functions;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (isExternal(&op) && !(function && function.isDeclaration()))
      (function ? functions : variables).push_back(&op);
  }
  SmallVector<OwningOpRef<ModuleOp>> parts;
  parts.push_back(createPart(variables));
  unsigned count = std::min<unsigned>(functions.size(), maxParts);
  for (unsigned i = 0; i < count; ++i) {
    SmallVector<Operation *> roots;
    for (unsigned number = i; number < functions.size(); number += count)
      roots.push_back(functions[number]);
    parts.push_back(createPart(roots));
  }
  return parts;
}

SmallVector<OwningOpRef<ModuleOp>> remat::cpu::splitModule(ModuleOp module) {
  return Splitter(module).run();
}
