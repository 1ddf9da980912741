//===- OracleTest.cpp - everything against exhaustive search --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thousand tiny problems whose best plans are known. The simulator and the
// verifier have to agree with the oracle about these plans, and no algorithm
// may claim to be better.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "Problems.h"
#include "remat/Planning/LowerBound.h"

using namespace remat::planning;

namespace {

constexpr uint64_t numProblems = 1000;

TEST(Oracle, KnowsSmallChains) {
  EXPECT_EQ(smallestPlan(chain(3))->value, 4);
  EXPECT_EQ(cheapestPlan(chain(3), 4)->value, 6);
  EXPECT_FALSE(cheapestPlan(chain(3), 3).has_value());
  // f0 once more.
  EXPECT_EQ(cheapestPlan(chain(4), 4)->value, 9);
  Problem problem = chain(4);
  problem.ops[0].absorbedCost = 0;
  EXPECT_EQ(cheapestPlan(problem, 4)->value, 8);
}

/// A problem and what is true of it.
struct Known {
  Problem problem;
  /// Nothing if no plan is legal.
  std::optional<BestPlan> smallest;
  /// Budgets from the smallest on, and the cheapest plans within them.
  std::vector<std::pair<int64_t, BestPlan>> cheapest;
};

/// Searched once, for all tests.
const std::vector<Known> &allKnown() {
  static const std::vector<Known> all = [] {
    std::vector<Known> all(numProblems);
    for (auto [seed, known] : llvm::enumerate(all)) {
      known.problem = tinyProblem(seed);
      known.smallest = smallestPlan(known.problem);
      if (!known.smallest)
        continue;
      for (int64_t slack : {0, 4})
        known.cheapest.emplace_back(
            known.smallest->value + slack,
            *cheapestPlan(known.problem, known.smallest->value + slack));
    }
    return all;
  }();
  return all;
}

TEST(Oracle, AgreesWithSimulatorAndVerifier) {
  unsigned infeasible = 0, kinds[numActionKinds] = {};
  for (auto [seed, known] : llvm::enumerate(allKnown())) {
    SCOPED_TRACE(seed);
    Problem problem = known.problem;
    ASSERT_EQ(message(check(problem)), "");
    if (!known.smallest) {
      ++infeasible;
      continue;
    }
    // The peak, to the byte.
    Plan plan = known.smallest->plan;
    problem.deviceBudget = known.smallest->value;
    EXPECT_EQ(message(verify(problem, plan)), "");
    Simulation simulation = llvm::cantFail(simulate(problem, plan));
    EXPECT_EQ(simulation.peakBytes, known.smallest->value);
    for (const auto &[budget, best] : known.cheapest) {
      problem.deviceBudget = budget;
      EXPECT_EQ(message(verify(problem, best.plan)), "");
      simulation = llvm::cantFail(simulate(problem, best.plan));
      EXPECT_EQ(simulation.cost, best.value);
      EXPECT_EQ(simulation.time, best.value);
      for (const Action &action : best.plan.actions)
        ++kinds[size_t(action.kind)];
    }
  }
  // A MUST_CPU_OFFLOAD beyond the host budget, and nothing else.
  EXPECT_LT(infeasible, numProblems / 20);
  // Transfers take no time here, so that no release is worth anything.
  for (auto [kind, count] : llvm::enumerate(kinds))
    EXPECT_TRUE(count > 20 || ActionKind(kind) == ActionKind::Release);
}

TEST(Oracle, AgreesWithTheSimulatorOnAnyPlan) {
  // Takes the best plans and puts random actions in or takes some out.
  std::mt19937_64 random(1);
  unsigned simulated = 0, kinds[numActionKinds] = {};
  for (auto [seed, known] : llvm::enumerate(allKnown())) {
    SCOPED_TRACE(seed);
    if (!known.smallest)
      continue;
    const Problem &problem = known.problem;
    for (int variant = 0; variant < 20; ++variant) {
      Plan plan = known.smallest->plan;
      for (unsigned edits = 1 + random() % 8; edits-- > 0;) {
        size_t at = random() % (plan.actions.size() + 1);
        ActionKind kind = ActionKind(random() % numActionKinds);
        uint32_t id = random() % (actsOnOp(kind) ? problem.ops.size()
                                                 : problem.values.size());
        if (random() % 5 || at == plan.actions.size())
          plan.actions.insert(plan.actions.begin() + at, {kind, id});
        else
          plan.actions.erase(plan.actions.begin() + at);
        // Undone if it is not a plan any more.
        llvm::Expected<Simulation> simulation = simulate(problem, plan);
        if (simulation)
          continue;
        llvm::consumeError(simulation.takeError());
        if (plan.actions.size() > at && plan.actions[at] == Action{kind, id})
          plan.actions.erase(plan.actions.begin() + at);
        else
          break;
      }
      llvm::Expected<Simulation> simulation = simulate(problem, plan);
      if (!simulation) {
        llvm::consumeError(simulation.takeError());
        continue;
      }
      EXPECT_EQ(simulation->liveBytes, bytesByDefinition(problem, plan));
      ++simulated;
      for (const Action &action : plan.actions)
        ++kinds[size_t(action.kind)];
    }
  }
  EXPECT_GT(simulated, 10000u);
  // A release must name what an offload before it copied.
  for (auto [kind, count] : llvm::enumerate(kinds))
    EXPECT_GT(count, ActionKind(kind) == ActionKind::Release ? 50u : 500u);
}

/// Whether a plan exists is not a matter of opinion.
bool isInfeasible(llvm::Error error) {
  bool infeasible = false;
  llvm::handleAllErrors(
      std::move(error),
      [&](const InfeasibleBudgetError &) { infeasible = true; },
      [](const llvm::ErrorInfoBase &) {});
  return infeasible;
}

struct Tally {
  unsigned pairs = 0, found = 0, equal = 0;
  std::string missed, worse, wrongBound;
};

Tally compare(llvm::StringRef solver) {
  Tally tally;
  SolverOptions options;
  options.effort = 0.002;
  for (auto [seed, known] : llvm::enumerate(allKnown())) {
    SCOPED_TRACE(seed);
    Problem problem = known.problem;
    for (const auto &[budget, best] : known.cheapest) {
      problem.deviceBudget = budget;
      std::string pair =
          " " + std::to_string(seed) + "/" + std::to_string(budget);
      ++tally.pairs;
      llvm::Expected<Solution> solution =
          runAlgorithm(problem, solver, options);
      if (!solution) {
        llvm::consumeError(solution.takeError());
        tally.missed += pair;
        continue;
      }
      ++tally.found;
      EXPECT_EQ(message(verify(problem, solution->plan)), "");
      EXPECT_GE(solution->time, best.value) << "better than the best";
      if (solution->lowerBound > best.value)
        tally.wrongBound += pair;
      if (solution->time == best.value)
        ++tally.equal;
      else
        tally.worse += pair;
    }
    if (known.smallest && known.smallest->value > 0) {
      problem.deviceBudget = known.smallest->value - 1;
      EXPECT_TRUE(
          isInfeasible(runAlgorithm(problem, solver, options).takeError()))
          << "a plan below the smallest budget";
    }
  }
  return tally;
}

/// Which pairs (seed/budget) a solver misses: to look at when they change.
void print(llvm::StringRef solver, const Tally &tally) {
  std::cout << solver.str() << ": " << tally.pairs << " budgets, "
            << tally.found << " with a plan, " << tally.equal
            << " with the best\nmissed:" << tally.missed
            << "\nworse:" << tally.worse << "\nwrong bound:" << tally.wrongBound
            << "\n";
}

TEST(Oracle, AutoFindsTheBestPlans) {
  Tally tally = compare("auto");
  print("auto", tally);
  EXPECT_EQ(tally.equal, tally.pairs);
  EXPECT_EQ(tally.wrongBound, "");
}

TEST(Oracle, SearchFindsMostPlans) {
  Tally tally = compare("search");
  print("search", tally);
  EXPECT_GE(tally.equal * 100, tally.pairs * 97);
  EXPECT_EQ(tally.wrongBound, "");
}

/// A tiny problem with a forward op behind the first backward one, as between
/// two derivatives, whose result backward ops read and must be offloaded.
/// Nothing where the problem of this seed has no place for one.
std::optional<Problem> offloadsBetweenDerivatives(uint64_t seed) {
  Problem problem = tinyProblem(seed);
  bool isBackward = false;
  for (Op &op : problem.ops) {
    if (!op.backward || !isBackward) {
      isBackward |= op.backward;
      continue;
    }
    for (ValueId result : op.results) {
      bool isRead = llvm::any_of(problem.ops, [&](const Op &reader) {
        return reader.backward && llvm::is_contained(reader.operands, result);
      });
      Value &value = problem.values[result];
      if (!isRead || !value.offloadable || !problem.linkBytesPerSecond)
        continue;
      op.backward = false;
      value.policy = Policy::MustCpuOffload;
      if (message(check(problem)).empty())
        return problem;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

TEST(Oracle, OffloadsBetweenDerivatives) {
  unsigned compared = 0, numSearches = 0, numBest = 0;
  for (uint64_t seed = 0; compared < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::optional<Problem> problem = offloadsBetweenDerivatives(seed);
    if (!problem)
      continue;
    std::optional<BestPlan> smallest = smallestPlan(*problem);
    if (!smallest)
      continue;
    for (int64_t slack : {0, 4}) {
      problem->deviceBudget = smallest->value + slack;
      BestPlan best = *cheapestPlan(*problem, *problem->deviceBudget);
      EXPECT_EQ(message(verify(*problem, best.plan)), "");
      Solution found =
          llvm::cantFail(runAlgorithm(*problem, "auto", SolverOptions()));
      EXPECT_EQ(message(verify(*problem, found.plan)), "");
      EXPECT_EQ(found.time, best.value);
      // A search may miss the only plan.
      llvm::Expected<Solution> searched =
          runAlgorithm(*problem, "search", SolverOptions());
      ++numSearches;
      if (!searched) {
        llvm::consumeError(searched.takeError());
        continue;
      }
      EXPECT_EQ(message(verify(*problem, searched->plan)), "");
      numBest += searched->time == best.value;
    }
    problem->deviceBudget.reset();
    Solution kept =
        llvm::cantFail(runAlgorithm(*problem, "save-all", SolverOptions()));
    EXPECT_EQ(message(verify(*problem, kept.plan)), "");
    ++compared;
  }
  EXPECT_GE(numBest * 100, numSearches * 90);
}

TEST(Oracle, SmallestBudgetsAreProven) {
  for (auto [seed, known] : llvm::enumerate(allKnown())) {
    SCOPED_TRACE(seed);
    if (!known.smallest)
      continue;
    FeasibilityCertificate certificate =
        llvm::cantFail(smallestFeasibleBudget(known.problem));
    EXPECT_EQ(certificate.smallestFeasible, known.smallest->value);
    EXPECT_EQ(certificate.lowerBound, known.smallest->value);
  }
}

TEST(Oracle, NoBoundIsAboveTheBestPlan) {
  // Links, packed forms, absorption and all policies.
  unsigned compared = 0, infeasible = 0, proven = 0, remat = 0, tight = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Problem problem = tinyProblem(seed);
    std::optional<BestPlan> smallest = smallestPlan(problem);
    if (!smallest)
      continue;
    FeasibilityCertificate certificate =
        cantFail(smallestFeasibleBudget(problem));
    EXPECT_LE(certificate.lowerBound, smallest->value) << "seed " << seed;
    int64_t peak = certificate.smallestFeasible * 2;
    for (int64_t budget = smallest->value - 1; budget <= peak;
         budget += std::max<int64_t>(1, peak / 10)) {
      problem.deviceBudget = std::max<int64_t>(budget, 0);
      std::optional<BestPlan> best =
          cheapestPlan(problem, *problem.deviceBudget);
      LowerBoundOptions options;
      options.effort = seed % 4 ? 0.05 : 0.2;
      LowerBound bound = lowerBound(problem, options);
      ++compared;
      if (!best) {
        ++infeasible;
        proven += bound.infeasible;
        continue;
      }
      EXPECT_FALSE(bound.infeasible) << "seed " << seed << " at " << budget;
      EXPECT_LE(bound.time, best->value) << "seed " << seed << " at " << budget;
      if (best->value > problem.baseCost()) {
        ++remat;
        tight += bound.time == best->value;
      }
    }
  }
  EXPECT_GT(compared, 1000u);
  EXPECT_GT(proven * 2, infeasible);
  EXPECT_GT(tight * 2, remat);
}

} // namespace
