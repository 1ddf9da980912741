//===- ChooseImplementations.cpp - library calls or generated code --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-choose-implementations`: the one place where
// the choice is made. Code generation follows the attribute.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"

#include "remat/Codegen/LibraryCall.h"
#include "remat/Cost/CostFile.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace remat {
#define GEN_PASS_DEF_CHOOSEIMPLEMENTATIONSPASS
#include "remat/Cost/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether code is generated for a kernel that may be `call` as well.
static bool isGenerated(FunctionOpInterface kernel,
                        const codegen::LibraryCall &call,
                        const CostFile &measured) {
  if (auto chosen = kernel->getAttrOfType<ImplementationAttr>(
          RematDialect::implementationAttrName))
    return chosen.getValue() == Implementation::Generated;
  if (!measured.kernels.empty())
    if (auto entry = measured.kernels.find(getKernelKey(kernel));
        entry != measured.kernels.end() && entry->second.library &&
        entry->second.generated)
      return *entry->second.generated < *entry->second.library;
  return call.isBetterGenerated();
}

namespace {
struct ChooseImplementations
    : remat::impl::ChooseImplementationsPassBase<ChooseImplementations> {
  using ChooseImplementationsPassBase::ChooseImplementationsPassBase;

  void runOnOperation() override {
    EmitOptions options;
    options.chip = chip;
    options.device = device;
    llvm::Expected<CostFile> measured =
        loadCosts(costs, getOperation(), options, threads);
    if (!measured) {
      getOperation().emitError(llvm::toString(measured.takeError()));
      return signalPassFailure();
    }
    if (cudnn) {
      const Target *target = lookupTarget(getOperation());
      if (!target ||
          failed(target->makeLibraryPlans(getOperation(), {cudnn, tf32, chip})))
        return signalPassFailure();
    }
    // Another implementation needs another workspace, which a placed graph, the
    // body of a loop, has no room for.
    llvm::StringSet<> placed;
    for (auto graph : getOperation().getOps<GraphOp>())
      if (graph.isPlaced())
        for (auto task : graph.getOps<TaskOp>())
          placed.insert(task.getKernel());
    for (auto kernel : getOperation().getOps<FunctionOpInterface>()) {
      if (!kernel->hasAttr(RematDialect::kernelAttrName) ||
          placed.contains(kernel.getName()))
        continue;
      codegen::LibraryCallRef call = codegen::describeLibraryCall(kernel);
      if (!call || !call->mayBeGenerated())
        continue;
      bool generated = isGenerated(kernel, *call, *measured);
      if (others && (generated || call->countFlops() <=
                                      ImplementationTuning::maxComparedFlops))
        generated = !generated;
      kernel->setAttr(RematDialect::implementationAttrName,
                      ImplementationAttr::get(
                          &getContext(), generated ? Implementation::Generated
                                                   : Implementation::Library));
    }
  }
};
} // namespace
