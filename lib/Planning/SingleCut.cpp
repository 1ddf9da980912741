//===- SingleCut.cpp - what one moment of a plan costs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The network of a moment. A value that is needed has a node N, an op that may
// run again a node S; being on the source's side means "needed" and "runs
// again":
//
//   source -> N   unlimited, if it is read after the moment
//   N -> S        price of keeping the value: cut if needed and not made again
//   N -> sink     the same, if no op can make it again
//   S -> sink     cost of running again
//   S -> N        unlimited, for its operands
//
// Offload, packing and absorption only lower capacities.
//
//===----------------------------------------------------------------------===//

#include "SingleCut.h"
#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

using namespace llvm;

namespace remat::planning {

static constexpr uint32_t none = ~uint32_t(0);

CutCosts::CutCosts(const Graph &graph) {
  const Problem &problem = graph.problem;
  again.resize(graph.numOps());
  must.resize(graph.numOps());
  cost.resize(graph.numOps());
  step = 0;
  int64_t sum = 0;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    const Op &data = problem.ops[op];
    again[op] = !graph.runsOnce(op);
    cost[op] = data.cost;
    step = std::gcd(step, data.cost);
    if (data.absorbedCost) {
      cost[op] = std::min(cost[op], *data.absorbedCost);
      step = std::gcd(step, *data.absorbedCost);
    }
    // In a free order the op may be one of the backward phase.
    if (!problem.freeOrder)
      for (ValueId result : graph.results(op))
        if (graph.mustLeaveForward(result) &&
            graph.policy(result) == Policy::MustRecompute &&
            graph.isReadByBackward(result))
          must[op] = true;
    if (must[op]) {
      mustCost += cost[op];
      cost[op] = 0;
    }
    sum += cost[op];
  }
  for (const Value &value : problem.values)
    if (value.packed) {
      int64_t codec = value.packed->packCost + value.packed->unpackCost;
      step = std::gcd(step, codec);
      sum += codec;
    }
  step = std::max<int64_t>(step, 1);
  total = sum;
  scale = 1;
  while (double(sum) * scale < double(largest) / 4 && scale < 1 << 24)
    scale *= 2;
  while (double(sum) * scale > double(largest) / 2)
    scale /= 2;
}

int64_t SingleCut::costOf(const Rerun &run) const {
  bool isFree = freeRun != none && &run == &reruns[freeRun];
  return isFree ? 0 : costs.runAgain(run.op);
}

/// Back to costs, rounded up to what sums of costs can be.
int64_t SingleCut::toCost(int64_t flow) const {
  if (flow <= 0)
    return 0;
  int64_t units = int64_t(std::ceil(double(flow) / costs.scale -
                                    (costs.scale < 1 ? 1.0 / costs.scale : 0)));
  return std::max<int64_t>(0, (units + costs.step - 1) / costs.step) *
         costs.step;
}

/// Which ops have run when `op` runs for the first time, and which are to come.
namespace {
enum Phase : uint8_t { unknown, before, after, now };
} // namespace

static std::vector<uint8_t> phases(const Graph &graph, OpId op) {
  std::vector<uint8_t> phase(graph.numOps(), unknown);
  if (!graph.problem.freeOrder) {
    std::fill(phase.begin(), phase.begin() + op, before);
    std::fill(phase.begin() + op, phase.end(), after);
    phase[op] = now;
    return phase;
  }
  // Ancestors and descendants, over operands and over the order of effects.
  const std::vector<Op> &ops = graph.problem.ops;
  phase[op] = before;
  bool effect = false;
  for (OpId at = op + 1; at-- > 0;) {
    if (effect && !ops[at].recomputable)
      phase[at] = before;
    if (phase[at] != before)
      continue;
    effect |= !ops[at].recomputable;
    for (ValueId operand : graph.operands(at))
      if (!graph.isArgument(operand))
        phase[graph.producer(operand)] = before;
  }
  phase[op] = after;
  effect = false;
  for (OpId at = op; at < graph.numOps(); ++at) {
    if (phase[at] == before)
      continue;
    if (effect && !ops[at].recomputable)
      phase[at] = after;
    for (ValueId operand : graph.operands(at))
      if (!graph.isArgument(operand) && phase[graph.producer(operand)] == after)
        phase[at] = after;
    effect |= phase[at] == after && !ops[at].recomputable;
  }
  phase[op] = now;
  return phase;
}

