//===- ModuleParts.cpp - a module of code in parts ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ModuleParts.h. Kernels know nothing of each other: what two of them share
// is small, such as the report of a failed check, and each part has its own.
// A kernel's key is a hash of its code after its symbols were numbered.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/ModuleParts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SHA256.h"

#include <limits>

using namespace mlir;
using namespace remat::codegen;

namespace {

class Splitter {
public:
  explicit Splitter(ModuleOp module) : module(module), symbols(module) {}
  std::vector<ModulePart> run();

private:
  void collect(Operation *op, SetVector<Operation *> &needed);
  OwningOpRef<ModuleOp> createPart(ArrayRef<Operation *> roots);
  ModulePart createKernel(Operation *function);

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

/// Gives the symbols of a part other names.
static void rename(ModuleOp part, const llvm::StringMap<std::string> &names) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
        auto found = names.find(symbol.getValue());
        if (found == names.end())
          return std::nullopt;
        return FlatSymbolRefAttr::get(symbol.getContext(), found->second);
      });
  replacer.recursivelyReplaceElementsIn(part);
  for (Operation &op : *part.getBody()) {
    auto found = names.find(SymbolTable::getSymbolName(&op).getValue());
    if (found != names.end())
      SymbolTable::setSymbolName(&op, found->second);
  }
}

std::string remat::codegen::hashCode(Operation *op) {
  // Options of the command line must not leave anything out.
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  OpPrintingFlags flags;
  flags.printGenericOpForm().useLocalScope().enableDebugInfo(false);
  flags.elideLargeElementsAttrs(all).elideLargeResourceString(all);
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, flags);
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

ModulePart Splitter::createKernel(Operation *function) {
  ModulePart part;
  part.code = createPart(function);
  llvm::StringMap<std::string> numbered;
  for (Operation &op : *part.code->getBody()) {
    auto declared = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (declared && declared.isExternal())
      continue;
    std::string name = SymbolTable::getSymbolName(&op).str();
    std::string number = "symbol_" + std::to_string(part.names.size());
    part.names.push_back({number, name});
    numbered[name] = number;
  }
  rename(*part.code, numbered);
  part.key = hashCode(*part.code);
  // The numbered name of the kernel becomes one that all parts know.
  std::string name = SymbolTable::getSymbolName(function).str();
  std::string known = "kernel_" + part.key;
  rename(*part.code, {{numbered[name], known}});
  for (auto &[given, original] : part.names)
    if (original == name)
      given = known;
  return part;
}

std::vector<ModulePart> Splitter::run() {
  SmallVector<Operation *> variables, functions;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (isExternal(&op) && !(function && function.isExternal()))
      (function ? functions : variables).push_back(&op);
  }
  std::vector<ModulePart> parts(1);
  llvm::StringMap<std::string> names;
  llvm::StringSet<> keys;
  for (Operation *function : functions) {
    ModulePart part = createKernel(function);
    StringRef name = SymbolTable::getSymbolName(function).getValue();
    std::string known = "kernel_" + part.key;
    names[name] = known;
    if (!keys.insert(part.key).second)
      continue;
    parts.front().names.push_back({known, name.str()});
    parts.push_back(std::move(part));
  }
  parts.front().code = createPart(variables);
  rename(*parts.front().code, names);
  return parts;
}

std::vector<ModulePart> remat::codegen::splitModule(ModuleOp module) {
  return Splitter(module).run();
}
