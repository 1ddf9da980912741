//===- CheckmateMilp.cpp - the integer program of Checkmate ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Placeholder of the build without a solver.
//
//===----------------------------------------------------------------------===//

#include "Solution.h"

using namespace llvm;

namespace remat::planning {

Expected<Solution> planMilp(const Problem &problem, const SolverOptions &) {
  return createStringError(inconvertibleErrorCode(),
                           "solver 'milp' is not available: built without "
                           "HiGHS");
}

} // namespace remat::planning
