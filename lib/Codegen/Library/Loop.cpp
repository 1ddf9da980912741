//===- Loop.cpp - loops that the runtime runs -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of one loop is an entry of the step table whose body is a table of
// its own. What it has of each iteration may be in buffers of their own: the
// kernel's arguments are stacked in front of the loop, or results of the loop
// unstacked behind it. What it takes depends on how the body is placed, so that
// the passes that place it (remat-place-bodies) and write tables look at the
// loop itself.
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {
class LoopCall : public LibraryCall {
public:
  explicit LoopCall(ArrayRef<unsigned> arguments) {
    operands.assign(arguments.begin(), arguments.end());
  }
  int64_t countFlops() const override { return 0; }
  int64_t getWorkspaceBytes(int threads) const override { return 0; }
};
} // namespace

LibraryCallRef remat::codegen::matchLoop(FunctionOpInterface kernel) {
  Block &block = kernel.getFunctionBody().front();
  auto loops = block.getOps<LoopOp>();
  if (loops.empty())
    return {};
  LoopOp loop = *loops.begin();
  if (ValueRange(block.getTerminator()->getOperands()) !=
      ValueRange(getBufferResults(loop)))
    return {};
  SmallVector<unsigned> arguments;
  for (Value operand : getBufferOperands(loop)) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      return {};
    arguments.push_back(argument.getArgNumber());
  }
  return std::make_shared<LoopCall>(arguments);
}
