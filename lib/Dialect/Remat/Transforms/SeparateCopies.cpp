//===- SeparateCopies.cpp - kernels that know which copy runs (L3) --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A clone calls the kernel of its original and so computes the same. A kernel
// that reads the number of the copy that runs (remat.copy_number) asks for the
// opposite: random numbers that differ from copy to copy. Each copy then gets
// its own kernel, with its number as a constant.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {
#define GEN_PASS_DEF_SEPARATECOPIESPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static bool readsCopyNumber(func::FuncOp kernel) {
  return kernel.walk([](CopyNumberOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// A copy of `kernel` called `name`, for copy `copy` of its tasks.
static func::FuncOp makeVariant(func::FuncOp kernel, StringRef name,
                                int64_t copy) {
  auto variant = cast<func::FuncOp>(kernel->clone());
  variant.setName(name);
  variant.walk([&](CopyNumberOp op) {
    OpBuilder builder(op);
    Value number = arith::ConstantOp::create(builder, op.getLoc(),
                                             builder.getI32IntegerAttr(copy));
    op.replaceAllUsesWith(number);
    op.erase();
  });
  return variant;
}

namespace {
struct SeparateCopiesPass
    : remat::impl::SeparateCopiesPassBase<SeparateCopiesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto graph : getOperation().getOps<GraphOp>())
      for (auto task : graph.getOps<TaskOp>())
        if (task.isClone())
          separate(task, symbols);
  }

private:
  void separate(TaskOp task, SymbolTable &symbols) {
    auto kernel = symbols.lookup<func::FuncOp>(task.getKernel());
    if (!kernel || !readsCopyNumber(kernel))
      return;
    task.emitRemark("is run again with fresh random numbers, as asked for by "
                    "'preserve_rng_state = false'");
    std::string name = getCopyKernelName(task.getKernel(), task.getCopy());
    if (!symbols.lookup(name))
      symbols.insert(makeVariant(kernel, name, task.getCopy()),
                     std::next(kernel->getIterator()));
    task.setKernel(name);
    ++numSeparated;
  }
};
} // namespace
