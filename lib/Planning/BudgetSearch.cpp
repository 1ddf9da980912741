//===- BudgetSearch.cpp - plans whose buffers fit a budget ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each way of counting is a descent: from the most that the planner may count,
// down until a plan's arena fits.
//
//   * The first request is the budget and all that lies elsewhere when
//     everything is kept. Packing seldom needs more than the live bytes.
//   * Where a plan does not fit, the next request is less by what its arena is
//     too large, and by twice as much as before in each further round: arenas
//     come in steps, and what is just too much may stay so for long.
//   * Steps that grow may go too far. If a plan fits after several of them, the
//     descent goes half of the way back, a few times. If a request has no plan
//     at all, it goes half of the way back once.
//   * What fits is planned again with all of the effort.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/BudgetSearch.h"

#include <limits>
#include <tuple>

namespace remat::planning {

/// A plan for a request, with all of the effort or with a small part of it. If
/// that is too little to find one, and there is no plan to fall back on, the
/// last way of counting gets all of it.
llvm::Expected<Solution> BudgetSearch::request(unsigned way, int64_t bytes,
                                               bool thorough) {
  PlanRequest request;
  request.way = way;
  request.bytes = bytes;
  request.start = best ? &best->plan : nullptr;
  if (thorough)
    return client.plan(request);
  request.effortShare = briefShare;
  llvm::Expected<Solution> brief = client.plan(request);
  if (brief || best || !isLast(way))
    return brief;
  llvm::consumeError(brief.takeError());
  request.effortShare = 1;
  return client.plan(request);
}

/// Whether `solution`, or what is likely to come of it, costs less than the
/// best plan.
bool BudgetSearch::mayBecomeCheaper(const Solution &solution,
                                    bool thorough) const {
  double hope = 0;
  if (!thorough)
    hope = std::min(hopedShare * double(solution.cost - solution.baseCost),
                    double(solution.cost - solution.lowerBound));
  return double(solution.cost) - hope < double(best->cost);
}

/// Where a descent stands, and what it asks for next.
class BudgetSearch::Descent {
public:
  Descent(int64_t budget, int64_t first, bool thorough)
      : budget(budget), asked(first), thorough(thorough) {}

  int64_t getAsked() const { return asked; }
  bool isThorough() const { return thorough; }
  /// Plans so far that led to a smaller request.
  unsigned getRound() const { return round; }
  int64_t getSmallestArena() const { return smallestArena; }

  /// The planner has no plan within what was asked for. Whether to go on.
  bool goOnAfterNone(bool hasBest);
  /// The plan fits. Whether to go on.
  bool goOnAfterFit(bool isOptimal);
  /// The plan, with a peak of `peak` bytes, was packed into `arena` bytes.
  void goOnAfterMisfit(int64_t peak, int64_t arena);

private:
  /// Half of the way to what was too much.
  int64_t halfBack(int64_t from) const { return (from + tooMuch) / 2; }

