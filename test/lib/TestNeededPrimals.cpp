//===- TestNeededPrimals.cpp - what derivatives keep ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says in a remark at each operation of the top level of a function which
// forward values its derivative needs if all values are active: arguments by
// their numbers, others by the operations that they are results of.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include "TestPasses.h"
#include "remat/AutoDiff/DifferentiableOpInterface.h"

using namespace mlir;
using namespace remat;

namespace {
struct AllActive : Activity {
  bool isActive(Value value) const override {
    return isDifferentiableType(value.getType());
  }
};

struct TestNeededPrimalsPass
    : PassWrapper<TestNeededPrimalsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestNeededPrimalsPass)

  StringRef getArgument() const final { return "test-remat-needed-primals"; }
  StringRef getDescription() const final {
    return "say which forward values derivatives need";
  }
  void runOnOperation() override {
    for (Operation &op : getOperation().front()) {
      auto rule = dyn_cast<DifferentiableOpInterface>(op);
      if (!rule)
        continue;
      std::string names;
      llvm::raw_string_ostream os(names);
      llvm::interleaveComma(
          rule.getNeededPrimals(AllActive()), os, [&](Value value) {
            if (auto argument = dyn_cast<BlockArgument>(value))
              os << '#' << argument.getArgNumber();
            else
              os << value.getDefiningOp()->getName();
          });
      op.emitRemark("needs [") << names << "]";
    }
  }
};
} // namespace

void remat::test::registerTestNeededPrimalsPass() {
  PassRegistration<TestNeededPrimalsPass>();
}
