//===- Upstream.cpp - upstream's passes, where they have work -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions look at every operation several times, also where there is
// nothing that they convert; a look at the names is enough to know.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Saturating.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCALLSPASS
#define GEN_PASS_DEF_IMPORTTOSAPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Operations that a function may have when its calls are inlined.
static constexpr int64_t maxInlined = 1 << 22;

namespace {
/// Counts the operations of functions with all that they call.
class InlinedSize {
public:
  int64_t count(Operation *function) {
    // None for a function that calls itself, which is not inlined.
    auto [it, isNew] = counts.try_emplace(function, 0);
    if (!isNew)
      return it->second;
    int64_t size = 0;
    function->walk([&](Operation *op) {
      size = addCounts(size, 1);
      if (auto call = dyn_cast<CallOpInterface>(op))
        if (Operation *callee = call.resolveCallableInTable(&symbols))
          size = addCounts(size, count(callee));
    });
    return counts[function] = size;
  }

private:
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, int64_t> counts;
};

struct ImportCalls : public remat::impl::ImportCallsPassBase<ImportCalls> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasCalls =
        module->walk([](CallOpInterface) { return WalkResult::interrupt(); })
            .wasInterrupted();
    // Of several functions, some may be for nothing.
    if (!hasCalls &&
        llvm::hasSingleElement(module.getOps<CallableOpInterface>()))
      return;
    InlinedSize size;
    for (auto function : module.getOps<FunctionOpInterface>())
      if (size.count(function) > maxInlined) {
        function->emitError("'")
            << function.getName()
            << "' has too many operations when its calls are inlined, expected "
               "at most "
            << maxInlined;
        return signalPassFailure();
      }
    // A hint to optimizers, but there are no calls where tasks are planned.
    module->walk([](Operation *op) {
      if (isa<CallOpInterface, FunctionOpInterface>(op))
        op->removeAttr("no_inline");
    });
    // Inlining does not simplify: that would drop attributes that are tags.
    OpPassManager inliner(ModuleOp::getOperationName());
    inliner.addPass(createInlinerPass({}, [](OpPassManager &) {}));
    if (failed(runPipeline(inliner, module)))
      signalPassFailure();
  }
};

/// Upstream's conversions hand nothing of an operation on but its location. So
/// that of a backward one has a name while they run, and at no other time: as
/// often as its level says.
class PhasesInLocations {
public:
  explicit PhasesInLocations(Operation *root)
      : root(root), name(StringAttr::get(root->getContext(),
                                         RematDialect::backwardAttrName)) {
    root->walk([&](Operation *op) {
      for (unsigned level = getBackwardLevel(op); level > 0; --level)
        op->setLoc(NameLoc::get(name, op->getLoc()));
    });
  }
  ~PhasesInLocations() {
    root->walk([&](Operation *op) {
      auto [loc, level] = takeNames(op->getLoc());
      op->setLoc(loc);
      if (level != 0)
        setBackwardLevel(op, level);
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          argument.setLoc(takeNames(argument.getLoc()).first);
    });
  }

private:
  /// What is inside of `loc`, and how often it is named.
  std::pair<Location, unsigned> takeNames(Location loc) const {
    unsigned level = 0;
    while (auto named = dyn_cast<NameLoc>(loc)) {
      if (named.getName() != name)
        break;
      loc = named.getChildLoc();
      ++level;
    }
    return {loc, level};
  }

  Operation *root;
  StringAttr name;
};

struct ImportTosa : public remat::impl::ImportTosaPassBase<ImportTosa> {
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager conversion = makeConversion();
    conversion.getDependentDialects(registry);
  }

  void runOnOperation() override {
    WalkResult found = getOperation()->walk([](Operation *op) {
      return isa_and_present<tosa::TosaDialect>(op->getDialect())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      return;
    OpPassManager conversion = makeConversion();
    PhasesInLocations phases(getOperation());
    if (failed(runPipeline(conversion, getOperation())))
      signalPassFailure();
  }

  /// To linalg, arith and tensor.
  static OpPassManager makeConversion() {
    OpPassManager function(func::FuncOp::getOperationName());
    function.addPass(tosa::createTosaToLinalgNamed());
    function.addPass(tosa::createTosaToLinalg());
    function.addPass(createTosaToArithPass());
    function.addPass(createTosaToTensorPass());
    return function;
  }
};
} // namespace