  int64_t budget;
  int64_t asked;
  bool thorough;
  unsigned round = 0;
  int64_t smallestArena = std::numeric_limits<int64_t>::max();
  /// What was asked for last that did not fit, that has no plan, and that fits;
  /// 0 if there is none.
  int64_t tooMuch = 0, impossible = 0, fitting = 0;
  unsigned numBack = 0;
};

bool BudgetSearch::Descent::goOnAfterNone(bool hasBest) {
  if (hasBest || impossible != 0)
    return false;
  impossible = asked;
  asked = halfBack(impossible);
  return true;
}

bool BudgetSearch::Descent::goOnAfterFit(bool isOptimal) {
  if (!thorough && round >= 2 && numBack < maxBack) {
    ++numBack;
    fitting = asked;
    asked = halfBack(fitting);
    return true;
  }
  if (thorough || isOptimal)
    return false;
  thorough = true;
  return true;
}

void BudgetSearch::Descent::goOnAfterMisfit(int64_t peak, int64_t arena) {
  smallestArena = std::min(smallestArena, arena);
  tooMuch = std::min(asked, peak);
  if (fitting != 0 && !thorough) {
    thorough = numBack++ >= maxBack;
    asked = thorough ? fitting : halfBack(fitting);
    return;
  }
  int64_t step = (arena - budget) * (1 << std::min(round, 8u));
  asked = std::max(tooMuch - step, halfBack(impossible));
  if (++round == maxRounds)
    asked = std::min(asked, budget);
}

/// Looks for a plan that is cheaper than the best, counting in `way`, with an
/// arena of at most `budget` bytes.
llvm::Error BudgetSearch::fit(unsigned way, int64_t budget) {
  Descent descent(budget, budget + client.getBytesElsewhere(way),
                  /*thorough=*/!briefFirst);
  while (true) {
    bool thorough = descent.isThorough();
    llvm::Expected<Solution> solution =
        request(way, descent.getAsked(), thorough);
    // By now, what is asked for may be less than the user's budget.
    if (!solution && descent.getRound() != 0 &&
        solution.errorIsA<InfeasibleBudgetError>()) {
      llvm::consumeError(solution.takeError());
      if (descent.goOnAfterNone(best.has_value()))
        continue;
      return llvm::make_error<InfeasibleBudgetError>(
          budget, descent.getSmallestArena(),
          "a plan whose live bytes fit cannot be packed into the budget");
    }
    if (!solution)
      return solution.takeError();
    // Less would cost even more.
    if (best && !mayBecomeCheaper(*solution, thorough))
      return llvm::Error::success();
    llvm::Expected<PackedPlan> packed = client.pack(solution->plan);
    if (!packed)
      return packed.takeError();
    if (packed->arenaBytes > budget) {
      descent.goOnAfterMisfit(solution->peakBytes, packed->arenaBytes);
      continue;
    }
    if (!best || packed->cost < best->cost) {
      best = std::move(*packed);
      roundsToBest = descent.getRound();
    }
    if (!descent.goOnAfterFit(solution->optimal()))
      return llvm::Error::success();
  }
}

llvm::Expected<PackedPlan> BudgetSearch::planWithin(int64_t budget) {
  best.reset();
  for (unsigned way = 0; way < client.getNumWays(); ++way) {
    llvm::Error error = fit(way, budget);
    // The last way of counting speaks of the problem as it was given.
    if (error && isLast(way) && !best &&
        (!briefFirst || !error.isA<InfeasibleBudgetError>()))
      return std::move(error);
    llvm::consumeError(std::move(error));
    // The count was close to what packing made of it; another is hardly closer.
    if (best && roundsToBest == 0)
      break;
  }
  if (best)
    return std::move(*best);
  // The planner may miss what the smallest plan known can do.
  llvm::Expected<PackedPlan> smallest = planSmallest();
  if (!smallest || smallest->arenaBytes <= budget)
    return smallest;
  llvm::Expected<std::string> evidence =
      client.explainSmallest(smallest->arenaBytes);
  if (!evidence)
    return evidence.takeError();
  return llvm::make_error<InfeasibleBudgetError>(budget, smallest->arenaBytes,
                                                 std::move(*evidence));
}

/// Whether `a` has the smaller arena, or an equal one and costs less.
static bool isSmaller(const PackedPlan &a, const PackedPlan &b) {
  return std::tie(a.arenaBytes, a.cost) < std::tie(b.arenaBytes, b.cost);
}

llvm::Expected<PackedPlan> BudgetSearch::planSmallest() {
  best.reset();
  // The way of counting in which the smallest plan was found, and its peak.
  unsigned origin = 0;
  int64_t originBytes = 0;
  for (unsigned way = 0; way < client.getNumWays(); ++way) {
    llvm::Expected<FeasibilityCertificate> certificate =
        client.planSmallest(way);
    if (!certificate)
      return certificate.takeError();
    llvm::Expected<PackedPlan> packed = client.pack(certificate->plan);
    if (!packed)
      return packed;
    if (best && !isSmaller(*packed, *best))
      continue;
    best = std::move(*packed);
    origin = way;
    originBytes = certificate->smallestFeasible;
  }
  // Those plans only show that it is possible.
  bool settled = false;
  for (unsigned way = 0; way < client.getNumWays(); ++way) {
    int64_t cost = best->cost;
    llvm::Error error = fit(way, best->arenaBytes);
    settled |= best->cost < cost || (way == origin && !error);
    llvm::consumeError(std::move(error));
  }
  if (settled)
    return std::move(*best);
  // Only the bytes of that plan itself are known to lead to such an arena.
  llvm::Expected<Solution> solution =
      request(origin, originBytes, /*thorough=*/true);
  if (!solution) {
    llvm::consumeError(solution.takeError());
    return std::move(*best);
  }
  llvm::Expected<PackedPlan> packed = client.pack(solution->plan);
  if (packed && !isSmaller(*packed, *best))
    return std::move(*best);
  return packed;
}

} // namespace remat::planning
