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

#include "remat/Codegen/Library/Convolution.h"
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
                        const CostFile &measured, ConvolutionChoice choice) {
  if (auto chosen = kernel->getAttrOfType<ImplementationAttr>(
          RematDialect::implementationAttrName))
    return chosen.getValue() == Implementation::Generated;
  if (!measured.kernels.empty())
    if (auto entry = measured.kernels.find(getKernelKey(kernel));
        entry != measured.kernels.end() && entry->second.library &&
        entry->second.generated)
      return *entry->second.generated < *entry->second.library;
  if (call.getPlanWorkspaceBytes() && choice == ConvolutionChoice::Auto)
    return !codegen::mayBeEither(kernel, call) ||
           *call.getPlanWorkspaceBytes() >
               codegen::getWorthwhileBytes(call, getTargetFacts(kernel));
  return call.isBetterGenerated();
}

/// How a kernel is carried out for which code need not be generated.
static Implementation getPlanned(FunctionOpInterface kernel,
                                 const codegen::LibraryCall &call,
                                 ConvolutionChoice choice) {
  if (auto chosen = kernel->getAttrOfType<ImplementationAttr>(
          RematDialect::implementationAttrName);
      chosen && chosen.getValue() != Implementation::Generated)
    return chosen.getValue();
  return choice == ConvolutionChoice::Auto && codegen::mayBeEither(kernel, call)
             ? Implementation::Either
             : Implementation::Library;
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
    if (convolutions != ConvolutionChoice::Generated) {
      const Target *target = lookupTarget(getOperation());
      if (!target || failed(target->makeLibraryPlans(
                         getOperation(),
                         {convolutions, convolutionPlans, tf32, chip, device})))
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
      bool generated = isGenerated(kernel, *call, *measured, convolutions);
      if (others && (generated || call->countFlops() <=
                                      ImplementationTuning::maxComparedFlops))
        generated = !generated;
      kernel->setAttr(RematDialect::implementationAttrName,
                      ImplementationAttr::get(
                          &getContext(),
                          generated ? Implementation::Generated
                                    : getPlanned(kernel, *call, convolutions)));
    }
  }
};
} // namespace
