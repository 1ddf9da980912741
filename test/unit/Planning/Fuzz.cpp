//===- Fuzz.cpp - random planning problems --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RematPlanningFuzz --seed=N --count=N --seconds=N --keep=DIR
//
// Plans random problems by all algorithms, within budgets from too small to
// ample. A problem is tiny, and then exhaustive search knows its best plan, or
// has some dozens of ops. It has at random a link of any speed, a host budget,
// packed forms, absorption, policies, budgets of regions, and a free order.
// What is checked of every plan does not come from the algorithm that made it.
//
//===----------------------------------------------------------------------===//

#include "../FuzzMain.h"
#include "Oracle.h"
#include "Problems.h"
#include "remat/Planning/LowerBound.h"
#include "remat/Planning/Releases.h"
#include "remat/Planning/Serialization.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat::planning;

namespace {

class Fuzzer {
public:
  explicit Fuzzer(const remat::FuzzOptions &options) : options(options) {}

  void tryProblem(uint64_t seed);
  int finish();

private:
  void tryTiny();
  void tryRegions();
  void tryBudget(std::optional<int64_t> budget, const BestPlan *best,
                 bool mustFind = true);
  void trySolution(const SolverInfo &solver, const Solution &solution,
                   const BestPlan *best);
  void writeInstance();
  void tryRoundTrip(const Plan &plan);
  void find(const Twine &symptom);
  SolverOptions solverOptions() const {
    SolverOptions solving;
    solving.effort = 0.002;
    solving.explainInfeasible = false;
    return solving;
  }

