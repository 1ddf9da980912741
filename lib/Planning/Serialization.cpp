//===- Serialization.cpp - problems and plans as JSON ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writing of instances, reading and writing of schedules.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Serialization.h"
#include "remat/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>

using namespace llvm;

namespace remat::planning {

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

StringRef stringify(BudgetCounts counts) {
  return counts == BudgetCounts::Arena ? "arena" : "peak";
}

std::optional<BudgetCounts> parseBudgetCounts(StringRef text) {
  for (BudgetCounts counts : {BudgetCounts::Arena, BudgetCounts::Peak})
    if (text == stringify(counts))
      return counts;
  return std::nullopt;
}

/// The node that has the fields of each op: there is one for each value, so
/// that of its first result. Ops without a result have nodes behind all values.
static std::vector<int64_t> numberOps(const Problem &problem) {
  std::vector<int64_t> nodeOf;
  int64_t nextId = problem.values.size();
  for (const Op &op : problem.ops)
    nodeOf.push_back(op.results.empty() ? nextId++ : op.results.front());
  return nodeOf;
}

static void addFields(const Op &op, ArrayRef<int64_t> nodeOf,
                      json::Object &node) {
  node["cost"] = op.cost;
  node["backward"] = op.backward;
  if (op.workspace)
    node["workspace"] = op.workspace;
  if (op.hostWorkspace)
    node["host_workspace"] = op.hostWorkspace;
  if (!op.recomputable)
    node["recomputable"] = false;
  if (op.absorbedCost)
    node["absorbed_cost"] = *op.absorbedCost;
  if (!op.absorbers.empty())
    node["absorbers"] = json::Array(map_range(op.absorbers, [&](OpId reader) {
      return json::Value(nodeOf[reader]);
    }));
}

static void addFields(const PackedForm &packed, json::Object &node) {
  json::Object form{{"bytes", packed.bytes},
                    {"pack_cost", packed.packCost},
                    {"unpack_cost", packed.unpackCost}};
  if (packed.lossy)
    form["lossy"] = true;
  node["packed"] = std::move(form);
}

/// Adds what a problem says beside its graph.
static void addFields(const Problem &problem, BudgetCounts counts,
                      json::Object &object) {
  if (problem.freeOrder)
    object["free_order"] = true;
  if (problem.deviceBudget)
    object["budget"] = *problem.deviceBudget;
  if (counts != BudgetCounts::Arena)
    object["budget_counts"] = stringify(counts);
  if (problem.hostBudget)
    object["host_budget"] = *problem.hostBudget;
  json::Array regions;
  for (const Region &region : problem.regions)
    regions.push_back(json::Object{
        {"name", region.name},
        {"bytes", region.budget},
        {"nodes", json::Array(map_range(region.values, [](ValueId id) {
           return int64_t(id);
         }))}});
  if (!regions.empty())
    object["region_budgets"] = std::move(regions);
  if (problem.linkBytesPerSecond)
    object["link_bytes_per_second"] = problem.linkBytesPerSecond;
  if (problem.duplexLink)
    object["link_duplex"] = true;
}

json::Value toJson(const Problem &problem, BudgetCounts counts) {
  json::Array nodes, edges, outputs, inputs, order;
  std::vector<int64_t> nodeOf = numberOps(problem);
  for (auto [id, value] : enumerate(problem.values)) {
    json::Object node{
        {"id", int64_t(id)}, {"name", value.name}, {"size", value.bytes}};
    if (value.isArgument)
      inputs.push_back(int64_t(id));
    if (value.viewOf != noValue)
      node["view_of"] = int64_t(value.viewOf);
    if (value.producer != noOp) {
      const Op &op = problem.ops[value.producer];
      if (op.results.front() == id)
        addFields(op, nodeOf, node);
      else
        node["result_of"] = int64_t(op.results.front());
      if (!value.recomputable)
        node["recomputable"] = false;
      if (!value.offloadable)
        node["offloadable"] = false;
    }
    if (value.transferBytes != value.bytes)
      node["transfer"] = value.transferBytes;
    if (value.packed)
      addFields(*value.packed, node);
    if (value.policy != Policy::None)
      node["policy"] = stringify(value.policy);
    if (value.isOutput)
      outputs.push_back(int64_t(id));
    nodes.push_back(std::move(node));
  }
  for (auto [number, op] : enumerate(problem.ops)) {
    int64_t id = nodeOf[number];
    if (op.results.empty()) {
      json::Object node{{"id", id}, {"name", op.name}, {"no_result", true}};
      addFields(op, nodeOf, node);
      nodes.push_back(std::move(node));
    }
    order.push_back(id);
    for (ValueId operand : op.operands)
      edges.push_back(json::Array{int64_t(operand), id});
  }
  json::Object object{{"name", problem.name},
                      {"nodes", std::move(nodes)},
                      {"edges", std::move(edges)},
                      {"outputs", std::move(outputs)},
                      {"order", std::move(order)}};
  if (!inputs.empty())
    object["inputs"] = std::move(inputs);
  addFields(problem, counts, object);
  return object;
}

Instance makeInstance(Problem problem) {
  Instance instance;
  instance.opNodes = numberOps(problem);
  for (size_t id = 0; id < problem.values.size(); ++id)
    instance.valueNodes.push_back(id);
  instance.problem = std::move(problem);
  return instance;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What a schedule calls an action other than a run.
static constexpr std::pair<ActionKind, StringLiteral> actionNames[] = {
    {ActionKind::Offload, "offload"}, {ActionKind::Reload, "reload"},
    {ActionKind::Pack, "pack"},       {ActionKind::Unpack, "unpack"},
    {ActionKind::Absorb, "absorb"},   {ActionKind::Release, "release"}};

json::Value toJson(const Instance &instance, const Plan &plan) {
  json::Array sequence;
  for (const Action &action : plan.actions) {
    const std::vector<int64_t> &nodes =
        actsOnOp(action.kind) ? instance.opNodes : instance.valueNodes;
    if (action.kind == ActionKind::Run)
      sequence.push_back(nodes[action.id]);
    for (auto [kind, name] : actionNames)
      if (kind == action.kind)
        sequence.push_back(json::Object{{name, nodes[action.id]}});
  }
  return json::Object{{"sequence", std::move(sequence)}};
}

/// Reads one step: a kind and a node id.
static Expected<std::pair<ActionKind, int64_t>>
readStep(const json::Value &entry, const Twine &where) {
  if (std::optional<int64_t> node = entry.getAsInteger())
    return std::pair(ActionKind::Run, *node);
  const json::Object *object = entry.getAsObject();
  if (object && object->size() == 1)
    for (auto [kind, name] : actionNames)
      if (std::optional<int64_t> node = object->getInteger(name))
        return std::pair(kind, *node);
  std::string choices;
  for (auto [kind, name] : actionNames)
    choices += (", {\"" + name + "\": id}").str();
  return createStringError(where + ": expected one of: a node id" + choices);
}

Expected<Plan> parsePlan(const Instance &instance, StringRef text) {
  Expected<json::Value> parsed = parseJson(text);
  if (!parsed)
    return parsed.takeError();
  const json::Object *root = parsed->getAsObject();
  const json::Array *sequence = root ? root->getArray("sequence") : nullptr;
  if (!sequence)
    return createStringError(
        "schedule: expected an object with an array 'sequence'");
  std::map<int64_t, uint32_t> ops, values;
  for (auto [i, node] : enumerate(instance.opNodes))
    ops[node] = i;
  for (auto [i, node] : enumerate(instance.valueNodes))
    values[node] = i;

  Plan plan;
  for (auto [i, entry] : enumerate(*sequence)) {
    auto step = readStep(entry, "step " + Twine(i));
    if (!step)
      return step.takeError();
    auto [kind, node] = *step;
    const auto &ids = actsOnOp(kind) ? ops : values;
    auto it = ids.find(node);
    if (it == ids.end())
      return createStringError("step " + Twine(i) + ": there is no " +
                               (actsOnOp(kind) ? "op" : "value") + " node " +
                               Twine(node));
    plan.actions.push_back({kind, it->second});
  }
  return plan;
}

} // namespace remat::planning
