//===- AnnotateCosts.cpp - the pass remat-annotate-costs ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/CostFile.h"
#include "remat/Cost/Passes.h"
#include "remat/Cost/Roofline.h"
#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <thread>

namespace remat {
#define GEN_PASS_DEF_ANNOTATECOSTSPASS
#include "remat/Cost/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// `facts` with another speed of the link to host memory.
static TargetAttr withLinkBandwidth(TargetAttr facts, int64_t bytesPerSecond) {
  return TargetAttr::get(
      facts.getContext(), facts.getName(), facts.getAlignment(),
      facts.getRowBytes(), facts.getBlockBytes(), facts.getBlockRows(),
      facts.getMinBlockRows(), facts.getSumLength(), facts.getChannelBytes(),
      facts.getSliceBytes(), facts.getSliceRows(), facts.getMinSliceRows(),
      facts.getInPlace(), facts.getBiases(), facts.getEpilogues(),
      facts.getStrides(), facts.getSharedStrides(), facts.getRowStages(),
      facts.getWindows(), facts.getThreads(), facts.getContractionFlops(),
      facts.getNarrowContractionFlops(), facts.getTileFlops(),
      facts.getNarrowTileFlops(), facts.getLoopFlops(), facts.getBandwidth(),
      facts.getLaunchNs(), bytesPerSecond, facts.getDuplexLink());
}

namespace {

struct AnnotateCosts : remat::impl::AnnotateCostsPassBase<AnnotateCosts> {
  using AnnotateCostsPassBase::AnnotateCostsPassBase;

  struct Kernel {
    int64_t cost, workspace;
  };

  LogicalResult checkOptions() {
    if (threads >= 0)
      return success();
    return getOperation().emitError("remat-annotate-costs: 'threads' must not "
                                    "be negative, got ")
           << threads.getValue();
  }

  LogicalResult loadCosts() {
    EmitOptions options;
    options.chip = chip;
    options.device = device;
    llvm::Expected<CostFile> file =
        remat::loadCosts(costs, getOperation(), options, threads);
    if (!file)
      return getOperation().emitError(llvm::toString(file.takeError()));
    measured = std::move(*file);
    if (measured.link)
      setLinkBandwidth(measured.link->getBandwidth());
    return success();
  }

  /// Says in the IR how fast the link is: planning looks there.
  void setLinkBandwidth(int64_t bytesPerSecond) {
    ModuleOp module = getOperation();
    module->setAttr(targetAttrName,
                    withLinkBandwidth(getTargetFacts(module), bytesPerSecond));
    module->walk([&](Operation *op) {
      if (auto facts = op->getAttrOfType<TargetAttr>(targetAttrName))
        op->setAttr(targetAttrName, withLinkBandwidth(facts, bytesPerSecond));
    });
  }

  FailureOr<Kernel> analyze(FunctionOpInterface kernel, const Target &target,
                            const Roofline &roofline) {
    KernelCosts known;
    if (!measured.kernels.empty())
      if (auto entry = measured.kernels.find(getKernelKey(kernel));
          entry != measured.kernels.end())
        known = entry->second;
    FailureOr<codegen::KernelInfo> info = target.analyzeKernel(kernel, threads);
    if (failed(info))
      return failure();
    std::optional<int64_t> cost = info->call ? known.library : known.generated;
    if (findTransfer(kernel))
      if (std::optional<int64_t> time = estimateTransfer(info->bytesRead))
        cost = time;
    return Kernel{cost.value_or(roofline.estimate(*info)),
                  info->workspaceBytes};
  }

  /// What a copy from or to host memory takes, if it is known how fast the link
  /// is.
  std::optional<int64_t> estimateTransfer(int64_t bytes) {
    int64_t bandwidth = getTargetFacts(getOperation()).getLinkBandwidth();
    double time = std::ceil(static_cast<double>(bytes) * 1e9 /
                            static_cast<double>(bandwidth));
    if (bandwidth <= 0 || time >= 0x1p62)
      return std::nullopt;
    return static_cast<int64_t>(time);
  }

  void runOnOperation() override {
    if (failed(checkOptions()) || failed(loadCosts()))
      return signalPassFailure();
    int count = threads;
    if (count == 0)
      count = std::max(std::thread::hardware_concurrency(), 1u);
    const Target *target = lookupTarget(getOperation());
    if (!target)
      return signalPassFailure();
    Roofline roofline(getTargetFacts(getOperation()), count, tf32);
    SymbolTable symbols(getOperation());
    // Tasks share kernels; one analysis is enough for each.
    llvm::StringMap<Kernel> kernels;
    auto find = [&](TaskOp task, StringRef name) -> FailureOr<Kernel> {
      auto it = kernels.find(name);
      if (it != kernels.end())
        return it->second;
      auto kernel = symbols.lookup<FunctionOpInterface>(name);
      if (!kernel)
        return task.emitOpError("calls kernel '")
               << name << "', which is not a function";
      FailureOr<Kernel> info = analyze(kernel, *target, roofline);
      if (succeeded(info))
        kernels.try_emplace(name, *info);
      return info;
    };
    WalkResult walk = getOperation().walk([&](TaskOp task) {
      // A placed graph, the body of a loop, has the workspaces that it has.
      if (task->getParentOfType<GraphOp>().isPlaced())
        return WalkResult::advance();
      FailureOr<Kernel> own = find(task, task.getKernel());
      if (failed(own))
        return WalkResult::interrupt();
      task.setCost(own->cost);
      task.setWorkspace(own->workspace);
      SmallVector<Absorption> absorptions = getAbsorptions(task);
      for (Absorption &absorption : absorptions) {
        FailureOr<Kernel> other = find(task, absorption.kernel.getValue());
        if (failed(other))
          return WalkResult::interrupt();
        absorption.cost = other->cost;
        absorption.workspace = other->workspace;
      }
      if (!absorptions.empty())
        setAbsorptions(task, absorptions);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

private:
  CostFile measured;
};

} // namespace
