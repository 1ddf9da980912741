//===- FastMemoryState.h - schedules under search ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_FASTMEMORYSTATE_H
#define REMAT_LIB_PLANNING_FASTMEMORYSTATE_H

#include "FastMemoryGroup.h"
#include "Solution.h"

#include <map>
#include <memory>

namespace remat::planning::fastmemory {

/// A set of operations as a group, with what is known of its tilings.
class Candidate {
public:
  llvm::ArrayRef<int> getOps() const { return ops; }
  llvm::ArrayRef<int> getInputs() const { return model->getInputs(); }
  llvm::ArrayRef<int> getResults() const { return model->getResults(); }

private:
  friend class Candidates;

  /// In the order of the problem's operations.
  std::vector<int> ops;
  std::unique_ptr<GroupModel> model;
  using Residents = std::pair<std::vector<int>, std::vector<int>>;
  std::map<Residents, std::optional<Tiling>> tilings;
};

/// Groups that run all operations, in no order.
using GroupSet = std::vector<Candidate *>;

/// All groups that were looked at. Groups of the same form share what was found
/// out, since graphs repeat their layers.
class Candidates {
public:
  /// All outlive the groups; `meter` is told of the work.
  Candidates(const Problem &problem, const Rules &rules, WorkMeter &meter);

  /// The group of operations in any order, null if they cannot be one, are more
  /// than the search looks at, or do not fit.
  Candidate *get(std::vector<int> ops);
  /// The fastest tiling, none if nothing fits.
  const std::optional<Tiling> &
  getTiling(Candidate &group, std::vector<int> found, std::vector<int> left);
  /// Forgets all groups but those of two sets, if there are many.
  void forget(const GroupSet &kept, const GroupSet &alsoKept);
  const Problem &getProblem() const { return problem; }
  /// Positions of operations in an order in which they can run.
  llvm::ArrayRef<int> getRanks() const { return ranks; }
  WorkMeter &getMeter() { return meter; }

private:
  std::vector<int64_t> describe(const Candidate &group,
                                llvm::ArrayRef<int> found,
                                llvm::ArrayRef<int> left) const;

  const Problem &problem;
  const Rules &rules;
  WorkMeter &meter;
  std::vector<int> ranks;
  std::map<std::vector<int>, std::unique_ptr<Candidate>> groups;
  std::map<std::vector<int64_t>, std::optional<Tiling>> forms;
};

/// Groups in an order, with what each leaves for the next one.
struct Sequence {
  GroupSet groups;
  std::vector<std::vector<int>> left;
  double latency = 0;
};

/// Orders groups so that each follows what it reads, and finds what to leave in
/// fast memory. None if that is impossible.
std::optional<Sequence> arrange(Candidates &candidates, const GroupSet &groups);

/// The schedule of a sequence.
Schedule toSchedule(Candidates &candidates, const Sequence &sequence);

} // namespace remat::planning::fastmemory

#endif // REMAT_LIB_PLANNING_FASTMEMORYSTATE_H
