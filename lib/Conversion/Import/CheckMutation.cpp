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

#include "Utils.h"

namespace remat {
#define GEN_PASS_DEF_CHECKMUTATIONPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using namespace remat::import;

/// An operation of the backward computation that reads `value`, a view or a
/// slice of it; null if there is none.
static Operation *findBackwardReader(Value value) {
  for (Operation *user : value.getUsers()) {
    bool isBackward = user->hasAttr(RematDialect::backwardAttrName);
    bool looksInto = isViewOp(user) || isTransparentOp(user) ||
                     isa<tensor::ExtractSliceOp, tensor::CastOp>(user);
    if (isBackward && !isTransparentOp(user))
      return user;
    if (looksInto)
      if (Operation *reader = findBackwardReader(user->getResult(0)))
        return reader;
  }
  return nullptr;
}

namespace {
struct CheckMutation : remat::impl::CheckMutationPassBase<CheckMutation> {
  void runOnOperation() override {
    SmallVector<TagOp> marks;
    getOperation().walk([&](TagOp tag) {
      if (tag->hasAttr(overwrittenAttrName))
        marks.push_back(tag);
    });
    for (TagOp mark : marks) {
      auto writer = mark->getAttrOfType<LocationAttr>(overwrittenAttrName);
      if (Operation *reader = findBackwardReader(mark.getResult())) {
        InFlightDiagnostic diag =
            emitError(Location(writer),
                      "overwrites a value that was saved for the backward "
                      "computation; "
                      "'remat.allow_cache_entry_mutation' on the function "
                      "keeps the value from before");
        diag.attachNote(reader->getLoc()) << "the operation that saved it";
        signalPassFailure();
      }
      mark.replaceAllUsesWith(mark.getInput());
      mark.erase();
    }
  }
};
} // namespace
