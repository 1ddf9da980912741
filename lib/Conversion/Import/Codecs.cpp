//===- Codecs.cpp - codecs of dynamic shape -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-import-codecs`.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCODECSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The codec that `op` asks for, or null.
static Attribute getCodec(Operation *op) {
  if (auto scope = dyn_cast<ScopeOp>(op))
    return scope.getCodecAttr();
  auto tag = dyn_cast<TagOp>(op);
  return tag ? tag.getCodecAttr() : Attribute();
}

static bool hasStaticTypes(FunctionOpInterface function) {
  return llvm::all_of(llvm::concat<const Type>(function.getArgumentTypes(),
                                               function.getResultTypes()),
                      [](Type type) {
                        auto tensor = dyn_cast<TensorType>(type);
                        return tensor && tensor.hasStaticShape();
                      });
}

namespace {
struct ImportCodecs : remat::impl::ImportCodecsPassBase<ImportCodecs> {
  void runOnOperation() override {
    SmallVector<Operation *> users;
    getOperation().walk([&](Operation *op) {
      if (getCodec(op))
        users.push_back(op);
    });
    for (Operation *op : users)
      for (Attribute codec : getCodecs(getCodec(op)))
        if (ArrayAttr pair = getCodecPair(codec))
          if (failed(checkCodecFunctions(op, pair)))
            return signalPassFailure();
    DenseMap<Attribute, SymbolRefAttr> moved;
    for (Operation *op : users)
      for (Attribute codec : getCodecs(getCodec(op)))
        if (ArrayAttr pair = getCodecPair(codec))
          for (auto symbol : pair.getAsRange<SymbolRefAttr>())
            moveAside(symbol, moved);
    if (moved.empty())
      return;
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](SymbolRefAttr symbol) {
      SymbolRefAttr other = moved.lookup(symbol);
      return std::make_pair(Attribute(other ? other : symbol),
                            WalkResult::skip());
    });
    for (Operation *op : users) {
      Attribute codec = replacer.replace(getCodec(op));
      if (auto scope = dyn_cast<ScopeOp>(op))
        scope.setCodecAttr(codec);
      else
        cast<TagOp>(op).setCodecAttr(codec);
    }
  }

private:
  /// Moves the function of this name into the module for such functions, if its
  /// types are not static.
  void moveAside(SymbolRefAttr symbol,
                 DenseMap<Attribute, SymbolRefAttr> &moved) {
    auto function = dyn_cast_or_null<FunctionOpInterface>(
        SymbolTable::lookupSymbolIn(getOperation(), symbol));
    if (!isa<FlatSymbolRefAttr>(symbol) || !function ||
        moved.contains(symbol) || hasStaticTypes(function))
      return;
    ModuleOp module = getCodecModule();
    function->remove();
    function.setVisibility(SymbolTable::Visibility::Nested);
    StringAttr name = SymbolTable(module).insert(function);
    moved[symbol] = SymbolRefAttr::get(module.getSymNameAttr(),
                                       FlatSymbolRefAttr::get(name));
  }

  ModuleOp getCodecModule() {
    if (!codecs) {
      OpBuilder builder(getOperation().getBodyRegion());
      codecs = ModuleOp::create(builder, getOperation().getLoc(),
                                StringRef("remat_codecs"));
      SymbolTable(getOperation()).insert(codecs);
    }
    return codecs;
  }

  ModuleOp codecs;
};
} // namespace
