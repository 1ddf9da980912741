//===- Cleanup.cpp - canonical form between passes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cleanup.h"

#include "remat/Pipelines/Pipelines.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

ArrayRef<StringRef> remat::getDisabledCanonicalizations() {
  // By now all shapes are static, and asking for them takes half of the time.
  static constexpr StringRef names[] = {
      "(anonymous namespace)::InferStaticShapeOfOperands"};
  return names;
}

void remat::addCleanup(OpPassManager &pm, ArrayRef<StringRef> disabled) {
  SmallVector<std::string> names;
  for (StringRef name : disabled)
    names.push_back(name.str());
  // There is one block: nothing to simplify about it but operations. What
  // changes is visited again at once, so a second look at all finds nothing.
  pm.addPass(createCanonicalizerPass(
      GreedyRewriteConfig()
          .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
          .setMaxIterations(1),
      names));
  pm.addPass(createCSEPass());
}