SingleCut::SingleCut(const Graph &graph, const CutCosts &costs, OpId op)
    : graph(graph), costs(costs) {
  const Problem &problem = graph.problem;
  source = network.addNode();
  sink = network.addNode();
  keptOf.assign(graph.numValues(), none);
  rerunOf.assign(graph.numOps(), none);

  room = problem.deviceBudget.value_or(int64_t(1) << 60) -
         problem.ops[op].workspace;
  for (ValueId result : graph.results(op))
    room -= graph.bytes(result);
  // What is resident for the op's sake is there for later, too; unless the op
  // absorbs it.
  std::vector<bool> present(graph.numValues(), false);
  for (ValueId operand : graph.operands(op)) {
    if (!graph.isArgument(operand) &&
        graph.isAbsorber(op, graph.producer(operand)))
      continue;
    present[operand] = true;
    room -= graph.bytes(operand);
  }
  std::vector<uint8_t> phase = phases(graph, op);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (present[value])
      keptOf[value] = none - 1;
  addNeeds(phase);

  for (Kept &keep : kept) {
    bool read = graph.isOutput(keep.value) ||
                any_of(graph.readers(keep.value),
                       [&](OpId reader) { return phase[reader] == after; });
    if (!read)
      continue;
    network.addEdge(source, keep.node, MaxFlow::unlimited);
    allBytes += graph.bytes(keep.value);
  }
  bool forward = !problem.freeOrder && op < graph.firstBackward();
  for (Rerun &run : reruns) {
    run.must = forward && costs.mustRunAgain(run.op);
    run.forced = network.addEdge(source, run.node);
    run.edge = network.addEdge(run.node, sink);
    allCost += costs.runAgain(run.op);
  }
  againFits.assign(reruns.size(), false);
  againExceeds.assign(reruns.size(), false);
}

/// Nodes for all that may be kept or run again.
void SingleCut::addNeeds(ArrayRef<uint8_t> phase) {
  for (OpId op = 0; op < graph.numOps(); ++op)
    if (phase[op] == before && costs.canRunAgain(op)) {
      rerunOf[op] = reruns.size();
      reruns.push_back({op, network.addNode(), 0, 0, false});
    }
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (graph.problem.values[value].viewOf != noValue || keptOf[value] != none)
      continue;
    bool argument = graph.isArgument(value);
    if (argument ? graph.bytes(value) == 0
                 : phase[graph.producer(value)] != before)
      continue;
    uint32_t back = sink;
    if (!argument && rerunOf[graph.producer(value)] != none)
      back = reruns[rerunOf[graph.producer(value)]].node;
    // A zero-sized value that can be kept for nothing, is.
    if (graph.bytes(value) == 0)
      continue;
    keptOf[value] = kept.size();
    uint32_t node = network.addNode();
    kept.push_back({value, node, network.addEdge(node, back), back});
  }
  // Flows through a long graph take long. Without the needs of ops across
  // blocks it falls apart into short ones; the bound holds all the same.
  bool inBlocks = graph.numOps() > BoundTuning::blockedOps;
  for (const Rerun &run : reruns)
    for (ValueId operand : graph.operands(run.op))
      if (keptOf[operand] < kept.size() &&
          (!inBlocks || graph.isArgument(operand) ||
           graph.producer(operand) / BoundTuning::blockOps ==
               run.op / BoundTuning::blockOps))
        network.addEdge(run.node, kept[keptOf[operand]].node,
                        MaxFlow::unlimited);
}

/// What keeping `value` takes: a cost, and bytes.
static std::pair<int64_t, int64_t> cheapestForm(const Graph &graph,
                                                ValueId value, double price) {
  if (graph.canOffload(value))
    return {0, 0};
  const Value &data = graph.problem.values[value];
  if (graph.canPack(value)) {
    int64_t cost = data.packed->packCost + data.packed->unpackCost;
    if (double(cost) + price * double(data.packed->bytes) <
        price * double(data.bytes))
      return {cost, data.packed->bytes};
  }
  return {0, data.bytes};
}

