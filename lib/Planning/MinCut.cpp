//===- MinCut.cpp - saved sets by minimum cuts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The min-cut partitioner of PyTorch (torch._functorch.partitioners): which
// forward values to save for the backward phase, such that saving them and
// recomputing the others costs least. There, only bytes count, and heuristics
// forbid what is too expensive to recompute. Here both have a price, and the
// price of a byte is what is swept to meet a budget (Lagrangian relaxation):
//
//   minimize  sum over ops that run again of cost
//             + price * sum over values that are needed and not made again
//               of bytes
//
//   a value that the backward phase reads is needed, and so is what an op that
//   runs again reads
//
// One node per op, on the sink's side if it runs again; one per value, on the
// sink's side if it is needed:
//
//   source -> op       cost                the op runs again
//   op     -> result   price * bytes       needed, not made again: saved
//   operand -> op      unlimited           what runs again needs its operands
//   value  -> sink     unlimited           read in the backward phase
//
//===----------------------------------------------------------------------===//

#include "MaxFlow.h"
#include "SavedSet.h"
#include "SearchTuning.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

namespace {
class SavedSetCut {
public:
  SavedSetCut(const Graph &graph, OpId position)
      : graph(graph), position(position), valueNodes(graph.numValues(), none) {
    source = network.addNode();
    sink = network.addNode();
    for (OpId op = 0; op < position; ++op)
      addOp(op);
    // Capacities are in units of these sums' parts per 2^36, so that prices
    // have the same range for all problems.
    for (OpId op = 0; op < position; ++op) {
      totalCost += double(graph.problem.ops[op].cost);
      for (ValueId value : graph.results(op))
        totalBytes += double(graph.bytes(value));
    }
    setCosts();
  }

  /// The set to save if a byte costs `price` times the mean cost per byte.
  /// Empty if `work` ran out.
  std::optional<std::vector<bool>> solve(double price, WorkMeter &work) {
    for (const Saving &saving : savings) {
      double part =
          totalBytes > 0 ? double(graph.bytes(saving.value)) / totalBytes : 0.0;
      network.setCapacity(saving.edge, capacity(part * price));
    }
    network.solve(source, sink, SavedSetTuning::cutWork);
    work.add(network.work());
    if (!network.complete())
      return std::nullopt;
    std::vector<bool> saved(graph.numValues(), false);
    for (const Saving &saving : savings)
      saved[saving.value] = !network.onSourceSide(valueNodes[saving.value]) &&
                            network.onSourceSide(saving.opNode);
    return saved;
  }

private:
  static constexpr uint32_t none = ~uint32_t(0);
  struct Saving {
    ValueId value;
    uint32_t edge, opNode;
  };

  static int64_t capacity(double part) {
    // Ties between free ops and free bytes are broken towards saving.
    return std::llround(std::min(part, 64.0) * double(int64_t(1) << 40));
  }

  void addOp(OpId op) {
    uint32_t node = network.addNode();
    costEdges.push_back(network.addEdge(source, node));
    for (ValueId operand : graph.operands(op))
      if (!graph.isArgument(operand))
        network.addEdge(valueNodes[operand], node, MaxFlow::unlimited / 2);
    for (ValueId value : graph.results(op)) {
      valueNodes[value] = network.addNode();
      savings.push_back(
          {value, network.addEdge(node, valueNodes[value]), node});
      if (isReadLater(value))
        network.addEdge(valueNodes[value], sink, MaxFlow::unlimited / 2);
    }
  }

  bool isReadLater(ValueId value) const {
    ArrayRef<OpId> readers = graph.readers(value);
    return graph.isOutput(value) ||
           (!readers.empty() && readers.back() >= position);
  }

  void setCosts() {
    for (OpId op = 0; op < position; ++op) {
      double part =
          totalCost > 0 ? double(graph.problem.ops[op].cost) / totalCost : 0.0;
      bool forbidden = graph.runsOnce(op);
      for (ValueId value : graph.results(op))
        forbidden |= graph.policy(value) == Policy::PreferSave;
      network.setCapacity(costEdges[op], forbidden ? MaxFlow::unlimited / 8
                                                   : capacity(part) + 1);
    }
  }

  const Graph &graph;
  OpId position;
  MaxFlow network;
  uint32_t source, sink;
  std::vector<uint32_t> valueNodes, costEdges;
  std::vector<Saving> savings;
  double totalCost = 0, totalBytes = 0;
};
} // namespace

Expected<Solution> planMinCut(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  if (best.consider(saveAllResidency(graph)))
    return best.finish("min-cut", watch);

  OpId position = savePosition(graph);
  SavedSetCut cut(graph, position);
  using Set = std::vector<bool>;
  Set dear, cheap;
  auto fitsAt = [&](double exponent, Set &into) {
    std::optional<Set> saved = cut.solve(std::exp2(exponent), work);
    if (!saved)
      return false;
    into = std::move(*saved);
    return best.consider(position, into);
  };
  // The dearer a byte, the less is saved, though not always the lower the peak:
  // a sweep first, then bisection below the lowest price that fits.
  std::optional<double> fits;
  Set saved;
  for (double exponent = SavedSetTuning::lowestPrice;
       exponent <= SavedSetTuning::highestPrice;
       exponent += SavedSetTuning::priceStep) {
    if (work.overdrawn())
      break;
    bool fitsHere = fitsAt(exponent, saved);
    if (!fits)
      (fitsHere ? dear : cheap) = saved;
    if (fitsHere && !fits)
      fits = exponent;
  }
  double low = fits ? *fits - SavedSetTuning::priceStep : 0,
         high = fits.value_or(0);
  for (unsigned round = 0;
       fits && round < SavedSetTuning::priceBisections && !work.exhausted();
       ++round) {
    double middle = (low + high) / 2;
    bool fitsHere = fitsAt(middle, saved);
    (fitsHere ? high : low) = middle;
    (fitsHere ? dear : cheap) = saved;
  }
  // Where many values are equal, no price separates them: keep an even share
  // of those by which the last two sets differ.
  uint32_t all = SavedSetTuning::equalParts, share = 0;
  for (uint32_t half = all / 2; half > 0 && !dear.empty() && !cheap.empty() &&
                                dear != cheap && !work.exhausted();
       half /= 2) {
    saved = dear;
    uint32_t sum = 0;
    for (ValueId value = 0; value < graph.numValues(); ++value)
      if (cheap[value] && !dear[value]) {
        sum += share + half;
        saved[value] = sum >= all;
        sum %= all;
      }
    if (best.consider(position, saved))
      share += half;
  }
  return best.finish("min-cut", watch);
}

} // namespace remat::planning
