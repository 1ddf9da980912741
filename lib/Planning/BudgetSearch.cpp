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
//   * What fits is planned again with all of the effort: after the descents of
//     all ways, the fastest plan first, and only where more effort may well
//     lead to a faster plan than the fastest so far. A third of it tells.
//
// Packing does not follow the bytes that are asked for: a request of more bytes
// may lead to a smaller arena. That a budget is feasible must not depend on
// which requests it leads to. So there is a list of plans, the same for all
// budgets, and made only as far as needed: a plan that a descent finds counts
// if some plan of the list has an arena that is as small.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/BudgetSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <tuple>

namespace remat::planning {

/// Whether `a` has the smaller arena, or an equal one and is faster.
static bool isSmaller(const PackedPlan &a, const PackedPlan &b) {
  return std::tie(a.arenaBytes, a.time) < std::tie(b.arenaBytes, b.time);
}

static bool isFaster(const PackedPlan &a, const PackedPlan &b) {
  return std::tie(a.time, a.arenaBytes) < std::tie(b.time, b.arenaBytes);
}

const PackedPlan *BudgetSearch::getBest() const {
  const PackedPlan *best = nullptr;
  for (const PackedPlan &plan : fittingPlans)
    if (!best || plan.time < best->time)
      best = &plan;
  return best;
}

/// A plan for a request, with all of the effort or with a small part of it. If
/// that is too little to find one, and there is no plan to fall back on, the
/// last way of counting gets all of it.
llvm::Expected<Solution> BudgetSearch::request(unsigned way, int64_t bytes,
                                               bool thorough, Effort effort) {
  // Below the smallest peak known, little effort finds nothing, and where the
  // list has a plan that fits, more is not worth it.
  if ((effort == Effort::Brief || timeOfList) && bytes < rungs[way].least)
    return llvm::make_error<InfeasibleBudgetError>(bytes, rungs[way].least,
                                                   std::string());
  PlanRequest request;
  request.way = way;
  request.bytes = bytes;
  const PackedPlan *best = getBest();
  request.start = best ? &best->plan : nullptr;
  if (thorough)
    return client.plan(request);
  request.effortShare = effort == Effort::Brief ? listShare : briefShare;
  llvm::Expected<Solution> brief = client.plan(request);
  if (brief || best || timeOfList || !isLast(way) || effort == Effort::Brief)
    return brief;
  llvm::consumeError(brief.takeError());
  request.effortShare = 1;
  return client.plan(request);
}

/// Whether a plan, or what is likely to come of it, is faster than what is
/// known.
bool BudgetSearch::mayBecomeFaster(const Outlook &plan, bool thorough) const {
  double hope = 0;
  if (!thorough)
    hope = std::min(hopedShare * double(plan.time - plan.baseCost),
                    double(plan.time - plan.lowerBound));
  int64_t known = timeOfList.value_or(std::numeric_limits<int64_t>::max());
  if (!fittingPlans.empty())
    known = std::min(known, getBest()->time);
  return double(plan.time) - hope < double(known);
}

/// Where a descent stands, and what it asks for next.
class BudgetSearch::Descent {
public:
  Descent(int64_t budget, int64_t first, bool thorough)
      : budget(budget), asked(first), thorough(thorough) {}

  int64_t getBudget() const { return budget; }
  int64_t getAsked() const { return asked; }
  bool isThorough() const { return thorough; }
  /// Whether nothing more is to be asked for.
  bool isOver() const { return over; }
  void end() { over = true; }
  /// The last plan that fits.
  const Outlook &getLastFit() const { return lastFit; }
  /// Plans so far that led to a smaller request.
  unsigned getRound() const { return round; }
  int64_t getSmallestArena() const { return smallestArena; }