SingleCut::Line SingleCut::evaluate(double price, uint64_t &work,
                                    uint64_t workLimit) {
  for (const Kept &keep : kept) {
    auto [cost, bytes] = cheapestForm(graph, keep.value, price);
    double capacity =
        std::floor((double(cost) + price * double(bytes)) * costs.scale);
    network.setCapacity(keep.edge,
                        int64_t(std::min(capacity, double(CutCosts::largest))));
  }
  uint64_t limit = workLimit > work ? workLimit - work : 0;
  int64_t flow = network.solve(source, sink, limit);
  // Resetting the network counts too.
  work += network.work() + network.numArcs() + kept.size();

  Line line;
  line.complete = network.complete();
  double paid = price * double(room) * costs.scale;
  line.value = int64_t(std::floor(
      std::max(0.0, double(flow) - paid - std::abs(paid) * 1e-12 - 1e-3)));
  if (!line.complete)
    return line;
  for (const Kept &keep : kept) {
    if (!network.onSourceSide(keep.node) ||
        (keep.back != sink && network.onSourceSide(keep.back)))
      continue;
    auto [cost, bytes] = cheapestForm(graph, keep.value, price);
    line.cost += double(cost);
    line.bytes += double(bytes);
  }
  for (const Rerun &run : reruns)
    if (network.onSourceSide(run.node))
      line.cost += double(costOf(run));
  return line;
}

void SingleCut::apply(ArrayRef<Fixing> fixings) {
  for (const Rerun &run : reruns) {
    network.setCapacity(run.forced, run.must ? MaxFlow::unlimited : 0);
    network.setCapacity(run.edge,
                        int64_t(std::floor(double(costOf(run)) * costs.scale)));
  }
  for (const Fixing &fixing : fixings)
    if (fixing.again)
      network.setCapacity(reruns[fixing.run].forced, MaxFlow::unlimited);
    else
      network.setCapacity(reruns[fixing.run].edge, CutCosts::largest);
}

/// Maximizes the concave Lagrangian: the next price is where the lines of the
/// nearest price that exceeds the room and of the nearest that fits meet.
SingleCut::Bound SingleCut::bestPrice(double price, unsigned iterations,
                                      uint64_t &work, uint64_t workLimit) {
  Bound best;
  best.price = price;
  Line exceeds, fits;
  bool haveExceeds = false, haveFits = false;
  exceeds.bytes = double(allBytes);
  fits.cost = double(allCost);
  if (price <= 0)
    price = std::max(fits.cost, 1.0) / std::max(exceeds.bytes, 1.0);
  for (unsigned i = 0; i < iterations && work < workLimit; ++i) {
    Line line = evaluate(price, work, workLimit);
    int64_t extra = toCost(line.value);
    if (extra > best.extra || i == 0) {
      best.extra = std::max(extra, best.extra);
      best.price = price;
    }
    if (!line.complete)
      return best;
    bool over = line.bytes > double(room);
    Line &side = over ? exceeds : fits;
    bool &have = over ? haveExceeds : haveFits;
    bool same = have && side.cost == line.cost && side.bytes == line.bytes;
    side = line;
    have = true;
    std::vector<bool> &again = over ? againExceeds : againFits;
    for (auto [index, run] : enumerate(reruns))
      again[index] = network.onSourceSide(run.node);
    if (haveFits && double(best.extra) >= fits.cost) {
      best.exact = true;
      return best;
    }
    // Nothing fits, however much is run again.
    if (best.extra > costs.total) {
      best.infeasible = best.exact = true;
      return best;
    }
    if (same && haveExceeds && haveFits)
      return best;
    double next = price;
    if (exceeds.bytes > fits.bytes && fits.cost > exceeds.cost)
      next = (fits.cost - exceeds.cost) / (exceeds.bytes - fits.bytes);
    // While one side is only guessed, move away from the other.
    if (!haveFits)
      next = std::max(next, price * 4);
    if (!haveExceeds)
      next = std::min(next, price / 4);
    if (next == price)
      return best;
    price = next;
  }
  return best;
}