  remat::FuzzOptions options;
  Problem problem;
  std::optional<Instance> instance;
  uint64_t seed = 0;
  uint64_t problems = 0, solves = 0, plans = 0, oracles = 0, findings = 0;
};

/// Limits on what random values are kept for the backward phase.
void addRegions(Problem &problem, uint64_t seed) {
  std::mt19937_64 random(seed + 29);
  for (unsigned number = random() % 3; number-- > 0;) {
    Region region;
    region.name = "region" + std::to_string(number);
    int64_t bytes = 0;
    for (ValueId v = 0; v < problem.values.size(); ++v)
      if (random() % 3 == 0) {
        region.values.push_back(v);
        bytes += problem.values[v].bytes;
      }
    region.budget = random() % (bytes + 1);
    problem.regions.push_back(std::move(region));
    if (Error error = check(problem)) {
      consumeError(std::move(error));
      problem.regions.pop_back();
    }
  }
}

/// Some dozens of ops with everything that a problem may have.
Problem largeProblem(uint64_t seed) {
  std::mt19937_64 random(seed * 31 + 5);
  unsigned n = 6 + random() % 40;
  Problem problem =
      random() % 2 ? richProblem(seed, n) : randomProblem(seed, n);
  if (random() % 2)
    problem.linkBytesPerSecond = int64_t(1) << random() % 40;
  else if (random() % 2)
    problem.linkBytesPerSecond = random() % 2 ? infiniteBandwidth : 0;
  problem.duplexLink = problem.linkBytesPerSecond && random() % 2;
  if (random() % 3 == 0)
    problem.hostBudget = random() % 300;
  if (random() % 3 == 0)
    addPolicies(problem, seed);
  if (random() % 4 == 0)
    addRegions(problem, seed);
  problem.freeOrder = random() % 4 == 0;
  return problem;
}

void Fuzzer::find(const Twine &symptom) {
  ++findings;
  outs() << "planning: seed " << seed << ": " << symptom << "\n";
  outs().flush();
  if (options.keep.empty())
    return;
  sys::fs::create_directories(options.keep);
  std::string name =
      options.keep + "/planning-" + utostr(seed) + "-" + utostr(findings);
  std::error_code error;
  raw_fd_ostream file(name + ".json", error);
  file << formatv("{0:2}", toJson(problem)) << "\n";
  raw_fd_ostream readme(name + ".txt", error);
  readme << symptom << "\nRematPlanningFuzz --seed=" << seed << " --count=1\n";
}

/// The problem as a file, for all of its plans.
void Fuzzer::writeInstance() {
  instance.reset();
  std::string text = formatv("{0}", toJson(problem));
  Expected<Instance> read = parseInstance(text);
  if (!read)
    return find("an instance that was written cannot be read: " +
                toString(read.takeError()));
  if (formatv("{0}", toJson(read->problem)).str() != text)
    find("an instance changes when it is written and read");
  instance = std::move(*read);
}

void Fuzzer::tryRoundTrip(const Plan &plan) {
  if (!instance)
    return;
  std::string schedule = formatv("{0}", toJson(*instance, plan));
  Expected<Plan> read = parsePlan(*instance, schedule);
  if (!read)
    return find("a schedule that was written cannot be read: " +
                toString(read.takeError()));
  if (read->actions != plan.actions)
    find("a schedule changes when it is written and read");
}

void Fuzzer::trySolution(const SolverInfo &solver, const Solution &solution,
                         const BestPlan *best) {
  ++plans;
  if (Error error = verify(problem, solution.plan))
    return find(solver.name + ": " + toString(std::move(error)));
  Simulation simulation = cantFail(simulate(problem, solution.plan));
  if (Error error =
          verifyClaims(simulation, {solution.peakBytes, solution.hostPeakBytes,
                                    solution.cost, solution.time}))
    find(solver.name + ": " + toString(std::move(error)));
  if (simulation.liveBytes != bytesByDefinition(problem, solution.plan))
    find(solver.name + ": the simulator counts other bytes than defined");
  Plan bare = keepReleases(solution.plan, 0);
  if (Error error = verify(problem, bare))
    find(solver.name + ", without releases: " + toString(std::move(error)));
  else if (cantFail(simulate(problem, bare)).time < solution.time)
    find(solver.name + ": releases make the plan slower");
  if (best && solution.time < best->value)
    find(solver.name + ": " + Twine(solution.time) +
         " is less than the best, " + Twine(best->value));
  if (best && solution.lowerBound > best->value && solver.name == "auto")
    find(solver.name + ": the bound of " + Twine(solution.lowerBound) +
         " is above the best, " + Twine(best->value));
  tryRoundTrip(solution.plan);
}

void Fuzzer::tryBudget(std::optional<int64_t> budget, const BestPlan *best,
                       bool mustFind) {
  problem.deviceBudget = budget;
  writeInstance();
  std::optional<int64_t> fastest;
  for (const SolverInfo &solver : getSolvers()) {
    // Integer programs take longer than all others together.
    if (solver.name == "milp" || solver.name == "lp-rounding")
      continue;
    ++solves;
    // With what the budgets of regions ask for.
    Expected<Solution> solution = solve(problem, solver.name, solverOptions());
    if (!solution) {
      std::string text = toString(solution.takeError());
      if (StringRef(text).contains("illegal") ||
          StringRef(text).contains("wrong solution"))
        find(solver.name + ": " + text);
      if (best && mustFind && solver.name == "auto")
        find("auto: no plan where there is one");
      continue;
    }
    trySolution(solver, *solution, best);
    fastest = std::min(fastest.value_or(INT64_MAX), solution->time);
    // What depends on an address does so for many problems; twice takes twice.
    if (seed % 4 != 1)
      continue;
    Expected<Solution> again = solve(problem, solver.name, solverOptions());
    if (!again || again->plan.actions != solution->plan.actions)
      find(solver.name + ": another plan at the second time");
    consumeError(again.takeError());
  }
  LowerBoundOptions bounding;
  // Integer programs of tiny problems take no time, and there the best is
  // known.
  bounding.effort = best ? 0.2 : 0.005;
  bounding.usePrograms = best != nullptr;
  LowerBound bound = lowerBound(problem, bounding);
  if (fastest && bound.infeasible)
    find("proven infeasible, but there is a plan");
  if (fastest && bound.time > *fastest)
    find("the lower bound is " + Twine(bound.time) + ", but a plan takes " +
         Twine(*fastest));
  if (best && bound.time > best->value)
    find("the lower bound is " + Twine(bound.time) + ", but the best is " +
         Twine(best->value));
}

void Fuzzer::tryTiny() {
  std::optional<BestPlan> smallest = smallestPlan(problem);
  if (!smallest)
    return;
  ++oracles;
  for (int64_t slack : {0, 2, 6}) {
    std::optional<BestPlan> best =
        cheapestPlan(problem, smallest->value + slack);
    if (!best)
      find("no cheapest plan where the smallest fits");
    else
      tryBudget(smallest->value + slack, &*best);
  }
  if (smallest->value > 0) {
    problem.deviceBudget = smallest->value - 1;
    Expected<Solution> solution = planAuto(problem, solverOptions());
    if (solution)
      find("auto: a plan below the smallest budget");
    consumeError(solution.takeError());
  }
  problem.deviceBudget = smallest->value + 4;
  addRegions(problem, seed);
  if (!problem.regions.empty())
    tryRegions();
}

/// With limits on what is kept, no plan is better than without. There may be
/// none.
void Fuzzer::tryRegions() {
  int64_t budget = *problem.deviceBudget;
  Problem without = problem;
  without.regions.clear();
  if (std::optional<BestPlan> best = cheapestPlan(without, budget))
    tryBudget(budget, &*best, /*mustFind=*/false);
}

void Fuzzer::tryProblem(uint64_t number) {
  seed = number;
  ++problems;
  bool isTiny = seed % 3 == 0;
  // Other tiny problems than those of the unit tests.
  problem = isTiny ? tinyProblem(seed + 1000000) : largeProblem(seed);
  // What is tiny in a free order, too.
  if (isTiny)
    problem.freeOrder = seed % 2 == 0 && problem.ops.size() <= 5;
  if (Error error = check(problem))
    return find("is no problem: " + toString(std::move(error)));
  if (isTiny)
    return tryTiny();
  problem.deviceBudget.reset();
  tryBudget(std::nullopt, nullptr);
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, solverOptions());
  if (!certificate)
    return consumeError(certificate.takeError());
  int64_t smallest = certificate->smallestFeasible;
  if (certificate->lowerBound > smallest)
    find("the smallest budget is below its bound");
  problem.deviceBudget = smallest;
  if (Error error = verify(problem, certificate->plan))
    find("the smallest plan: " + toString(std::move(error)));
  for (int64_t budget : {smallest, smallest + smallest / 4, smallest / 2})
    tryBudget(budget, nullptr);
}

int Fuzzer::finish() {
  outs() << "planning: " << solves << " runs, " << problems << " problems, "
         << oracles << " searched exhaustively, " << plans << " plans, "
         << findings << " findings\n";
  return findings > 0;
}

} // namespace

int main(int argc, char **argv) {
  remat::FuzzOptions options;
  if (!remat::parseFuzzOptions(argc, argv, options))
    return 2;
  Fuzzer fuzzer(options);
  remat::tryInputs(options, [&](uint64_t seed) { fuzzer.tryProblem(seed); });
  return fuzzer.finish();
}
