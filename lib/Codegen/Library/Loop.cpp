//===- Loop.cpp - loops that the runtime runs -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of one loop is an entry of the step table whose body is a table of
// its own. What it takes depends on how the body is placed, so that the passes
// that place it (remat-place-bodies) and write tables look at the loop itself.
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

#include "remat/Dialect/Remat/IR/Remat.h"

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
  auto loop = dyn_cast<LoopOp>(block.front());
  if (!loop || block.getTerminator()->getOperands() != loop.getResults())
    return {};
  SmallVector<unsigned> arguments;
  for (Value operand : loop->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      return {};
    arguments.push_back(argument.getArgNumber());
  }
  return std::make_shared<LoopCall>(arguments);
}
