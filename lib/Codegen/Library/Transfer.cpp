//===- Transfer.cpp - copies between host memory and the step -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Runtime/StepTableBuilder.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {
class TransferCall : public LibraryCall {
public:
  explicit TransferCall(unsigned operand) { operands = {operand}; }

  int64_t countFlops() const override { return 0; }
  int64_t getWorkspaceBytes(int threads) const override { return 0; }
  void addTo(StepTableBuilder &table, StepEntry &entry) const override {
    entry.kind = REMAT_ENTRY_COPY;
  }
};
} // namespace

LibraryCallRef remat::codegen::matchTransfer(FunctionOpInterface kernel) {
  Operation *op = getResultMaker(kernel);
  if (!op || op != findTransfer(kernel))
    return {};
  BlockArgument operand = getKernelArgument(op->getOperand(0));
  if (!operand)
    return {};
  return std::make_shared<TransferCall>(operand.getArgNumber());
}