SingleCut::Bound SingleCut::priced(double price, bool once, uint64_t &work,
                                   uint64_t workLimit) {
  apply({});
  return bestPrice(price, once ? 1 : 20, work, workLimit);
}

SingleCut::Bound SingleCut::branched(const Bound &root, int64_t enough,
                                     uint64_t &work, uint64_t workLimit,
                                     function_ref<bool()> stop) {
  struct Node {
    Bound bound;
    uint64_t serial;
    std::vector<Fixing> fixings;
    bool closed = false;
  };
  auto later = [](const Node &a, const Node &b) {
    return a.bound.extra != b.bound.extra ? a.bound.extra > b.bound.extra
                                          : a.serial < b.serial;
  };
  std::priority_queue<Node, std::vector<Node>, decltype(later)> open(later);
  uint64_t serial = 0;
  std::vector<bool> fixed;
  open.push({root, serial++, {}, /*closed=*/false});
  Bound best = root;
  while (!open.empty() && work < workLimit && !stop()) {
    Node node = open.top();
    best = node.bound;
    if (best.exact || best.infeasible || best.extra >= enough || node.closed)
      return best;
    open.pop();
    // Again, for the two cuts around the best price.
    apply(node.fixings);
    Bound here = bestPrice(node.bound.price, 20, work, workLimit);
    here.extra = std::max(here.extra, node.bound.extra);
    if (here.exact || here.infeasible) {
      open.push({here, serial++, node.fixings, /*closed=*/true});
      continue;
    }
    uint32_t branch = none;
    int64_t largestCost = -1;
    fixed.assign(reruns.size(), false);
    for (const Fixing &fixing : node.fixings)
      fixed[fixing.run] = true;
    work += reruns.size() + 8 * node.fixings.size();
    for (uint32_t i = 0; i < reruns.size(); ++i) {
      if (fixed[i] || reruns[i].must || againFits[i] == againExceeds[i])
        continue;
      if (costs.runAgain(reruns[i].op) > largestCost) {
        largestCost = costs.runAgain(reruns[i].op);
        branch = i;
      }
    }
    // Nothing to branch on, or no time: this part keeps its bound.
    if (branch == none || work >= workLimit) {
      open.push({here, serial++, node.fixings, /*closed=*/true});
      continue;
    }
    for (bool again : {true, false}) {
      Node child{here, serial++, node.fixings, /*closed=*/false};
      child.fixings.push_back({branch, again});
      apply(child.fixings);
      child.bound = bestPrice(here.price, 4, work, workLimit);
      child.bound.extra = std::max(child.bound.extra, here.extra);
      open.push(std::move(child));
    }
  }
  if (!open.empty())
    best = open.top().bound;
  best.exact = false;
  return best;
}

SingleCut::Bound SingleCut::withFreeRun(OpId op, double price, int64_t enough,
                                        uint64_t &work, uint64_t workLimit,
                                        function_ref<bool()> stop) {
  freeRun = rerunOf[op];
  Bound bound = priced(price, false, work, workLimit);
  if (bound.extra < enough)
    bound = branched(bound, enough, work, workLimit, stop);
  freeRun = none;
  return bound;
}

std::vector<bool> mayRunAgain(const Graph &graph, const CutCosts &costs,
                              const RunAgainQuery &query, uint64_t &work,
                              function_ref<bool()> stop) {
  std::vector<bool> may(graph.numOps(), false);
  std::optional<SingleCut> cut;
  double price = 0;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    // Wherever it runs again, it costs that much; the rest of the bound stands.
    int64_t rest = query.extra - costs.runAgain(op);
    may[op] = costs.canRunAgain(op) && rest >= 0;
    // Nor can the rest exceed the bound.
    if (!may[op] || query.moment == noOp || query.known <= rest ||
        work >= query.workLimit || stop())
      continue;
    if (!cut) {
      cut.emplace(graph, costs, query.moment);
      price = cut->priced(0, false, work, query.workLimit).price;
    }
    uint64_t limit =
        std::min(query.workLimit, work + BoundTuning::runAgainSteps);
    SingleCut::Bound bound =
        cut->withFreeRun(op, price, rest + 1, work, limit, stop);
    may[op] = bound.extra <= rest && !bound.infeasible;
  }
  return may;
}

} // namespace remat::planning
