//===- BudgetSearchFakes.h - answers from a table ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner and a packer for BudgetSearch that answer as a test says, and keep
// a log of what they are asked.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_BUDGETSEARCHFAKES_H
#define REMAT_TEST_UNIT_PLANNING_BUDGETSEARCHFAKES_H

#include "remat/Planning/BudgetSearch.h"

#include <functional>

namespace remat::planning {

/// A plan as the fakes see it: what the planner says of it, and the arena that
/// the packer makes of it.
struct FakePlan {
  int64_t peak = 0, arena = 0, time = 0;
  bool optimal = false;
  /// By how much the arena becomes smaller where it is packed thoroughly.
  int64_t spared = 0;
};

/// The planner's answer to a number of bytes and a share of effort; none if it
/// finds no plan.
using FakePlanner =
    std::function<std::optional<FakePlan>(int64_t bytes, double share)>;

struct FakeWay {
  int64_t elsewhere = 0;
  FakePlanner plan;
  /// The plan with the smallest peak: slow, unless a test says otherwise.
  FakePlan smallest = {1, 1, 1000000};
};

class FakeClient : public BudgetClient {
public:
  explicit FakeClient(std::vector<FakeWay> ways) : ways(std::move(ways)) {}

  /// What was asked, such as "0: 100 brief", with the time of the plan to
  /// start from if there was one.
  std::vector<std::string> log;
  unsigned numThorough = 0;

  /// The log without what is asked for the list of plans.
  std::vector<std::string> getSearchLog() const {
    std::vector<std::string> searches;
    for (const std::string &entry : log)
      if (entry.find("smallest") == std::string::npos &&
          entry.find("for the list") == std::string::npos)
        searches.push_back(entry);
    return searches;
  }

  unsigned getNumWays() const override { return ways.size(); }
  int64_t getBytesElsewhere(unsigned way) const override {
    return ways[way].elsewhere;
  }
  llvm::Expected<Solution> plan(const PlanRequest &request) override {
    std::string entry =
        std::to_string(request.way) + ": " + std::to_string(request.bytes) +
        (request.effortShare == BudgetSearch::listShare ? " for the list"
         : request.effortShare < 1                      ? " brief"
                                                        : " full");
    if (request.start)
      entry += " from " + std::to_string(lookUp(*request.start).time);
    log.push_back(entry);
    std::optional<FakePlan> answer =
        ways[request.way].plan(request.bytes, request.effortShare);
    if (!answer)
      return llvm::make_error<InfeasibleBudgetError>(request.bytes, 0, "");
    Solution solution;
    solution.plan = add(*answer);
    solution.peakBytes = answer->peak;
    solution.cost = solution.time = answer->time;
    solution.lowerBound = answer->optimal ? answer->time : 0;
    return solution;
  }
  llvm::Expected<FeasibilityCertificate> planSmallest(unsigned way) override {
    log.push_back(std::to_string(way) + ": smallest");
    FeasibilityCertificate certificate;
    certificate.plan = add(ways[way].smallest);
    certificate.smallestFeasible = ways[way].smallest.peak;
    return certificate;
  }
  llvm::Expected<PackedPlan> pack(const Plan &plan, bool thorough) override {
    const FakePlan &known = lookUp(plan);
    numThorough += thorough;
    return PackedPlan{plan, known.time,
                      known.arena - (thorough ? known.spared : 0)};
  }
  llvm::Expected<std::string>
  explainSmallest(const PackedPlan &smallest) override {
    return "nothing packs into less than " +
           std::to_string(smallest.arenaBytes);
  }

private:
  /// A plan with one action, whose number finds the plan again.
  Plan add(const FakePlan &known) {
    Plan plan;
    plan.actions.push_back({ActionKind::Run, uint32_t(plans.size())});
    plans.push_back(known);
    return plan;
  }
  const FakePlan &lookUp(const Plan &plan) const {
    return plans[plan.actions.front().id];
  }

  std::vector<FakeWay> ways;
  std::vector<FakePlan> plans;
};

using Log = std::vector<std::string>;

/// A planner whose plans need all bytes that they may, and cost more the fewer
/// these are; their arenas are larger by `gap`. Below `least` it has no plan.
inline FakePlanner withGap(int64_t gap, int64_t least = 0) {
  return [=](int64_t bytes, double) -> std::optional<FakePlan> {
    if (bytes < least)
      return std::nullopt;
    return FakePlan{bytes, bytes + gap, 10000 - bytes};
  };
}
} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_BUDGETSEARCHFAKES_H
