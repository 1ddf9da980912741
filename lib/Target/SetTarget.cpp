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
    auto known = module->getAttrOfType<TargetAttr>(targetAttrName);
    StringRef name = target.getValue();
    if (name.empty())
      name = getTargetFacts(module).getName();
    llvm::Expected<const Target *> found = lookupTarget(name);
    llvm::Error error =
        found ? (*found)->checkDevice(device) : found.takeError();
    if (error) {
      module.emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    if (!target.getValue().empty() && (!known || known.getName() != name))
      module->setAttr(targetAttrName, (*found)->getFacts(&getContext(), chip));
  }
};
} // namespace
