//===- BudgetSearchTest.cpp - plans whose buffers fit a budget ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search against a planner and a packer that answer from a table. Each test
// says which numbers of bytes are asked for, and with which effort.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/BudgetSearch.h"

#include "Problems.h"
#include "gtest/gtest.h"

#include <functional>

using namespace remat::planning;

namespace {

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
        (request.effortShare == BudgetSearch::listShare    ? " for the list"
         : request.effortShare == BudgetSearch::trialShare ? " on trial"
         : request.effortShare < 1                         ? " brief"
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

/// Whether a plan has less effort than what tells what all of it leads to.
bool isBrief(double share) { return share < BudgetSearch::trialShare; }

/// A planner whose plans need all bytes that they may, and cost more the fewer
/// these are; their arenas are larger by `gap`. Below `least` it has no plan.
FakePlanner withGap(int64_t gap, int64_t least = 0) {
  return [=](int64_t bytes, double) -> std::optional<FakePlan> {
    if (bytes < least)
      return std::nullopt;
    return FakePlan{bytes, bytes + gap, 10000 - bytes};
  };
}
} // namespace

TEST(BudgetSearchTest, WhatFitsAtOnceAndIsOptimalIsTaken) {
  FakeClient client({{/*elsewhere=*/20, [](int64_t, double) {
                        return FakePlan{90, 100, 7, /*optimal=*/true};
                      }}});
  llvm::Expected<PackedPlan> found =
      BudgetSearch(client, /*briefFirst=*/true).planWithin(100);
  ASSERT_TRUE(bool(found)) << message(found.takeError());
  EXPECT_EQ(found->time, 7);
  EXPECT_EQ(found->arenaBytes, 100);
  // What lies elsewhere may be live beside the budget.
  EXPECT_EQ(client.getSearchLog(), Log({"0: 120 brief"}));
}

TEST(BudgetSearchTest, WhatFitsIsPlannedAgainWithAllOfTheEffort) {
  FakeClient client({{0, [](int64_t, double share) {
                        return FakePlan{90, 100, isBrief(share) ? 8 : 7};
                      }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->time, 7);
  EXPECT_EQ(
      client.getSearchLog(),
      Log({"0: 100 brief", "0: 100 on trial from 8", "0: 100 full from 7"}));
}

TEST(BudgetSearchTest, AllOfTheEffortIsForWhatAPartOfItMakesFaster) {
  // Each plan that fits is `saved` faster for three times the effort.
  auto search = [](FakeClient &client) {
    llvm::Expected<PackedPlan> found =
        BudgetSearch(client, true).planWithin(100);
    return found ? found->time : -1;
  };
  auto plan = [](int64_t saved) {
    return [=](int64_t bytes, double share) {
      int64_t times = isBrief(share) ? 0 : share < 1 ? 1 : 2;
      return FakePlan{bytes, bytes, 1000 - times * saved};
    };
  };
  FakeClient worth({{0, plan(20)}});
  EXPECT_EQ(search(worth), 960);
  EXPECT_EQ(worth.getSearchLog(),
            Log({"0: 100 brief", "0: 100 on trial from 1000",
                 "0: 100 full from 980"}));
  // The plan of the trial is taken, too.
  FakeClient hardly({{0, plan(1)}});
  EXPECT_EQ(search(hardly), 999);
  EXPECT_EQ(hardly.getSearchLog(),
            Log({"0: 100 brief", "0: 100 on trial from 1000"}));
}

TEST(BudgetSearchTest, WhatMoreEffortMakesWorseIsNotTaken) {
  // The plan that costs less does not fit; the brief one stays.
  FakeClient client({{0, [](int64_t bytes, double share) {
                        return isBrief(share) ? FakePlan{100, 100, 80}
                                              : FakePlan{bytes, bytes + 1,
                                                         79 + (100 - bytes)};
                      }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->time, 80);
  // The next plan costs as much as the best: no use to ask for less.
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 100 brief", "0: 100 on trial from 80",
                 "0: 100 full from 80", "0: 99 full from 80"}));
}

TEST(BudgetSearchTest, AnotherPlannerGetsAllOfTheEffortAtOnce) {
  FakeClient client({{0, withGap(3)}});
  llvm::Expected<PackedPlan> found =
      BudgetSearch(client, /*briefFirst=*/false).planWithin(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->arenaBytes, 100);
  EXPECT_EQ(client.getSearchLog(), Log({"0: 100 full", "0: 97 full"}));
}

TEST(BudgetSearchTest, AnotherPlannersWordOnInfeasibilityStands) {
  FakeClient client({{0, withGap(0, /*least=*/200), {150, 100, 9}}});
  llvm::Expected<PackedPlan> found =
      BudgetSearch(client, /*briefFirst=*/false).planWithin(100);
  EXPECT_TRUE(found.errorIsA<InfeasibleBudgetError>());
  llvm::consumeError(found.takeError());
  // The smallest plan known would fit, but is not what was asked for.
  EXPECT_EQ(client.getSearchLog(), Log({"0: 100 full"}));
}

TEST(BudgetSearchTest, StepsGrowUntilOnePlanFits) {
  // Arenas come in steps: 110 until so much less is asked for that it is 60.
  FakeClient client({{0, [](int64_t bytes, double) {
                        int64_t arena = bytes > 60 ? 110 : 60;
                        return FakePlan{bytes, arena, 1000 - bytes};
                      }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  // Too large by 10 each time: 10, 20 and 40 less. Then half of the way back,
  // as often as allowed. More effort saves nothing of what fits.
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 100 brief", "0: 90 brief", "0: 70 brief", "0: 35 brief",
                 "0: 52 brief from 965", "0: 61 brief from 948",
                 "0: 56 brief from 948", "0: 56 on trial from 944"}));
  EXPECT_EQ(found->time, 944);
}

TEST(BudgetSearchTest, AfterManyRoundsNoMoreThanTheBudgetIsAskedFor) {
  // Packing makes of everything the same: only the planner ends the search.
  FakeClient client({{/*elsewhere=*/1000,
                      [](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (bytes <= 100)
                          return FakePlan{bytes, 100, 1000, true};
                        return FakePlan{bytes, 101, 2000 - bytes, true};
                      }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  Log log = client.getSearchLog();
  ASSERT_GE(log.size(), 6u);
  EXPECT_EQ(log[4], "0: 1085 brief");
  EXPECT_EQ(log[BudgetSearch::maxRounds], "0: 100 brief");
}

TEST(BudgetSearchTest, OneStepBackWhereNoPlanExists) {
  // Below 80 there is no plan; 85 and less fits.
  FakeClient client({{0, [](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (bytes < 80)
                          return std::nullopt;
                        return FakePlan{bytes, bytes > 85 ? 130 : 100,
                                        1000 - bytes, true};
                      }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  // 30 less has no plan, not even with all of the effort. Half of the way back
  // is 85.
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 100 brief", "0: 70 brief", "0: 70 full", "0: 85 brief"}));
  EXPECT_EQ(found->time, 915);
}

TEST(BudgetSearchTest, NoStepIsLargerThanHalf) {
  FakeClient client({{0, [](int64_t bytes, double) {
                        return FakePlan{bytes, bytes > 40 ? 180 : 100,
                                        1000 - bytes, true};
                      }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  // Too large by 80 each time.
  EXPECT_EQ(
      client.getSearchLog(),
      Log({"0: 100 brief", "0: 50 brief", "0: 25 brief", "0: 37 brief from 975",
           "0: 43 brief from 963", "0: 40 brief from 963"}));
}

TEST(BudgetSearchTest, WhatHasNoPlanBoundsLaterSteps) {
  // Below 78 there is no plan, and above nothing fits.
  FakeClient client({{0,
                      [](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (bytes < 78)
                          return std::nullopt;
                        return FakePlan{bytes, 130, 1000 - bytes, true};
                      },
                      {200, 130, 70}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planSoon(100);
  EXPECT_TRUE(found.errorIsA<InfeasibleBudgetError>());
  llvm::consumeError(found.takeError());
  // Back at 85, the next step ends half of the way to 70, and there is no way
  // back a second time. What follows is the search for the smallest arena.
  Log expected = {"0: 100 brief", "0: 70 brief", "0: 70 full", "0: 85 brief",
                  "0: 77 brief",  "0: 77 full",  "0: smallest"};
  ASSERT_GE(client.log.size(), expected.size());
  EXPECT_EQ(Log(client.log.begin(), client.log.begin() + expected.size()),
            expected);
}

TEST(BudgetSearchTest, TheSmallestPlanIsTheLastResort) {
  // What the planner finds cannot be packed, but the smallest plan known can.
  FakeClient client({{0,
                      [](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (bytes < 90)
                          return std::nullopt;
                        return FakePlan{bytes, bytes + 40, 5};
                      },
                      {120, 95, 70}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->time, 70);
  EXPECT_EQ(found->arenaBytes, 95);
}

TEST(BudgetSearchTest, AnImpossibleBudgetSaysWhatIsPossible) {
  FakeClient client({{0, withGap(10, /*least=*/200), {200, 210, 70}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(found.errorIsA<InfeasibleBudgetError>());
  llvm::handleAllErrors(
      found.takeError(), [](const InfeasibleBudgetError &error) {
        EXPECT_EQ(error.getBudget(), 100);
        EXPECT_EQ(error.getSmallestFeasible(), 210);
        EXPECT_EQ(error.getEvidence(), "nothing packs into less than 210");
      });
}

TEST(BudgetSearchTest, OtherErrorsEndTheSearch) {
  struct Broken : FakeClient {
    using FakeClient::FakeClient;
    llvm::Expected<Solution> plan(const PlanRequest &) override {
      return llvm::createStringError("no such planner");
    }
  } client({{0, withGap(0)}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  EXPECT_EQ(message(found.takeError()), "no such planner");
}

TEST(BudgetSearchTest, AnotherCountIsTriedWhereTheFirstWasNotClose) {
  // In the first way, the second request fits; in the second, a cheaper plan.
  FakeClient client({{0, withGap(30)}, {0, [](int64_t, double) {
                                          return FakePlan{100, 100, 50, true};
                                        }}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->time, 50);
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 100 brief", "0: 70 brief", "1: 100 brief from 9930"}));
}

TEST(BudgetSearchTest, TheFastestBriefPlanGetsAllOfTheEffortFirst) {
  // In both ways the second request fits, in the second with a faster plan.
  auto plan = [](int64_t brief, int64_t full) {
    return [=](int64_t bytes, double share) {
      return FakePlan{bytes, bytes + 30, isBrief(share) ? brief : full};
    };
  };
  auto search = [](FakeClient &client) {
    llvm::Expected<PackedPlan> found =
        BudgetSearch(client, true).planWithin(100);
    return found ? found->time : -1;
  };
  FakeClient client({{0, plan(1000, 700)}, {0, plan(850, 800)}});
  // What more effort may save of 1000 is less than that.
  EXPECT_EQ(search(client), 800);
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 100 brief", "0: 70 brief", "1: 100 brief from 1000",
                 "1: 70 brief from 1000", "1: 70 on trial from 850",
                 "1: 70 full from 800"}));
  // Here it may be more.
  FakeClient close({{0, plan(950, 860)}, {0, plan(940, 880)}});
  EXPECT_EQ(search(close), 860);
}

TEST(BudgetSearchTest, AnotherCountIsNotTriedWhereTheFirstWasClose) {
  FakeClient client({{0, withGap(0)}, {0, withGap(0)}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  for (const std::string &entry : client.getSearchLog())
    EXPECT_EQ(entry[0], '0') << entry;
}

TEST(BudgetSearchTest, TheFirstCountMayFindNothing) {
  FakeClient client({{50, withGap(0, /*least=*/1000)}, {0, withGap(0)}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planWithin(100);
  ASSERT_TRUE(bool(found));
  // Only the last way would get all of the effort to find a plan at all.
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 150 brief", "1: 100 brief", "1: 100 on trial from 9900"}));
}

TEST(BudgetSearchTest, TheSmallestArenaOfAllCounts) {
  // The first way knows the smaller peak, the second the smaller arena, and the
  // planner what is faster in that.
  FakeClient client({{0, withGap(0, /*least=*/1000), {60, 90, 80}},
                     {0,
                      [](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (bytes < 80)
                          return std::nullopt;
                        return FakePlan{bytes, bytes, 70, true};
                      },
                      {70, 80, 90}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planSmallest();
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->arenaBytes, 80);
  EXPECT_EQ(found->time, 70);
  EXPECT_EQ(client.log[0], "0: smallest");
  EXPECT_EQ(client.log[1], "1: smallest");
}

TEST(BudgetSearchTest, TheBytesOfTheSmallestPlanLeadToOthers) {
  // The planner finds nothing within the arena of the smallest plan, but a
  // faster one within its peak, which is larger.
  FakeClient client({{0,
                      [](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (bytes < 95)
                          return std::nullopt;
                        return FakePlan{bytes, 80, 60};
                      },
                      {95, 80, 90}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planSmallest();
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->arenaBytes, 80);
  EXPECT_EQ(found->time, 60);
}

TEST(BudgetSearchTest, TheSmallestPlanIsPackedThoroughly) {
  auto plan = [](int64_t bytes, double) -> std::optional<FakePlan> {
    if (bytes < 50)
      return std::nullopt;
    return FakePlan{bytes, bytes + 10, 10000 - bytes};
  };
  FakeClient client({{0, plan, {50, 60, 9950, false, /*spared=*/4}}});
  BudgetSearch search(client, /*briefFirst=*/true);
  // It counts for any budget, whatever is asked for first.
  for (int64_t budget : {58, 56}) {
    llvm::Expected<PackedPlan> found = search.planWithin(budget);
    ASSERT_TRUE(bool(found)) << message(found.takeError());
    EXPECT_EQ(found->arenaBytes, 56);
  }
  EXPECT_TRUE(search.planWithin(55).errorIsA<InfeasibleBudgetError>());
  llvm::Expected<PackedPlan> smallest = search.planSmallest();
  ASSERT_TRUE(bool(smallest)) << message(smallest.takeError());
  EXPECT_EQ(smallest->arenaBytes, 56);
  // Of all plans, it alone is.
  EXPECT_EQ(client.numThorough, 1u);
}

TEST(BudgetSearchTest, TheSmallestPlanItselfIsTakenIfNothingIsBetter) {
  FakeClient client({{0, withGap(10, /*least=*/80), {95, 80, 90}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planSmallest();
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->arenaBytes, 80);
  EXPECT_EQ(found->time, 90);
}

TEST(BudgetSearchTest, TheSearchForTheSmallestEnds) {
  // Whatever is asked for is found, and less is asked for the next time.
  FakeClient client({{0, withGap(0), {1000, 1000, 90}}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planSmallest();
  ASSERT_TRUE(bool(found));
  EXPECT_LE(client.log.size(),
            2 * (BudgetSearch::maxRungs + BudgetSearch::maxSearches));
}

/// A number that looks random, but is the same for the same request.
static uint64_t scramble(int64_t bytes, double share, unsigned seed) {
  return (uint64_t(bytes) * 2654435761u + seed * 40503u +
          uint64_t(share * 100)) *
         6364136223846793005u;
}

TEST(BudgetSearchTest, WhatOneBudgetFindsAllFind) {
  // Arenas do not follow the bytes that are asked for, and effort changes them.
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto plan = [seed](int64_t bytes, double share) -> std::optional<FakePlan> {
      uint64_t hash = scramble(bytes, share, seed);
      if (bytes < 60)
        return std::nullopt;
      return FakePlan{bytes, bytes - 20 + int64_t(hash >> 60), 1000 - bytes};
    };
    auto makeClient = [&] {
      return FakeClient({{15, plan, {70, 75, 990}}, {0, plan, {65, 80, 980}}});
    };
    FakeClient forSmallest = makeClient();
    llvm::Expected<PackedPlan> smallest =
        BudgetSearch(forSmallest, true).planSmallest();
    ASSERT_TRUE(bool(smallest));
    for (int64_t budget = 30; budget < 160; ++budget) {
      FakeClient client = makeClient();
      llvm::Expected<PackedPlan> found =
          BudgetSearch(client, true).planWithin(budget);
      EXPECT_EQ(bool(found), budget >= smallest->arenaBytes)
          << "seed " << seed << ", budget " << budget;
      if (found) {
        EXPECT_LE(found->arenaBytes, budget);
        EXPECT_GE(found->arenaBytes, smallest->arenaBytes);
      } else {
        llvm::handleAllErrors(
            found.takeError(), [&](const InfeasibleBudgetError &error) {
              EXPECT_EQ(error.getSmallestFeasible(), smallest->arenaBytes);
            });
      }
    }
  }
}

TEST(BudgetSearchTest, TheBudgetOfTheSmallestArenaHasTheSmallestPlan) {
  // What is asked for decides by chance how fast a plan is.
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto plan = [seed](int64_t bytes, double share) -> std::optional<FakePlan> {
      uint64_t hash = scramble(bytes, share, seed);
      if (bytes < 60)
        return std::nullopt;
      return FakePlan{bytes, 70 + int64_t(hash >> 62),
                      1000 + int64_t(hash >> 56 & 63)};
    };
    auto makeClient = [&] { return FakeClient({{0, plan, {70, 75, 990}}}); };
    FakeClient forSmallest = makeClient(), forBytes = makeClient(),
               forArena = makeClient();
    llvm::Expected<PackedPlan> smallest =
        BudgetSearch(forSmallest, true).planSmallest();
    ASSERT_TRUE(bool(smallest));
    llvm::Expected<int64_t> arena =
        BudgetSearch(forArena, true).findSmallestArena();
    ASSERT_TRUE(bool(arena));
    EXPECT_EQ(*arena, smallest->arenaBytes);
    llvm::Expected<PackedPlan> found =
        BudgetSearch(forBytes, true).planWithin(smallest->arenaBytes);
    ASSERT_TRUE(bool(found));
    EXPECT_EQ(found->time, smallest->time) << "seed " << seed;
  }
}

TEST(BudgetSearchTest, AllOfTheListIsThereForASmallBudget) {
  // The planner finds slow plans for 70 bytes, and a fast one with as small an
  // arena for what the list asks for.
  auto plan = [](int64_t bytes, double) -> std::optional<FakePlan> {
    if (bytes < 70)
      return std::nullopt;
    return FakePlan{bytes, 70, bytes > 80 ? 10 : 90};
  };
  for (double ratio : {1.0, 2.0}) {
    FakeClient client({{0, plan, {72, 72, 990}}});
    llvm::Expected<PackedPlan> found =
        BudgetSearch(client, true, ratio).planWithin(72);
    ASSERT_TRUE(bool(found));
    EXPECT_EQ(found->time, 10);
  }
  // 80 bytes are many for the one, and few for the other.
  FakeClient client({{0, plan, {72, 72, 990}}});
  llvm::Expected<PackedPlan> found =
      BudgetSearch(client, true, 1.0).planWithin(80);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->time, 90);
  found = BudgetSearch(client, true, 2.0).planWithin(80);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->time, 10);
}

TEST(BudgetSearchTest, NothingIsAskedForWithinAnImpossibleBudget) {
  FakeClient client({{0, withGap(10, /*least=*/200), {200, 210, 70}}});
  EXPECT_TRUE(BudgetSearch(client, true)
                  .planWithin(100)
                  .errorIsA<InfeasibleBudgetError>());
  EXPECT_TRUE(client.getSearchLog().empty());
}

TEST(BudgetSearchTest, WhenTimeIsUpTheFirstPlanThatFitsIsTaken) {
  struct Hurried : FakeClient {
    using FakeClient::FakeClient;
    bool isOver() const override { return true; }
  } client({{0, withGap(3)}, {0, withGap(0)}});
  llvm::Expected<PackedPlan> found = BudgetSearch(client, true).planSoon(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(client.log,
            Log({"0: 100 brief", "0: 97 brief", "0: smallest", "1: smallest"}));
}

TEST(BudgetSearchTest, ImprovingAsksAgainFromWhatFits) {
  // 90 is the most that fits. More effort makes better plans each time.
  int64_t numPlans = 0;
  FakeClient client({{/*elsewhere=*/20, [&](int64_t bytes, double) {
                        return FakePlan{bytes, bytes + 10,
                                        1000 - bytes - 20 * numPlans++};
                      }}});
  BudgetSearch search(client, true);
  llvm::Expected<PackedPlan> found = search.planWithin(100);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(client.getSearchLog(),
            Log({"0: 120 brief", "0: 90 brief", "0: 90 on trial from 890",
                 "0: 90 full from 870"}));
  EXPECT_EQ(found->time, 850);
  client.log.clear();
  PackedPlan first = *found;
  PackedPlan improved = search.improve(100, first);
  // Half of the way back to 120, and 15 less, which is what that was too much.
  EXPECT_EQ(client.log, Log({"0: 105 full from 850", "0: 90 full from 850"}));
  EXPECT_LT(improved.time, first.time);
  EXPECT_EQ(improved.arenaBytes, 100);
}

TEST(BudgetSearchTest, ImprovingNeverMakesWorse) {
  // Later plans are slower, and then there are none.
  int64_t numPlans = 0;
  FakeClient client({{0, [&](int64_t bytes, double) -> std::optional<FakePlan> {
                        if (numPlans > 4)
                          return std::nullopt;
                        return FakePlan{bytes, bytes, 50 + numPlans++};
                      }}});
  BudgetSearch search(client, true);
  llvm::Expected<PackedPlan> found = search.planWithin(100);
  ASSERT_TRUE(bool(found));
  PackedPlan best = *found;
  for (unsigned round = 0; round < 5; ++round) {
    best = search.improve(100, std::move(best));
    EXPECT_EQ(best.time, 50);
  }
}
