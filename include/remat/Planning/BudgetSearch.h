//===- BudgetSearch.h - plans whose buffers fit a budget --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner bounds the bytes that are live together. A budget bounds the arena
// that the buffers are packed into, and that is another number: larger where
// packing leaves gaps, smaller where values lie in buffers that are not in the
// arena. The search asks a planner for plans within numbers of bytes that it
// chooses, has each plan packed, and keeps the cheapest whose arena fits.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_BUDGETSEARCH_H
#define REMAT_PLANNING_BUDGETSEARCH_H

#include "remat/Planning/Algorithms.h"

namespace remat::planning {

/// A plan, and what packing its buffers comes to.
struct PackedPlan {
  Plan plan;
  /// Length of the schedule, waits for transfers included.
  int64_t time = 0;
  int64_t arenaBytes = 0;
};

/// What is asked of a planner.
struct PlanRequest {
  /// The way in which live bytes are counted.
  unsigned way = 0;
  /// The most that may be live, counted in this way.
  int64_t bytes = 0;
  /// The share of the client's effort that the planner may spend, at most 1.
  double effortShare = 1;
  /// A plan to start from, or null.
  const Plan *start = nullptr;
};

/// Those whom a search asks: a planner, and somebody who packs. Bytes may be
/// counted in several ways, none of which says exactly what packing makes of
/// them; a plan is a plan whichever way it was found in. Way 0 is tried first.
class BudgetClient {
public:
  virtual ~BudgetClient() = default;

  virtual unsigned getNumWays() const = 0;
  /// How many bytes more are counted in `way` than the arena has, for the plan
  /// that keeps all values.
  virtual int64_t getBytesElsewhere(unsigned way) const = 0;
  /// A plan within the request's bytes; an InfeasibleBudgetError if the planner
  /// finds none.
  virtual llvm::Expected<Solution> plan(const PlanRequest &request) = 0;
  /// The plan with the smallest peak known, counted in `way`.
  virtual llvm::Expected<FeasibilityCertificate> planSmallest(unsigned way) = 0;
  /// Packs a plan, for little work unless `thorough`, which never leads to a
  /// larger arena.
  virtual llvm::Expected<PackedPlan> pack(const Plan &plan, bool thorough) = 0;
  /// What lies in the arena of `smallest`, the plan with the smallest known,
  /// where it is largest; lines of text.
  virtual llvm::Expected<std::string>
  explainSmallest(const PackedPlan &smallest) = 0;
  /// Whether time is up, or the user has had enough: the search then ends as
  /// soon as it has a plan that fits.
  virtual bool isOver() const { return false; }
  /// The gap of a plan that is good enough.
  virtual double getGap() const { return 0; }
};

/// What one budget's search finds, the searches for all other budgets find,
/// too: a plan is only taken if its arena is no smaller than the smallest of a
/// list of plans that does not depend on the budget. So a budget is feasible
/// if, and only if, it holds the smallest arena of the list, which is the one
/// that `planSmallest` gives. What is found for one budget does not depend on
/// those that were searched for before.
class BudgetSearch {
public:
  /// With `briefFirst`, the planner first spends a small part of its effort,
  /// which shows what a number of bytes comes to, and all of it only where the
  /// arena fits. Otherwise every request gets all of it, and that it finds no
  /// plan is taken as the answer, whatever it finds for other budgets. That
  /// suits algorithms that find the same plan for any effort.
  /// A budget of at most `smallBudgetRatio` times the smallest arena that is
  /// known at once is a small one: all of the list is made for it.
  BudgetSearch(BudgetClient &client, bool briefFirst,
               double smallBudgetRatio = 1)
      : client(client), briefFirst(briefFirst),
        smallBudgetRatio(smallBudgetRatio) {}

  /// The fastest plan known with an arena of at most `budget` bytes. An
  /// InfeasibleBudgetError if there is none, with the smallest arena known.
  llvm::Expected<PackedPlan> planWithin(int64_t budget);

  /// The same, but a plan is there sooner: not much is known of small arenas
  /// then, and plans for small budgets may be slower.
  llvm::Expected<PackedPlan> planSoon(int64_t budget);

  /// `best`, which fits, or a faster plan that fits: asks for plans in all ways
  /// once more, whatever the client lets the planner spend now. To be called
  /// after `planWithin` or `planSmallest`.
  PackedPlan improve(int64_t budget, PackedPlan best);

