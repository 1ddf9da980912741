//===- SingleCut.h - what one moment of a plan costs ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When an op runs for the first time, it is known which ops have run and which
// are to come. What fits the budget at that moment is kept; what is needed
// later and was not kept runs again, and so does what that needs:
//
//   minimize   cost of the ops that run again after the moment
//   such that  the bytes that are kept fit
//
// a knapsack problem with precedences. At a price per byte instead of the limit
// it is a minimum cut. The best price gives the Lagrangian bound; branching on
// whether an op runs again closes the rest.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SINGLECUT_H
#define REMAT_LIB_PLANNING_SINGLECUT_H

#include "Graph.h"
#include "MaxFlow.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace remat::planning {

/// What is the same for all moments of a problem.
struct CutCosts {
  explicit CutCosts(const Graph &graph);

  /// Whether bringing back the results of `op` by running it is possible, and
  /// the least that it costs.
  bool canRunAgain(OpId op) const { return again[op]; }
  int64_t runAgain(OpId op) const { return cost[op]; }
  /// Ops that a MUST makes run again, in the backward phase, and their cost.
  bool mustRunAgain(OpId op) const { return must[op]; }
  int64_t mustCost = 0;
  /// The cost of running or packing everything again. No bound of a single
  /// moment is larger.
  int64_t total = 0;
  /// All extra costs are multiples of this.
  int64_t step = 1;
  /// Units of flow per unit of cost. A power of two, below one for huge costs.
  double scale = 1;

  /// No capacity is larger, so that sums of them fit.
  static constexpr int64_t largest = int64_t(1) << 44;

  std::vector<bool> again, must;
  std::vector<int64_t> cost;
};

class SingleCut {
public:
  /// The moment at which `op` runs for the first time.
  SingleCut(const Graph &graph, const CutCosts &costs, OpId op);

  /// The bytes of what is needed after the moment, less those that fit. If this
  /// is not positive, the bound is trivial.
  int64_t excess() const { return allBytes - room; }
  /// Whether not even `op` itself fits.
  bool impossible() const { return room < 0; }

  /// An extra cost that no plan avoids (see CutCosts::mustCost too).
  struct Bound {
    int64_t extra = 0;
    /// The price per byte that gave it.
    double price = 0;
    /// Whether no larger bound can be had from this moment.
    bool exact = false;
    bool infeasible = false;
  };
  /// The bound at the best price, or at `price` alone if `once`. Adds what it
  /// did to `work`, and stops at about `workLimit`.
  Bound priced(double price, bool once, uint64_t &work, uint64_t workLimit);
  /// The exact optimum by branch and bound. Ends early, with the bound that is
  /// proven by then, when the work is used up or the bound reaches `enough`.
  Bound branched(const Bound &root, int64_t enough, uint64_t &work,
                 uint64_t workLimit, llvm::function_ref<bool()> stop);

  /// As `branched`, with one op that runs again at no cost; from `price` on.
  Bound withFreeRun(OpId op, double price, int64_t enough, uint64_t &work,
                    uint64_t workLimit, llvm::function_ref<bool()> stop);

private:
  /// A fixed decision: whether `op` (an index into `runs`) runs again.
  struct Fixing {
    uint32_t run;
    bool again;
  };
  /// What a minimum cut says: a line under the Lagrangian.
  struct Line {
    double cost = 0, bytes = 0;
    bool complete = false;
    /// The bound, in units of flow, rounded down.
    int64_t value = 0;
  };

  void addNeeds(llvm::ArrayRef<uint8_t> phase);
  Line evaluate(double price, uint64_t &work, uint64_t workLimit);
  Bound bestPrice(double price, unsigned iterations, uint64_t &work,
                  uint64_t workLimit);
  void apply(llvm::ArrayRef<Fixing> fixings);
  int64_t toCost(int64_t flow) const;

  struct Kept {
    ValueId value;
    uint32_t node, edge;
    /// Node of the op that can bring it back; the sink if there is none.
    uint32_t back;
  };
  struct Rerun {
    OpId op;
    uint32_t node;
    /// From the source: made unlimited where it has to run again.
    uint32_t forced;
    /// To the sink.
    uint32_t edge;
    bool must;
  };

  int64_t costOf(const Rerun &run) const;

  const Graph &graph;
  const CutCosts &costs;
  MaxFlow network;
  uint32_t source, sink;
  std::vector<Kept> kept;
  std::vector<Rerun> reruns;
  std::vector<uint32_t> keptOf, rerunOf;
  int64_t room = 0, allBytes = 0, allCost = 0;
  /// Index of the op that runs again at no cost, if any.
  uint32_t freeRun = ~uint32_t(0);

  /// From the last two lines of `bestPrice` around the best price: which ops
  /// run again in the one that fits, and in the one that does not.
  std::vector<bool> againFits, againExceeds;
};

struct RunAgainQuery {
  /// The moment to judge by; `noOp` for none.
  OpId moment = noOp;
  /// Plans of a cost of at most `extra` beyond what every plan takes are of
  /// interest.
  int64_t extra = 0;
  /// What the moment's bound is known to be beyond that cost.
  int64_t known = 0;
  /// All of the work, as in SingleCut.
  uint64_t workLimit = ~uint64_t(0);
};

/// Which ops can run again in the plans of `query`. An op that there is no time
/// to look at can.
std::vector<bool> mayRunAgain(const Graph &graph, const CutCosts &costs,
                              const RunAgainQuery &query, uint64_t &work,
                              llvm::function_ref<bool()> stop);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SINGLECUT_H
