//===- CheckMutation.cpp - saved values must not be overwritten -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which values the backward computation reads is known once it exists. Marks
// that remat-import-buffers left on values then tell which of them a program
// had overwritten by that time.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"

namespace remat {
#define GEN_PASS_DEF_CHECKMUTATIONPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether the result of `op` is its operand, or a part of it.
static bool looksInto(Operation *op) {
  return isViewOp(op) || isTransparentOp(op) ||
         isa<tensor::ExtractSliceOp, tensor::CastOp>(op);
}

/// An operation of the backward computation that reads `value`, a view or a
/// slice of it; null if there is none.
static Operation *findBackwardReader(Value value) {
  for (Operation *user : value.getUsers()) {
    if (isBackward(user) && !isTransparentOp(user))
      return user;
    if (looksInto(user))
      if (Operation *reader = findBackwardReader(user->getResult(0)))
        return reader;
  }
  return nullptr;
}

/// Makes the backward computation read `after` where it read `before`, views
/// and slices of it included, which are made by `builder`.
static void redirectReaders(OpBuilder &builder, Value before, Value after) {
  for (OpOperand &use : llvm::make_early_inc_range(before.getUses())) {
    Operation *user = use.getOwner();
    if (isBackward(user) && !looksInto(user)) {
      use.set(after);
    } else if (looksInto(user) && findBackwardReader(user->getResult(0))) {
      Operation *view = builder.clone(*user);
      view->setOperand(use.getOperandNumber(), after);
      redirectReaders(builder, user->getResult(0), view->getResult(0));
    }
  }
}

/// What is in the end in the memory that the first of `writes` is about: those
/// behind it tell what loops and regions left to what follows them.
static Value findLast(ArrayRef<OverwrittenOp> writes) {
  OverwrittenOp first = writes.front();
  Value last = first.getAfter();
  for (OverwrittenOp op : writes.drop_front()) {
    auto mark = op.getBefore().getDefiningOp<TagOp>();
    bool isNext = op.getBefore() == last || (mark && mark.getInput() == last);
    if (isNext && op.getBuffer() == first.getBuffer())
      last = op.getAfter();
  }
  return last;
}

/// Makes the backward computation read what `remat.overwritten`s say.
static void readAsWritten(func::FuncOp function) {
  SmallVector<OverwrittenOp> writes = collectOps<OverwrittenOp>(function);
  if (writes.empty())
    return;
  SmallVector<Value> last;
  for (size_t i = 0; i < writes.size(); ++i)
    last.push_back(findLast(ArrayRef(writes).drop_front(i)));
  OpBuilder builder(writes.back());
  for (auto [op, after] : llvm::zip(writes, last))
    redirectReaders(builder, op.getBefore(), after);
  for (OverwrittenOp op : writes)
    op.erase();
}

namespace {
struct CheckMutation : remat::impl::CheckMutationPassBase<CheckMutation> {
  void runOnOperation() override {
    readAsWritten(getOperation());
    SmallVector<TagOp> marks;
    getOperation().walk([&](TagOp tag) {
      if (tag.isMutationMark())
        marks.push_back(tag);
    });
    for (TagOp mark : marks) {
      LocationAttr writer = mark.getOverwrittenAttr();
      Operation *reader =
          writer ? findBackwardReader(mark.getResult()) : nullptr;
      if (reader) {
        InFlightDiagnostic diag =
            emitError(Location(writer),
                      "overwrites a value that was saved for the backward "
                      "computation; "
                      "'remat.allow_mutation_on_saved_tensors' on the function "
                      "keeps the value from before, "
                      "'remat.allow_cache_entry_mutation' reads what was "
                      "written");
        diag.attachNote(reader->getLoc()) << "the operation that saved it";
        signalPassFailure();
      }
      mark.replaceAllUsesWith(mark.getInput());
      mark.erase();
    }
  }
};
} // namespace
