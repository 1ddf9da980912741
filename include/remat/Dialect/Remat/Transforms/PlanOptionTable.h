//===- PlanOptionTable.h - the options of planning as text ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where the options of planning are named and described. The pass
// remat-plan has these options, and they are part of the options of a step
// (remat/Pipelines/StepOptions.h).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_PLANOPTIONTABLE_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_PLANOPTIONTABLE_H

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Utils/OptionTable.h"

#include "mlir/Pass/Pass.h"

namespace remat {

/// What of PlanOptions can be said in text. The rest is for callers of
/// `planGraph`: how to watch and to interrupt a search, and where to start it.
OptionTable<PlanOptions> getPlanOptionTable();

/// The pass remat-plan with what of `options` can be said in text.
std::unique_ptr<mlir::Pass> createPlanPass(const PlanOptions &options);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_PLANOPTIONTABLE_H
