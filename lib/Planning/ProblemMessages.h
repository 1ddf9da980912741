//===- ProblemMessages.h - what checks say of a problem ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_PROBLEMMESSAGES_H
#define REMAT_LIB_PLANNING_PROBLEMMESSAGES_H

#include "remat/Planning/Problem.h"

#include "llvm/ADT/Twine.h"

namespace remat::planning {

/// The errors of a check of a problem, or of a plan for it, and the names in
/// them.
class ProblemMessages {
protected:
  explicit ProblemMessages(const Problem &problem) : problem(problem) {}

  static llvm::Error fail(const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  }
  std::string value(ValueId id) const {
    return "value '" + problem.values[id].name + "'";
  }
  std::string op(OpId id) const { return "op '" + problem.ops[id].name + "'"; }

  const Problem &problem;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_PROBLEMMESSAGES_H
