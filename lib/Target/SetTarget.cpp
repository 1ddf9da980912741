//===- SetTarget.cpp - the pass remat-set-target --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/Passes.h"
#include "remat/Target/Target.h"

namespace remat {
#define GEN_PASS_DEF_SETTARGETPASS
#include "remat/Target/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct SetTarget : remat::impl::SetTargetPassBase<SetTarget> {
  using SetTargetPassBase::SetTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<const Target *> found = lookupTarget(target.getValue());
    if (!found) {
      module.emitError(llvm::toString(found.takeError()));
      return signalPassFailure();
    }
    auto known = module->getAttrOfType<TargetAttr>(targetAttrName);
    if (!known || known.getName() != target.getValue())
      module->setAttr(targetAttrName, (*found)->getFacts(&getContext(), chip));
  }
};
} // namespace
