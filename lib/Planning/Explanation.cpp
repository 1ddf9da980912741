//===- Explanation.cpp - what a plan decided, value by value --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is read off a simulation of the plan and one of save-all.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Explanation.h"
#include "Graph.h"
#include "SimulateInto.h"
#include "remat/Planning/Algorithms.h"
#include "remat/Planning/LayerFolding.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <tuple>

using namespace llvm;

namespace remat::planning {

StringRef stringify(Decision decision) {
  switch (decision) {
  case Decision::ShortLived:
    return "short-lived";
  case Decision::Saved:
    return "saved";
  case Decision::Recomputed:
    return "recomputed";
  case Decision::Absorbed:
    return "absorbed";
  case Decision::Offloaded:
    return "offloaded";
  case Decision::Packed:
    return "packed";
  }
  llvm_unreachable("unknown decision");
}

//===----------------------------------------------------------------------===//
// A plan on a clock
//===----------------------------------------------------------------------===//

namespace {
/// A simulated plan with the times of its actions and, per value, its copies.
struct Timetable {
  Timetable(const Problem &problem, Plan plan);

  /// When the action starts; `time(n)` is the end.
  int64_t time(uint32_t action) const { return starts[action]; }
  /// What a copy holds over its life.
  double byteTime(const Copy &copy) const {
    uint32_t begin = copy.def == Copy::beforeStart ? 0 : copy.def;
    if (plan.actions.empty())
      return 0;
    return double(copy.bytes(problem)) *
           double(time(copy.lastUse + 1) - time(begin));
  }

  const Problem &problem;
  Plan plan;
  Simulation simulation;
  std::vector<int64_t> starts;
  /// Indices of copies, in the order of their definition.
  std::vector<SmallVector<uint32_t, 1>> copiesOf;
  /// For every copy the actions that read it, ascending.
  std::vector<SmallVector<uint32_t, 2>> readersOf;
};
} // namespace

Timetable::Timetable(const Problem &problem, Plan plan)
    : problem(problem), plan(std::move(plan)) {
  starts.push_back(0);
  for (const Action &action : this->plan.actions)
    starts.push_back(starts.back() + computeTime(problem, action));
}

static Expected<Timetable> makeTimetable(const Problem &problem, Plan plan) {
  Timetable table(problem, std::move(plan));
  Expected<Simulation> simulation = simulate(problem, table.plan);
  if (!simulation)
    return simulation.takeError();
  table.simulation = std::move(*simulation);
  table.copiesOf.resize(problem.values.size());
  for (auto [index, copy] : enumerate(table.simulation.copies))
    table.copiesOf[copy.value].push_back(index);
  table.readersOf.resize(table.simulation.copies.size());
  for (uint32_t action = 0; action < table.plan.actions.size(); ++action)
    for (uint32_t copy : table.simulation.readsOf(action))
      table.readersOf[copy].push_back(action);
  return std::move(table);
}

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

namespace {
class Explainer {
public:
  Explainer(const Graph &graph, const Timetable &table,
            const Timetable &saveAll)
      : graph(graph), problem(graph.problem), table(table), saveAll(saveAll),
        returns(problem.values.size()) {
    countReturns();
  }

  ValueExplanation explain(ValueId value);

private:
  struct Returns {
    unsigned runs = 0, absorbed = 0, offloads = 0, reloads = 0, packs = 0,
             unpacks = 0;
  };

  void countReturns();
  bool waits(const Copy &copy, ArrayRef<uint32_t> readers) const;
  std::optional<int64_t> costToRecompute(ValueId value, uint32_t action);
  std::optional<int64_t> costIfDropped(ValueId value, uint32_t copyIndex);
  double byteTimeIfKept(ValueId value) const;
  std::string forcedBy(ValueId value) const;

