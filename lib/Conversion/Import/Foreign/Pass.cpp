//===- Pass.cpp - functions of foreign operations -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "remat/Conversion/Import/ForeignDialects.h"
#include "remat/Conversion/Import/Passes.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTFOREIGNPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

static LoweringTable makeTable() {
  LoweringTable table;
  for (auto add : {addArithmetic,   addAttention,   addCalls,
                   addChoices,      addControlFlow, addConversions,
                   addConvolutions, addDots,        addEigen,
                   addFourier,      addGathers,     addLu,
                   addQr,           addRandom,      addReducedPrecision,
                   addReductions,   addScatters,    addShapes,
                   addSlices,       addSorts,       addSpecialFunctions,
                   addSvd,          addTmTensor,    addTriangular,
                   addWindows})
    add(table);
  return table;
}

/// The attributes of those arguments or results that are left; what is said of
/// several devices is of no use.
static ArrayAttr keepAttrs(ArrayAttr attrs, ArrayRef<unsigned> kept) {
  if (!attrs)
    return {};
  SmallVector<Attribute> result;
  for (unsigned number : kept) {
    NamedAttrList list(cast<DictionaryAttr>(attrs[number]));
    for (NamedAttribute attr : llvm::to_vector(list))
      if (attr.getName().strref().starts_with("sdy.") ||
          attr.getName().strref().starts_with("mhlo."))
        list.erase(attr.getName());
    result.push_back(list.getDictionary(attrs.getContext()));
  }
  return ArrayAttr::get(attrs.getContext(), result);
}

namespace {
struct LoweredFunction {
  func::FuncOp function;
  Region body;
  SmallVector<unsigned> arguments;
};

struct ImportForeign
    : public remat::impl::ImportForeignPassBase<ImportForeign> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!hasForeign(module))
      return;
    LoweringTable table = makeTable();
    Lowering lowering(module, table);
    // Bodies of reductions call functions as they were, so none is replaced
    // before all are lowered.
    std::vector<std::unique_ptr<LoweredFunction>> lowered;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      auto next = std::make_unique<LoweredFunction>();
      next->function = function;
      if (failed(lowering.lowerFunction(function, next->body, next->arguments)))
        return signalPassFailure();
      lowered.push_back(std::move(next));
    }
    for (auto &next : lowered)
      if (failed(replace(lowering, *next)))
        return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (op.getName().getDialectNamespace() == "sdy")
        op.erase();
    for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs()))
      if (isa<OpaqueAttr>(attr.getValue()))
        module->removeDiscardableAttr(attr.getName());
  }

private:
  static LogicalResult replace(Lowering &lowering, LoweredFunction &lowered) {
    func::FuncOp function = lowered.function;
    SmallVector<unsigned> results;
    SmallVector<Type> types;
    for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
      if (failed(lowering.convertType(function.getLoc(), type, types)))
        return failure();
      results.resize(types.size(), number);
    }
    ArrayAttr argumentAttrs =
        keepAttrs(function.getArgAttrsAttr(), lowered.arguments);
    ArrayAttr resultAttrs = keepAttrs(function.getResAttrsAttr(), results);
    function.getBody().takeBody(lowered.body);
    function.setFunctionType(FunctionType::get(
        function.getContext(), function.getBody().getArgumentTypes(), types));
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
    if (argumentAttrs)
      function.setArgAttrsAttr(argumentAttrs);
    if (resultAttrs)
      function.setResAttrsAttr(resultAttrs);
    return success();
  }
};
} // namespace
