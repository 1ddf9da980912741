//===- RegionBorder.cpp - what a plan carries of the regions --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MUST_RECOMPUTEs say which values a plan carries into the backward phase, but
// not in how many forms, and not when what comes back from the host does so. A
// plan may bring a value back early, leave it late, or carry both its forms.
// Such a plan is changed around the border between the phases. Every change
// shortens the lives of copies, so the peak does not grow.
//
//===----------------------------------------------------------------------===//

#include "Regions.h"
#include "SimulateInto.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace remat::planning {

namespace {
class BorderFitter {
public:
  BorderFitter(const Graph &graph, Plan &plan) : graph(graph), plan(plan) {
    for (const Region &region : graph.problem.regions)
      values.push_back(valuesOf(graph, region));
  }

  bool run();

private:
  /// A copy that is carried into the backward phase, and the actions that read
  /// it there.
  struct Carried {
    uint32_t copy;
    SmallVector<uint32_t, 4> lateReaders;
    bool isReadEarly = false;
  };

  bool measure(const Plan &candidate, Simulation &into) const;
  int64_t excessOf(const Simulation &of) const;
  bool dropUseless();
  std::vector<Carried> findCarried() const;
  ActionKind kindOf(uint32_t action) const { return plan.actions[action].kind; }
  bool makesPacked(const Carried &carried) const {
    return simulation.copies[carried.copy].form == Copy::Form::Packed;
  }

  bool take(Plan candidate);
  bool moveTo(ArrayRef<uint32_t> moved, uint32_t before);
  bool bringBackAt(const Carried &carried, ActionKind kind, uint32_t before);
  bool leaveAtBorder(const Carried &carried);
  bool reloadAtBorder(const Carried &carried);
  bool packLater(const Carried &full, const Carried &packed);
  bool unpackLater(const Carried &full);
  bool improve();

  const Graph &graph;
  Plan &plan;
  /// Of each region, what its budget counts.
  std::vector<std::vector<ValueId>> values;
  /// Of the plan as it is.
  Simulation simulation;
  int64_t excess = 0;
};
} // namespace

/// Whether the plan can be simulated, and stays within the other budgets.
bool BorderFitter::measure(const Plan &candidate, Simulation &into) const {
  if (Error error = simulateInto(graph, candidate, into)) {
    consumeError(std::move(error));
    return false;
  }
  const Problem &problem = graph.problem;
  return (!problem.deviceBudget || into.peakBytes <= *problem.deviceBudget) &&
         (!problem.hostBudget || into.hostPeakBytes <= *problem.hostBudget);
}

/// How many bytes above the budgets are carried.
int64_t BorderFitter::excessOf(const Simulation &of) const {
  int64_t sum = 0;
  for (const Region &region : graph.problem.regions)
    sum += std::max<int64_t>(0, keptBytes(graph, region, of) - region.budget);
  return sum;
}

/// Takes the candidate for the plan if it carries less of what is too much.
bool BorderFitter::take(Plan candidate) {
  Simulation other;
  if (!measure(candidate, other))
    return false;
  int64_t left = excessOf(other);
  if (left >= excess)
    return false;
  plan = std::move(candidate);
  simulation = std::move(other);
  excess = left;
  return true;
}

/// Drops transfers and packed forms that lead to nothing: reading a copy keeps
/// it, whatever for.
bool BorderFitter::dropUseless() {
  size_t count = plan.actions.size();
  // What each action makes and each reload brings back, by action.
  std::vector<SmallVector<uint32_t, 1>> readers(simulation.copies.size());
  std::vector<bool> needed(count, false);
  DenseMap<ValueId, uint32_t> onHost;
  std::vector<uint32_t> source(count, Copy::beforeStart);
  for (uint32_t i = 0; i < count; ++i) {
    const Action &action = plan.actions[i];
    for (uint32_t copy : simulation.readsOf(i))
      readers[copy].push_back(i);
    if (action.kind == ActionKind::Offload)
      onHost[action.id] = i;
    if (action.kind == ActionKind::Reload)
      source[i] = onHost.lookup(action.id);
    needed[i] = actsOnOp(action.kind);
  }
  // The last copy of an output is needed.
  DenseMap<ValueId, uint32_t> last;
  std::vector<uint32_t> madeBy(count, Copy::beforeStart);
  for (auto [index, copy] : enumerate(simulation.copies)) {
    if (copy.form == Copy::Form::Full)
      last[copy.value] = index;
    if (copy.def != Copy::beforeStart && !actsOnOp(kindOf(copy.def)))
      madeBy[copy.def] = index;
  }
  for (uint32_t i = count; i-- > 0;) {
    uint32_t made = madeBy[i];
    if (made != Copy::beforeStart) {
      ValueId value = simulation.copies[made].value;
      needed[i] = (graph.isOutput(value) && last.lookup(value) == made) ||
                  any_of(readers[made],
                         [&](uint32_t reader) { return needed[reader]; });
    }
    if (needed[i] && source[i] != Copy::beforeStart)
      needed[source[i]] = true;
  }
  Plan kept;
  for (uint32_t i = 0; i < count; ++i)
    if (needed[i])
      kept.actions.push_back(plan.actions[i]);
  return kept.actions.size() < count && take(std::move(kept));
}

