//===- ProgressRelay.h - progress of searches on threads --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PROGRESSRELAY_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PROGRESSRELAY_H

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include <memory>

namespace remat {

/// As long as it lives, searches with its options may run on several threads:
/// the caller's function is called by the thread that has made the relay alone,
/// one plan at a time. What other threads find waits for the next report of
/// this one, or for the end.
class ProgressRelay {
public:
  /// Of the plans of several planners, with `passesBest` only those that are
  /// better than all before.
  ProgressRelay(const PlanOptions &options, bool passesBest);
  ~ProgressRelay();

  /// Those of the caller, with another function.
  const PlanOptions &getOptions() const { return options; }

private:
  class State;

  PlanOptions options;
  /// Copies of the options tell of the same search.
  std::shared_ptr<State> state;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PROGRESSRELAY_H