  const Graph &graph;
  const Problem &problem;
  const Timetable &table, &saveAll;
  std::vector<Returns> returns;
};
} // namespace

void Explainer::countReturns() {
  for (const Action &action : table.plan.actions) {
    switch (action.kind) {
    case ActionKind::Run:
      for (ValueId value : graph.results(action.id))
        ++returns[value].runs;
      break;
    case ActionKind::Absorb:
      for (ValueId value : graph.results(action.id))
        ++returns[value].absorbed;
      break;
    case ActionKind::Offload:
      ++returns[action.id].offloads;
      break;
    case ActionKind::Reload:
      ++returns[action.id].reloads;
      break;
    case ActionKind::Pack:
      ++returns[action.id].packs;
      break;
    case ActionKind::Unpack:
      ++returns[action.id].unpacks;
      break;
    case ActionKind::Release:
      break;
    }
  }
}

bool Explainer::waits(const Copy &copy, ArrayRef<uint32_t> readers) const {
  uint32_t border = table.simulation.backwardBegin;
  uint32_t begin = copy.def == Copy::beforeStart ? 0 : copy.def;
  if (border < table.plan.actions.size())
    return begin < border && border <= copy.lastUse;
  return copy.lastUse - begin > readers.size();
}

/// What runs if `value` is recomputed right before `action`: its op, and
/// recursively those of operands that are not resident there.
std::optional<int64_t> Explainer::costToRecompute(ValueId value,
                                                  uint32_t action) {
  auto isResident = [&](ValueId operand) {
    return graph.isArgument(operand) ||
           any_of(table.copiesOf[operand], [&](uint32_t index) {
             const Copy &copy = table.simulation.copies[index];
             return copy.form == Copy::Form::Full && copy.def < action &&
                    action <= copy.lastUse;
           });
  };
  int64_t cost = 0;
  SmallVector<OpId> stack = {graph.producer(value)};
  DenseSet<OpId> seen = {stack.front()};
  while (!stack.empty()) {
    OpId op = stack.pop_back_val();
    if (graph.runsOnce(op))
      return std::nullopt;
    cost += problem.ops[op].cost;
    for (ValueId operand : graph.operands(op))
      if (!isResident(operand) && seen.insert(graph.producer(operand)).second)
        stack.push_back(graph.producer(operand));
  }
  return cost;
}

/// For the longest wait of the copy for a reader.
std::optional<int64_t> Explainer::costIfDropped(ValueId value,
                                                uint32_t copyIndex) {
  if (graph.isArgument(value))
    return std::nullopt;
  uint32_t last = table.simulation.copies[copyIndex].def, reader = last;
  int64_t longest = -1;
  for (uint32_t next : table.readersOf[copyIndex]) {
    int64_t wait = table.time(next) - table.time(last);
    if (wait > longest) {
      longest = wait;
      reader = next;
    }
    last = next;
  }
  if (longest < 0)
    return std::nullopt;
  return costToRecompute(value, reader);
}

/// Between the end of one copy and the start of the next, less what a packed
/// form takes there.
double Explainer::byteTimeIfKept(ValueId value) const {
  int64_t end = -1;
  double absent = 0, packed = 0;
  for (uint32_t index : table.copiesOf[value]) {
    const Copy &copy = table.simulation.copies[index];
    if (copy.form == Copy::Form::Packed) {
      packed += table.byteTime(copy);
      continue;
    }
    int64_t begin = copy.def == Copy::beforeStart ? 0 : table.time(copy.def);
    if (end >= 0 && begin > end)
      absent += double(begin - end);
    if (!table.plan.actions.empty())
      end = std::max(end, table.time(copy.lastUse + 1));
  }
  return std::max(0.0, absent * double(problem.values[value].bytes) - packed);
}

std::string Explainer::forcedBy(ValueId value) const {
  switch (Policy policy = graph.policy(value)) {
  case Policy::MustSave:
  case Policy::MustRecompute:
  case Policy::MustCpuOffload:
    return stringify(policy).str();
  default:
    break;
  }
  if (graph.isOutput(value))
    return "output";
  if (!graph.isArgument(value) && graph.runsOnce(graph.producer(value)) &&
      !graph.canOffload(value))
    return "runs once";
  return "";
}

ValueExplanation Explainer::explain(ValueId value) {
  const Returns &came = returns[value];
  ValueExplanation result;
  result.value = value;
  result.bytes = problem.values[value].bytes;
  result.recomputed = came.runs ? came.runs - 1 : 0;
  result.absorbed = came.absorbed;
  result.reloaded = came.reloads;
  result.unpacked = came.unpacks;
  for (uint32_t copy : table.copiesOf[value])
    result.byteTime += table.byteTime(table.simulation.copies[copy]);
  for (uint32_t copy : saveAll.copiesOf[value])
    result.saveAllByteTime += saveAll.byteTime(saveAll.simulation.copies[copy]);

  if (came.reloads)
    result.decision = Decision::Offloaded;
  else if (came.unpacks)
    result.decision = Decision::Packed;
  else if (result.recomputed)
    result.decision = Decision::Recomputed;
  else if (came.absorbed)
    result.decision = Decision::Absorbed;
  else if (!table.copiesOf[value].empty()) {
    uint32_t copy = table.copiesOf[value].front();
    if (waits(table.simulation.copies[copy], table.readersOf[copy]) ||
        graph.isOutput(value)) {
      result.decision = Decision::Saved;
      result.costIfDropped = costIfDropped(value, copy);
    }
  }

  if (!graph.isArgument(value)) {
    const Op &op = problem.ops[graph.producer(value)];
    result.cost = op.cost * result.recomputed +
                  op.absorbedCost.value_or(0) * result.absorbed;
  }
  if (came.packs || came.unpacks) {
    const PackedForm &packed = *problem.values[value].packed;
    result.cost +=
        packed.packCost * came.packs + packed.unpackCost * came.unpacks;
  }
  if (came.offloads || came.reloads)
    result.transferTime =
        problem.transferTime(problem.values[value].transferBytes) *
        (came.offloads + came.reloads);
  result.byteTimeIfKept = byteTimeIfKept(value);
  if (result.decision != Decision::ShortLived)
    result.forcedBy = forcedBy(value);
  return result;
}

//===----------------------------------------------------------------------===//
// All values
//===----------------------------------------------------------------------===//

Expected<Explanation> explain(const Problem &problem, const Plan &plan) {
  Problem unbounded = problem;
  unbounded.deviceBudget.reset();
  unbounded.regions.clear();
  Expected<Solution> reference = solve(unbounded, "save-all");
  if (!reference)
    return reference.takeError();
  Expected<Timetable> saveAll =
      makeTimetable(unbounded, std::move(reference->plan));
  if (!saveAll)
    return saveAll.takeError();
  Expected<Timetable> table = makeTimetable(unbounded, plan);
  if (!table)
    return table.takeError();

  Graph graph(unbounded);
  Explainer explainer(graph, *table, *saveAll);
  Explanation explanation;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (problem.values[value].viewOf != noValue)
      continue;
    ValueExplanation entry = explainer.explain(value);
    bool decided = entry.decision != Decision::ShortLived &&
                   entry.decision != Decision::Saved;
    if (entry.bytes || decided)
      explanation.values.push_back(std::move(entry));
  }
  llvm::sort(explanation.values,
             [](const ValueExplanation &a, const ValueExplanation &b) {
               return std::pair(-a.saveAllByteTime, a.value) <
                      std::pair(-b.saveAllByteTime, b.value);
             });
  return explanation;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

json::Object toJson(const ValueExplanation &entry) {
  return json::Object{{"decision", stringify(entry.decision)},
                      {"bytes", entry.bytes},
                      {"recomputed", entry.recomputed},
                      {"absorbed", entry.absorbed},
                      {"reloaded", entry.reloaded},
                      {"unpacked", entry.unpacked},
                      {"byte_time", entry.byteTime},
                      {"save_all_byte_time", entry.saveAllByteTime},
                      {"cost", entry.cost},
                      {"transfer_time", entry.transferTime},
                      {"cost_if_dropped", entry.costIfDropped},
                      {"byte_time_if_kept", entry.byteTimeIfKept},
                      {"forced_by", entry.forcedBy}};
}

json::Value toJson(const Problem &problem, const Explanation &explanation,
                   ArrayRef<int64_t> valueNodes) {
  json::Array values;
  for (const ValueExplanation &entry : explanation.values) {
    const Value &value = problem.values[entry.value];
    json::Object object = toJson(entry);
    object["id"] = valueNodes.empty() ? entry.value : valueNodes[entry.value];
    object["value"] = value.name;
    object["policy"] = stringify(value.policy);
    if (value.producer != noOp)
      object["op"] = problem.ops[value.producer].name;
    values.push_back(std::move(object));
  }
  return values;
}

/// " ns", or nothing if there is no unit.
static std::string separate(StringRef unit) {
  return unit.empty() ? "" : " " + unit.str();
}

/// The right column: why, or what else could have been.
static std::string describeChoice(const ValueExplanation &entry, StringRef unit,
                                  StringRef it = "it") {
  if (!entry.forcedBy.empty())
    return "forced: " + entry.forcedBy;
  switch (entry.decision) {
  case Decision::ShortLived:
    return "";
  case Decision::Saved:
    if (!entry.costIfDropped)
      return "cannot be recomputed";
    return formatv("recomputing {0} would cost {1}{2}", it,
                   *entry.costIfDropped, separate(unit));
  default:
    return formatv("keeping {0} would hold {1:e2} more {2}", it,
                   entry.byteTimeIfKept,
                   unit.empty() ? "byte-time" : "bytes x " + unit.str());
  }
}

/// "recomputed x2"; where kernels absorb it, too, "recomputed x2, absorbed".
static std::string describeDecision(const ValueExplanation &entry) {
  auto describe = [](Decision decision, unsigned times) {
    std::string text = stringify(decision).str();
    if (times > 1)
      text += " x" + std::to_string(times);
    return text;
  };
  unsigned others = entry.recomputed + entry.reloaded + entry.unpacked;
  if (entry.decision == Decision::Absorbed)
    return describe(entry.decision, others + entry.absorbed);
  std::string text = describe(entry.decision, others);
  if (entry.absorbed > 0)
    text += ", " + describe(Decision::Absorbed, entry.absorbed);
  return text;
}

std::string describe(const ValueExplanation &entry, StringRef unit) {
  std::string text = describeDecision(entry);
  raw_string_ostream os(text);
  os << ", " << entry.bytes << " bytes";
  if (entry.cost + entry.transferTime)
    os << ", at a cost of " << entry.cost + entry.transferTime
       << separate(unit);
  if (std::string choice = describeChoice(entry, unit); !choice.empty())
    os << "; " << choice;
  return text;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// A value, or the values of equal layers that the same was decided on.
struct Row {
  std::string name, decision;
  unsigned count = 0;
  /// What the values have together.
  ValueExplanation sum;

  std::string describeName() const;
};
} // namespace

std::string Row::describeName() const {
  std::string text = abbreviateName(name);
  return count > 1 ? text + " x" + std::to_string(count) : text;
}

/// Columns of a terminal; bytes of what is no UTF-8.
static size_t getColumns(StringRef text) {
  int columns = sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? text.size() : columns;
}

/// Costs are large numbers in artificial instances.
static int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum;
  return AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

static void add(ValueExplanation &sum, const ValueExplanation &entry) {
  sum.bytes += entry.bytes;
  sum.byteTime += entry.byteTime;
  sum.saveAllByteTime += entry.saveAllByteTime;
  sum.cost = addSaturating(sum.cost, entry.cost);
  sum.transferTime = addSaturating(sum.transferTime, entry.transferTime);
  sum.byteTimeIfKept += entry.byteTimeIfKept;
  if (entry.costIfDropped)
    sum.costIfDropped = addSaturating(*sum.costIfDropped, *entry.costIfDropped);
}

/// Rows in the order of the values' byte-time under save-all. With `byName`,
/// values of the same name are one row, whatever made them.
static std::vector<Row> makeRows(const Problem &problem,
                                 const Explanation &explanation, bool byName) {
  std::vector<Row> rows;
  // By the shared name, the bytes of one value, and what was decided and why.
  std::map<std::tuple<std::string, int64_t, std::string, std::string, bool>,
           size_t>
      known;
  for (const ValueExplanation &entry : explanation.values) {
    const std::string &name = problem.values[entry.value].name;
    std::string shared = foldName(name), decision = describeDecision(entry);
    // Nothing was decided on what is short-lived.
    if (byName || entry.decision == Decision::ShortLived)
      shared = dropNumber(shared).str();
    auto [found, isNew] =
        known.try_emplace({shared, entry.bytes, decision, entry.forcedBy,
                           entry.costIfDropped.has_value()},
                          rows.size());
    if (isNew) {
      rows.push_back({name, decision, 1, entry});
      continue;
    }
    Row &row = rows[found->second];
    ++row.count;
    row.name = shared;
    add(row.sum, entry);
  }
  llvm::stable_sort(rows, [](const Row &a, const Row &b) {
    return a.sum.saveAllByteTime > b.sum.saveAllByteTime;
  });
  return rows;
}

void print(const Problem &problem, const Explanation &explanation,
           raw_ostream &os, StringRef unit, size_t limit) {
  std::vector<Row> all = makeRows(problem, explanation, /*byName=*/false);
  if (all.size() > limit)
    all = makeRows(problem, explanation, /*byName=*/true);
  auto rows = ArrayRef(all).take_front(limit);
  size_t width = StringRef("value").size();
  for (const Row &row : rows)
    width = std::max(width, getColumns(row.describeName()));
  bool hasUnit = !unit.empty();
  os << formatv("{0} {1,-16} {2,14} {3,13} {4,13} {5,13}  choice\n",
                left_justify("value", width), "decision", "bytes",
                "bytes x " + (hasUnit ? unit.str() : "time"), "if all saved",
                hasUnit ? "cost, " + unit.str() : "cost");
  for (const Row &row : rows) {
    std::string name = row.describeName();
    os << name;
    os.indent(width - getColumns(name));
    os << formatv(" {0,-16} {1,14} {2,13:e2} {3,13:e2} {4,13}", row.decision,
                  row.sum.bytes, row.sum.byteTime, row.sum.saveAllByteTime,
                  addSaturating(row.sum.cost, row.sum.transferTime));
    std::string choice =
        describeChoice(row.sum, unit, row.count > 1 ? "them" : "it");
    os << (choice.empty() ? "" : "  ") << choice << '\n';
  }
  if (rows.size() < all.size())
    os << "and " << all.size() - rows.size() << " more\n";
}

} // namespace remat::planning
