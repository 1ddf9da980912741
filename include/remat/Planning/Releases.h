//===- Releases.h - bytes for overlap ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy that is offloaded may live on until its transfer has ended, so that
// the computation need not wait for it: time for bytes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_RELEASES_H
#define REMAT_PLANNING_RELEASES_H

#include "remat/Planning/Algorithms.h"

namespace remat::planning {

/// The plan with releases where the computation waited for offloads and there
/// is room: it takes less time, with a peak of at most `budget`. The plan as it
/// is if there is none such, or if it is not legal.
Plan addReleases(const Problem &problem, const Plan &plan, int64_t budget);

/// The same for a solution, within the problem's budget. Without a budget, the
/// peak stays what it is.
Solution addReleases(const Problem &problem, Solution solution);

/// The plan with the first `count` of its releases. It takes no less time and
/// no more bytes, and is legal if `plan` is.
Plan keepReleases(const Plan &plan, size_t count);

/// How many releases the plan has.
size_t countReleases(const Plan &plan);

} // namespace remat::planning

#endif // REMAT_PLANNING_RELEASES_H