  /// Makes the first plans of the list, in which the client is asked for those
  /// with the smallest peaks. All that follows does so too, once.
  llvm::Error makeSmallest();

  /// The smallest arena known: that of the smallest plan of the list.
  llvm::Expected<int64_t> findSmallestArena();

  /// The fastest plan known that has the smallest arena known.
  llvm::Expected<PackedPlan> planSmallest();

  /// The share of the effort of a brief plan.
  static constexpr double briefShare = 0.1;
  /// The share of the effort that tells what all of it may lead to, and the
  /// least part of the recomputation that it has to save for that.
  static constexpr double trialShare = 0.3, leastTrialGain = 0.01;
  /// The share of the effort of a plan for the list.
  static constexpr double listShare = 0.03;
  /// The part of a brief plan's recomputation that more effort may save.
  static constexpr double hopedShare = 0.1;
  /// Plans that did not fit before no more than the budget is asked for.
  static constexpr unsigned maxRounds = 5;
  /// The same for the list: then the search gives up.
  static constexpr unsigned maxBriefRounds = 3;
  /// How often more is asked for again, as steps that grow may go too far.
  static constexpr unsigned maxBack = 3;
  /// Requests of the list in which bytes double.
  static constexpr unsigned rungsPerOctave = 4;
  static constexpr unsigned maxRungs = rungsPerOctave + 1;
  /// Searches of the list that find something.
  static constexpr unsigned maxSearches = 12;

private:
  class Descent;
  enum class Effort { Brief, BriefFirst, Full };

  bool isLast(unsigned way) const { return way + 1 == client.getNumWays(); }
  llvm::Expected<Solution> request(unsigned way, int64_t bytes, bool thorough,
                                   Effort effort);
  /// What is known of a plan, and what more effort may make of it.
  struct Outlook {
    int64_t time = 0, baseCost = 0, lowerBound = 0;
  };
  bool mayBecomeFaster(const Outlook &plan, bool thorough) const;
  llvm::Error advance(unsigned way, Descent &descent, Effort effort);
  llvm::Error descend(unsigned way, int64_t budget, int64_t first,
                      Effort effort);
  llvm::Expected<bool> isWorthAll(unsigned way, const Descent &descent);
  llvm::Error search(int64_t budget, Effort effort);
  const PackedPlan *getBest() const;

  /// The first plans of the list.
  struct Prefix {
    size_t size = 0;
    /// Whether one of them has an arena that is small enough.
    bool found = false;
  };
  llvm::Expected<PackedPlan> planWithin(int64_t budget, size_t leastPrefix);
  llvm::Error explainInfeasible(int64_t budget);
  llvm::Expected<Prefix> reach(int64_t arenaBytes);
  llvm::Error extendList();
  llvm::Error addRungs();
  llvm::Error addSearches();
  llvm::Error addToList(const Plan &plan, bool thorough = false);
  const PackedPlan &getSmallest() const;

  BudgetClient &client;
  bool briefFirst;
  double smallBudgetRatio;
  /// The plans that fit the budget of the current search, and how many in the
  /// way of the fastest did not fit before it.
  std::vector<PackedPlan> fittingPlans;
  unsigned roundsToBest = 0;
  /// The time of the fastest plan of the list that fits, where all of the list
  /// is made before the search.
  std::optional<int64_t> timeOfList;
  /// Of each way: what was asked for last that led to a plan that fits.
  std::vector<std::optional<int64_t>> askedToFit;

  /// How far the list is: the smallest plans known, requests from those on
  /// upwards, searches below the smallest so far; at last, the smallest of all
  /// is packed thoroughly.
  enum class Part { Smallest, Rungs, Searches, Thorough, Complete };
  Part part = Part::Smallest;
  /// Of each way: what its next request asks for, and whether there is one.
  struct Rungs {
    int64_t least = 0;
    bool done = false;
  };
  std::vector<Rungs> rungs;
  unsigned numRungs = 0, numSearches = 0, searchStep = 0;
  std::vector<PackedPlan> list;
  /// How long the list was after each step of making it.
  std::vector<size_t> sizes;
};

} // namespace remat::planning

#endif // REMAT_PLANNING_BUDGETSEARCH_H