std::vector<BorderFitter::Carried> BorderFitter::findCarried() const {
  std::vector<Carried> carried;
  DenseMap<uint32_t, size_t> place;
  for (uint32_t index = 0; index < simulation.copies.size(); ++index) {
    const Copy &copy = simulation.copies[index];
    bool isCounted = any_of(values, [&](const std::vector<ValueId> &list) {
      return binary_search(list, copy.value);
    });
    if (!isCounted || copy.form == Copy::Form::Absorbed ||
        copy.def >= simulation.backwardBegin ||
        copy.lastUse < simulation.backwardBegin)
      continue;
    place[index] = carried.size();
    carried.push_back({index, {}, false});
  }
  for (uint32_t i = 0; i < plan.actions.size(); ++i)
    for (uint32_t copy : simulation.readsOf(i)) {
      auto it = place.find(copy);
      if (it == place.end())
        continue;
      Carried &read = carried[it->second];
      if (i < simulation.backwardBegin)
        read.isReadEarly = true;
      else
        read.lateReaders.push_back(i);
    }
  return carried;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Moves actions, in their order, in front of another.
bool BorderFitter::moveTo(ArrayRef<uint32_t> moved, uint32_t before) {
  Plan candidate;
  for (uint32_t i = 0; i <= plan.actions.size(); ++i) {
    if (i == before)
      for (uint32_t from : moved)
        candidate.actions.push_back(plan.actions[from]);
    if (i < plan.actions.size() && !is_contained(moved, i))
      candidate.actions.push_back(plan.actions[i]);
  }
  return take(std::move(candidate));
}

/// Makes a copy anew behind the border. What made the one that is carried goes
/// if nothing reads that one before.
bool BorderFitter::bringBackAt(const Carried &carried, ActionKind kind,
                               uint32_t before) {
  const Copy &copy = simulation.copies[carried.copy];
  if (kindOf(copy.def) == kind && !carried.isReadEarly)
    return moveTo(copy.def, before);
  Plan candidate = plan;
  candidate.actions.insert(candidate.actions.begin() + before,
                           Action{kind, copy.value});
  return take(std::move(candidate));
}

/// What is only carried to leave for the host, or to be packed, leaves at the
/// border.
bool BorderFitter::leaveAtBorder(const Carried &carried) {
  return !makesPacked(carried) &&
         all_of(carried.lateReaders,
                [&](uint32_t reader) { return !actsOnOp(kindOf(reader)); }) &&
         moveTo(carried.lateReaders, simulation.backwardBegin);
}

/// What comes back early comes back at the border.
bool BorderFitter::reloadAtBorder(const Carried &carried) {
  const Copy &copy = simulation.copies[carried.copy];
  return kindOf(copy.def) == ActionKind::Reload &&
         bringBackAt(carried, ActionKind::Reload, simulation.backwardBegin);
}

/// A value that is still read is packed behind its last reader.
bool BorderFitter::packLater(const Carried &full, const Carried &packed) {
  uint32_t pack = simulation.copies[packed.copy].def;
  return is_contained(simulation.readsOf(pack), full.copy) &&
         moveTo(pack, full.lateReaders.back() + 1);
}

/// A value that is carried in packed form, too, is unpacked where it is read.
bool BorderFitter::unpackLater(const Carried &full) {
  return bringBackAt(full, ActionKind::Unpack, full.lateReaders.front());
}

/// Makes one change that helps, of those that cost least.
bool BorderFitter::improve() {
  std::vector<Carried> carried = findCarried();
  if (any_of(carried, [&](const Carried &c) { return leaveAtBorder(c); }))
    return true;
  SmallVector<std::pair<const Carried *, const Carried *>> pairs;
  for (const Carried &full : carried)
    for (const Carried &packed : carried)
      if (!makesPacked(full) && makesPacked(packed) &&
          simulation.copies[full.copy].value ==
              simulation.copies[packed.copy].value)
        pairs.push_back({&full, &packed});
  return any_of(pairs,
                [&](auto &both) {
                  return packLater(*both.first, *both.second);
                }) ||
         any_of(carried, [&](const Carried &c) { return reloadAtBorder(c); }) ||
         any_of(pairs, [&](auto &both) { return unpackLater(*both.first); });
}

bool BorderFitter::run() {
  if (values.empty())
    return true;
  if (!measure(plan, simulation))
    return false;
  excess = excessOf(simulation);
  if (excess > 0)
    dropUseless();
  // Each change lowers the excess.
  while (excess > 0)
    if (!improve())
      return false;
  return true;
}

bool fitRegions(const Graph &graph, Plan &plan) {
  return BorderFitter(graph, plan).run();
}

} // namespace remat::planning
