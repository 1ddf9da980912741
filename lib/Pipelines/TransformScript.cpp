//===- TransformScript.cpp - scripts of the transform dialect -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransformScript.h"

#include "remat/Pipelines/Passes.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/BuiltinOps.h"

namespace remat {
#define GEN_PASS_DEF_RUNTRANSFORMSCRIPTPASS
#include "remat/Pipelines/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

bool remat::isTransformScript(Operation &op) {
  if (op.getName().getDialectNamespace() == "transform")
    return true;
  auto library = dyn_cast<ModuleOp>(op);
  return library && !library.getOps().empty() &&
         llvm::all_of(library.getOps(), isTransformScript);
}

/// Takes the script out of `module`; null if there is none. It is taken out
/// first so that it does not transform itself.
static OwningOpRef<ModuleOp> takeScript(ModuleOp module) {
  OwningOpRef<ModuleOp> script;
  for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
    if (!isTransformScript(op))
      continue;
    if (!script) {
      script = ModuleOp::create(module.getLoc());
      script.get()->setAttr(
          transform::TransformDialect::kWithNamedSequenceAttrName,
          UnitAttr::get(module.getContext()));
    }
    op.moveBefore(script->getBody(), script->getBody()->end());
  }
  module->removeAttr(transform::TransformDialect::kWithNamedSequenceAttrName);
  return script;
}

/// Runs the entry of `script` on `module`.
static LogicalResult runScript(ModuleOp script, ModuleOp module) {
  constexpr StringLiteral name =
      transform::TransformDialect::kTransformEntryPointSymbolName;
  Operation *entry = nullptr;
  script.walk([&](transform::TransformOpInterface op) {
    auto symbol =
        op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (!symbol || symbol != name)
      return WalkResult::advance();
    entry = op;
    return WalkResult::interrupt();
  });
  if (!entry)
    return emitError(script.getLoc())
           << "the transform script has no 'transform.named_sequence @" << name
           << "', which is what is run";
  return transform::applyTransformNamedSequence(module, entry, ModuleOp(),
                                                transform::TransformOptions());
}

namespace {
struct RunTransformScript
    : remat::impl::RunTransformScriptPassBase<RunTransformScript> {
  using RunTransformScriptPassBase::RunTransformScriptPassBase;

  // Dialects cannot be loaded when passes run.
  LogicalResult initialize(MLIRContext *context) override {
    if (file.empty())
      return success();
    OwningOpRef<ModuleOp> parsed;
    if (failed(transform::detail::parseTransformModuleFromFile(context, file,
                                                               parsed)))
      return failure();
    fromFile = std::make_shared<OwningOpRef<ModuleOp>>(std::move(parsed));
    return success();
  }

  void runOnOperation() override {
    OwningOpRef<ModuleOp> own = takeScript(getOperation());
    if (own && failed(runScript(*own, getOperation())))
      return signalPassFailure();
    if (fromFile && failed(runScript(**fromFile, getOperation())))
      signalPassFailure();
  }

  std::shared_ptr<OwningOpRef<ModuleOp>> fromFile;
};
} // namespace

void remat::addTransformScript(OpPassManager &pm, const StepOptions &options) {
  RunTransformScriptPassOptions pass;
  pass.file = options.script;
  pm.addPass(createRunTransformScriptPass(pass));
}
