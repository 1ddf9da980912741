//===- AnnotateCosts.cpp - the pass remat-annotate-costs ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/CostFile.h"
#include "remat/Cost/Passes.h"
#include "remat/Cost/Roofline.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

#include <thread>

namespace remat {
#define GEN_PASS_DEF_REMATANNOTATECOSTS
#include "remat/Cost/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

struct AnnotateCosts : remat::impl::RematAnnotateCostsBase<AnnotateCosts> {
  using RematAnnotateCostsBase::RematAnnotateCostsBase;

  LogicalResult checkOptions() {
    if (threads >= 0 && productGflops > 0 && loopGflops > 0 && bandwidth > 0 &&
        overhead >= 0)
      return success();
    return getOperation().emitError(
        "remat-annotate-costs: peaks and bandwidth must be positive, threads "
        "and overhead not negative");
  }

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    int count = threads;
    if (count == 0)
      count = std::max(std::thread::hardware_concurrency(), 1u);
    Roofline roofline =
        Roofline{productGflops, loopGflops, bandwidth, overhead}.scaled(2,
                                                                        count);
    CostFile measured;
    if (!costs.empty()) {
      llvm::Expected<CostFile> file = CostFile::load(costs);
      if (!file) {
        getOperation().emitError(llvm::toString(file.takeError()));
        return signalPassFailure();
      }
      measured = std::move(*file);
    }
    SymbolTable symbols(getOperation());
    // Tasks share kernels; one analysis is enough for each.
    struct Kernel {
      int64_t cost, workspace;
    };
    llvm::StringMap<Kernel> kernels;
    WalkResult walk = getOperation().walk([&](TaskOp task) {
      auto it = kernels.find(task.getKernel());
      if (it == kernels.end()) {
        auto kernel = symbols.lookup<FunctionOpInterface>(task.getKernel());
        if (!kernel) {
          task.emitOpError("calls kernel '")
              << task.getKernel() << "', which is not a function";
          return WalkResult::interrupt();
        }
        FailureOr<cpu::KernelInfo> info = cpu::analyzeKernel(kernel, threads);
        if (failed(info))
          return WalkResult::interrupt();
        int64_t cost = roofline.estimate(*info);
        if (!measured.kernels.empty())
          if (auto known = measured.kernels.find(getKernelKey(kernel));
              known != measured.kernels.end())
            cost = known->second;
        it = kernels
                 .try_emplace(task.getKernel(),
                              Kernel{cost, info->workspaceBytes})
                 .first;
      }
      task.setCost(it->second.cost);
      task.setWorkspace(it->second.workspace);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
