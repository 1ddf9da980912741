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

namespace remat {
#define GEN_PASS_DEF_IMPORTCALLSPASS
#define GEN_PASS_DEF_IMPORTTOSAPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
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
    // Inlining does not simplify: that would drop attributes that are tags.
    OpPassManager inliner(ModuleOp::getOperationName());
    inliner.addPass(createInlinerPass({}, [](OpPassManager &) {}));
    if (failed(runPipeline(inliner, module)))
      signalPassFailure();
  }
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