  /// The planner has no plan within what was asked for. Whether to go on.
  bool goOnAfterNone(bool hasBest);
  /// The plan fits. Whether to go on.
  bool goOnAfterFit(const Outlook &plan, bool isGoodEnough);
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
  int64_t tooMuch = 0, impossible = 0, enough = 0;
  unsigned numBack = 0;
  bool over = false;
  Outlook lastFit;
};

bool BudgetSearch::Descent::goOnAfterNone(bool hasBest) {
  if (hasBest || impossible != 0)
    return false;
  impossible = asked;
  asked = halfBack(impossible);
  return true;
}

bool BudgetSearch::Descent::goOnAfterFit(const Outlook &plan,
                                         bool isGoodEnough) {
  lastFit = plan;
  if (!thorough && round >= 2 && numBack < maxBack) {
    ++numBack;
    enough = asked;
    asked = halfBack(enough);
    return true;
  }
  if (thorough || isGoodEnough)
    return false;
  thorough = true;
  return true;
}

void BudgetSearch::Descent::goOnAfterMisfit(int64_t peak, int64_t arena) {
  smallestArena = std::min(smallestArena, arena);
  tooMuch = std::min(asked, peak);
  if (enough != 0 && !thorough) {
    thorough = numBack++ >= maxBack;
    asked = thorough ? enough : halfBack(enough);
    return;
  }
  int64_t step = (arena - budget) * (1 << std::min(round, 8u));
  asked = std::max(tooMuch - step, halfBack(impossible));
  if (++round == maxRounds)
    asked = std::min(asked, budget);
}

/// Looks for a plan that is faster than the best, counting in `way`, until the
/// descent is over, or until it would ask with another effort.
llvm::Error BudgetSearch::advance(unsigned way, Descent &descent,
                                  Effort effort) {
  bool thorough = descent.isThorough();
  int64_t budget = descent.getBudget();
  while (!descent.isOver() && descent.isThorough() == thorough) {
    llvm::Expected<Solution> solution =
        request(way, descent.getAsked(), thorough, effort);
    // By now, what is asked for may be less than the user's budget.
    if (!solution && descent.getRound() != 0 &&
        solution.errorIsA<InfeasibleBudgetError>()) {
      llvm::consumeError(solution.takeError());
      if (descent.goOnAfterNone(!fittingPlans.empty()))
        continue;
      descent.end();
      return llvm::make_error<InfeasibleBudgetError>(
          budget, descent.getSmallestArena(),
          "a plan whose live bytes fit cannot be packed into the budget");
    }
    if (!solution) {
      descent.end();
      return solution.takeError();
    }
    Outlook outlook = {solution->time, solution->baseCost,
                       solution->lowerBound};
    // Less would take even more time.
    if (!mayBecomeFaster(outlook, thorough)) {
      descent.end();
      break;
    }
    llvm::Expected<PackedPlan> packed =
        client.pack(solution->plan, /*thorough=*/false);
    if (!packed) {
      descent.end();
      return packed.takeError();
    }
    if (packed->arenaBytes > budget) {
      descent.goOnAfterMisfit(solution->peakBytes, packed->arenaBytes);
      if (effort == Effort::Brief && descent.getRound() == maxBriefRounds)
        descent.end();
      continue;
    }
    if (fittingPlans.empty() || packed->time < getBest()->time)
      roundsToBest = descent.getRound();
    fittingPlans.push_back(std::move(*packed));
    if (effort != Effort::Brief)
      askedToFit[way] = descent.getAsked();
    if (effort == Effort::Brief || client.isOver() ||
        !descent.goOnAfterFit(outlook, solution->gap() <= client.getGap()))
      descent.end();
  }
  return llvm::Error::success();
}

/// A descent of its own, whose first request is of `first` bytes.
llvm::Error BudgetSearch::descend(unsigned way, int64_t budget, int64_t first,
                                  Effort effort) {
  Descent descent(budget, first, /*thorough=*/effort == Effort::Full);
  return advance(way, descent, effort);
}

/// Whether all of the effort may lead to a faster plan than the best, to go by
/// what a part of it saves where a descent has come to. Keeps the plan of that.
llvm::Expected<bool> BudgetSearch::isWorthAll(unsigned way,
                                              const Descent &descent) {
  const PackedPlan *best = getBest();
  int64_t known = best->time;
  PlanRequest request;
  request.way = way;
  request.bytes = descent.getAsked();
  request.start = &best->plan;
  request.effortShare = trialShare;
  llvm::Expected<Solution> trial = client.plan(request);
  if (!trial)
    return trial.takeError();
  if (trial->time < known) {
    llvm::Expected<PackedPlan> packed =
        client.pack(trial->plan, /*thorough=*/false);
    if (!packed)
      return packed.takeError();
    if (packed->arenaBytes <= descent.getBudget())
      fittingPlans.push_back(std::move(*packed));
  }
  // It may have begun with the best plan.
  int64_t before = descent.getLastFit().time;
  if (trial->time <= known)
    before = std::min(before, known);
  int64_t gain = before - trial->time;
  // Three times the effort saved that much, and three times more seldom saves
  // more than that again.
  return double(gain) >=
             leastTrialGain * double(trial->time - trial->baseCost) &&
         trial->time - gain < known;
}

/// Collects plans that fit. Succeeds if there are any, or if only an error of
/// the planner says that there are none.
llvm::Error BudgetSearch::search(int64_t budget, Effort effort) {
  fittingPlans.clear();
  roundsToBest = 0;
  std::vector<std::pair<unsigned, Descent>> waiting;
  for (unsigned way = 0; way < client.getNumWays(); ++way) {
    Descent descent(budget, budget + client.getBytesElsewhere(way),
                    /*thorough=*/effort == Effort::Full);
    llvm::Error error = advance(way, descent, effort);
    // The last way of counting speaks of the problem as it was given.
    if (error && isLast(way) && fittingPlans.empty() &&
        (effort == Effort::Full || !error.isA<InfeasibleBudgetError>()))
      return error;
    llvm::consumeError(std::move(error));
    if (!descent.isOver())
      waiting.emplace_back(way, descent);
    // The count was close to what packing made of it; another is hardly closer.
    if (!fittingPlans.empty() && (roundsToBest == 0 || client.isOver()))
      break;
  }
  llvm::stable_sort(waiting, [](const auto &a, const auto &b) {
    return a.second.getLastFit().time < b.second.getLastFit().time;
  });
  for (auto &[way, descent] : waiting) {
    if (client.isOver() ||
        !mayBecomeFaster(descent.getLastFit(), /*thorough=*/false))
      continue;
    llvm::Expected<bool> isWorth = isWorthAll(way, descent);
    if (!isWorth)
      llvm::consumeError(isWorth.takeError());
    else if (*isWorth)
      llvm::consumeError(advance(way, descent, effort));
  }
  return llvm::Error::success();
}

/// Descents for a small budget find little, and what they find depends on it.
/// The plans of the whole list are the same for all budgets, and one for the
/// smallest of them is found at any other.
llvm::Expected<PackedPlan> BudgetSearch::planWithin(int64_t budget) {
  if (!briefFirst)
    return planWithin(budget, 0);
  llvm::Expected<Prefix> made = reach(std::numeric_limits<int64_t>::max());
  if (!made)
    return made.takeError();
  llvm::ArrayRef<PackedPlan> first =
      llvm::ArrayRef(list).take_front(made->size);
  int64_t smallest = llvm::min_element(first, isSmaller)->arenaBytes;
  if (double(budget) > smallBudgetRatio * double(smallest))
    return planWithin(budget, 0);
  made = reach(0);
  if (!made)
    return made.takeError();
  // What has a smaller arena than all of the list would not count.
  if (part == Part::Complete && getSmallest().arenaBytes > budget)
    return explainInfeasible(budget);
  return planWithin(budget, made->size);
}

llvm::Error BudgetSearch::explainInfeasible(int64_t budget) {
  llvm::Expected<std::string> evidence = client.explainSmallest(getSmallest());
  if (!evidence)
    return evidence.takeError();
  return llvm::make_error<InfeasibleBudgetError>(
      budget, getSmallest().arenaBytes, std::move(*evidence));
}

llvm::Expected<PackedPlan> BudgetSearch::planSoon(int64_t budget) {
  return planWithin(budget, 0);
}

PackedPlan BudgetSearch::improve(int64_t budget, PackedPlan best) {
  fittingPlans.clear();
  fittingPlans.push_back(std::move(best));
  for (unsigned way = 0; way < client.getNumWays() && !client.isOver(); ++way) {
    // Half of the way back from what fits to what is too much: closer each
    // time.
    int64_t first = budget + client.getBytesElsewhere(way);
    if (askedToFit[way])
      first = (first + std::min(first, *askedToFit[way])) / 2;
    llvm::consumeError(descend(way, budget, first, Effort::Full));
  }
  return *getBest();
}

/// With what the first `leastPrefix` plans of the list, or more, have to offer.
llvm::Expected<PackedPlan> BudgetSearch::planWithin(int64_t budget,
                                                    size_t leastPrefix) {
  askedToFit.assign(client.getNumWays(), std::nullopt);
  if (!briefFirst) {
    if (llvm::Error error = search(budget, Effort::Full))
      return std::move(error);
    return *getBest();
  }
  // Plans that are slower than one of the list need not be looked for.
  for (const PackedPlan &plan : llvm::ArrayRef(list).take_front(leastPrefix))
    if (plan.arenaBytes <= budget &&
        plan.time < timeOfList.value_or(plan.time + 1))
      timeOfList = plan.time;
  llvm::Error error = search(budget, Effort::BriefFirst);
  timeOfList.reset();
  if (error)
    return std::move(error);
  // What has a smaller arena than all of the list does not count.
  std::vector<PackedPlan> found = std::move(fittingPlans);
  llvm::stable_sort(found, isFaster);
  std::optional<PackedPlan> best;
  size_t prefix = leastPrefix;
  for (PackedPlan &plan : found) {
    llvm::Expected<Prefix> reached = reach(plan.arenaBytes);
    if (!reached)
      return reached.takeError();
    prefix = std::max(prefix, reached->size);
    if (reached->found || client.isOver()) {
      best = std::move(plan);
      break;
    }
  }
  if (best && client.isOver())
    return std::move(*best);
  llvm::Expected<Prefix> reached = reach(budget);
  if (!reached)
    return reached.takeError();
  prefix = std::max(prefix, reached->size);
  for (const PackedPlan &plan : llvm::ArrayRef(list).take_front(prefix))
    if (plan.arenaBytes <= budget && (!best || isFaster(plan, *best)))
      best = plan;
  if (best)
    return std::move(*best);
  return explainInfeasible(budget);
}

llvm::Error BudgetSearch::makeSmallest() {
  return reach(std::numeric_limits<int64_t>::max()).takeError();
}

llvm::Expected<int64_t> BudgetSearch::findSmallestArena() {
  llvm::Expected<Prefix> all = reach(0);
  if (!all)
    return all.takeError();
  return getSmallest().arenaBytes;
}

llvm::Expected<PackedPlan> BudgetSearch::planSmallest() {
  llvm::Expected<Prefix> all = reach(0);
  if (!all)
    return all.takeError();
  llvm::Expected<PackedPlan> found =
      planWithin(getSmallest().arenaBytes, all->size);
  if (found || briefFirst || !found.errorIsA<InfeasibleBudgetError>())
    return found;
  // The planner does not find what the heuristics do.
  llvm::consumeError(found.takeError());
  return getSmallest();
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

const PackedPlan &BudgetSearch::getSmallest() const {
  return *llvm::min_element(list, isSmaller);
}

/// The shortest part of the list, in the steps in which it is made, that has a
/// plan with an arena of at most `arenaBytes`; all of it if there is none. The
/// list is made as far as that takes.
llvm::Expected<BudgetSearch::Prefix> BudgetSearch::reach(int64_t arenaBytes) {
  size_t checked = 0;
  for (size_t step = 0;; ++step) {
    if (step == sizes.size()) {
      if (part == Part::Complete || (client.isOver() && !list.empty()))
        return Prefix{list.size(), false};
      if (llvm::Error error = extendList())
        return std::move(error);
      sizes.push_back(list.size());
    }
    for (; checked < sizes[step]; ++checked)
      if (list[checked].arenaBytes <= arenaBytes)
        return Prefix{sizes[step], true};
  }
}

llvm::Error BudgetSearch::addToList(const Plan &plan, bool thorough) {
  llvm::Expected<PackedPlan> packed = client.pack(plan, thorough);
  if (!packed)
    return packed.takeError();
  list.push_back(std::move(*packed));
  return llvm::Error::success();
}

llvm::Error BudgetSearch::extendList() {
  fittingPlans.clear();
  switch (part) {
  case Part::Smallest:
    for (unsigned way = 0; way < client.getNumWays(); ++way) {
      llvm::Expected<FeasibilityCertificate> certificate =
          client.planSmallest(way);
      if (!certificate)
        return certificate.takeError();
      rungs.push_back({std::max<int64_t>(certificate->smallestFeasible, 1)});
      if (llvm::Error error = addToList(certificate->plan))
        return error;
    }
    part = Part::Rungs;
    return llvm::Error::success();
  case Part::Rungs:
    return addRungs();
  case Part::Searches:
    return addSearches();
  case Part::Thorough:
    part = Part::Complete;
    return addToList(Plan(getSmallest().plan), /*thorough=*/true);
  case Part::Complete:
    break;
  }
  return llvm::Error::success();
}

/// The next request in each way: more and more bytes, up to where everything is
/// kept, or to twice the smallest peak. What is packed into a smaller arena
/// than the smallest so far has no larger peak.
llvm::Error BudgetSearch::addRungs() {
  bool any = false;
  for (auto [way, rung] : llvm::enumerate(rungs)) {
    if (rung.done)
      continue;
    double bytes = double(rung.least) *
                   std::exp2(double(numRungs) / double(rungsPerOctave));
    llvm::Expected<Solution> solution =
        bytes < double(std::numeric_limits<int64_t>::max() / 2)
            ? request(way, int64_t(bytes), /*thorough=*/false, Effort::Brief)
            : llvm::make_error<InfeasibleBudgetError>(0, 0, "");
    if (!solution) {
      if (!solution.errorIsA<InfeasibleBudgetError>())
        return solution.takeError();
      llvm::consumeError(solution.takeError());
      any = true;
      continue;
    }
    if (llvm::Error error = addToList(solution->plan))
      return error;
    // More bytes would change nothing.
    rung.done = solution->time == solution->baseCost ||
                double(solution->peakBytes) < bytes / 2;
    any |= !rung.done;
  }
  if (!any || ++numRungs == maxRungs)
    part = Part::Searches;
  return llvm::Error::success();
}

/// What a search for less than the smallest so far finds. The steps become
/// smaller where it finds nothing.
llvm::Error BudgetSearch::addSearches() {
  static constexpr int64_t parts[] = {16, 64, 256};
  int64_t arena = getSmallest().arenaBytes;
  int64_t step = std::max<int64_t>(arena / parts[searchStep], 1);
  if (llvm::Error error = search(arena - step, Effort::Brief))
    return error;
  if (fittingPlans.empty())
    ++searchStep;
  else
    ++numSearches;
  llvm::append_range(list, fittingPlans);
  if (searchStep == std::size(parts) || numSearches == maxSearches)
    part = Part::Thorough;
  return llvm::Error::success();
}

} // namespace remat::planning
