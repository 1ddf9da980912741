//===- InstanceReader.cpp - planning instances from JSON ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an instance and builds its problem, its ops in the order of the nodes
// where the file gives no other.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Serialization.h"
#include "remat/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>

using namespace llvm;

namespace remat::planning {

namespace {
class InstanceReader {
public:
  Expected<Instance> read(StringRef text) {
    Expected<json::Value> parsed = parseJson(text);
    if (!parsed)
      return parsed.takeError();
    root = parsed->getAsObject();
    if (!root)
      return createStringError("instance: expected a JSON object");
    if (Error error = readAll())
      return std::move(error);
    return std::move(instance);
  }

private:
  Error readAll() {
    instance.problem.name = root->getString("name").value_or("").str();
    if (Error error = readNodes())
      return error;
    if (Error error = readEdges())
      return error;
    if (Error error = readLimits())
      return error;
    if (Error error = orderOps())
      return error;
    if (Error error = addValues())
      return error;
    if (Error error = addOperandsAndOutputs())
      return error;
    return addRegions();
  }

  Error integer(const json::Object &object, StringRef key, const Twine &where,
                int64_t &out) {
    const json::Value *value = object.get(key);
    if (!value)
      return Error::success();
    std::optional<int64_t> number = value->getAsInteger();
    if (!number)
      return createStringError(where + ": '" + key + "' is not an integer");
    out = *number;
    return Error::success();
  }
  Error boolean(const json::Object &object, StringRef key, const Twine &where,
                bool &out) {
    const json::Value *value = object.get(key);
    if (!value)
      return Error::success();
    std::optional<bool> flag = value->getAsBoolean();
    if (!flag)
      return createStringError(where + ": '" + key + "' is not true or false");
    out = *flag;
    return Error::success();
  }

  /// The index of a node by its id.
  Expected<size_t> lookup(const json::Value &id, const Twine &where) {
    std::optional<int64_t> number = id.getAsInteger();
    if (!number)
      return createStringError(where + ": a node id is not an integer");
    auto it = index.find(*number);
    if (it == index.end())
      return createStringError(where + ": there is no node " + Twine(*number));
    return it->second;
  }
  Error readIds(StringRef key, std::vector<size_t> &out) {
    const json::Value *value = root->get(key);
    if (!value)
      return Error::success();
    const json::Array *array = value->getAsArray();
    if (!array)
      return createStringError("'" + key + "' is not an array");
    for (const json::Value &id : *array) {
      Expected<size_t> node = lookup(id, "'" + key + "'");
      if (!node)
        return node.takeError();
      out.push_back(*node);
    }
    return Error::success();
  }

  struct Node {
    int64_t id = -1;
    std::string name;
    int64_t cost = 0, size = 0, workspace = 0, hostWorkspace = 0, transfer = 0;
    bool backward = false, recomputable = true, offloadable = true;
    bool noResult = false, isArgument = false, hasTransfer = false;
    std::optional<int64_t> absorbedCost;
    std::optional<PackedForm> packed;
    Policy policy = Policy::None;
    int64_t resultOf = -1, viewOf = -1;
    std::vector<size_t> operands;
    std::vector<int64_t> absorbers;
    OpId op = noOp;
    ValueId value = noValue;

    bool isOp() const { return resultOf < 0 && viewOf < 0 && !isArgument; }
  };

  Error readNodes() {
    const json::Array *array = root->getArray("nodes");
    if (!array)
      return createStringError("instance: expected an array 'nodes'");
    for (auto [i, value] : enumerate(*array)) {
      const json::Object *object = value.getAsObject();
      if (!object)
        return createStringError("node " + Twine(i) + ": expected an object");
      Node node;
      if (Error error = readNode(*object, "node " + Twine(i), node))
        return error;
      if (!index.try_emplace(node.id, nodes.size()).second)
        return createStringError("node " + Twine(i) + ": id " + Twine(node.id) +
                                 " is taken");
      nodes.push_back(std::move(node));
    }
    std::vector<size_t> inputs;
    if (Error error = readIds("inputs", inputs))
      return error;
    for (size_t input : inputs)
      nodes[input].isArgument = true;
    for (const Node &node : nodes)
      if (Error error = checkNode(node))
        return error;
    return Error::success();
  }

  /// A node is of one kind.
  static Error checkNode(const Node &node) {
    if (int(node.isArgument) + int(node.resultOf >= 0) + int(node.viewOf >= 0) +
            int(node.noResult) <=
        1)
      return Error::success();
    return createStringError(
        "node " + Twine(node.id) +
        (node.isArgument ? " is in 'inputs' and has 'result_of', 'view_of' or "
                           "'no_result', expected one of them"
                         : " has more than one of 'result_of', 'view_of' and "
                           "'no_result'"));
  }

  Error readNode(const json::Object &object, const Twine &where, Node &node) {
    if (!object.get("id"))
      return createStringError(where + ": expected an 'id'");
    for (StringRef key : {"name", "policy"})
      if (object.get(key) && !object.getString(key))
        return createStringError(where + ": '" + key + "' is not a string");
    std::pair<StringRef, int64_t *> integers[] = {
        {"id", &node.id},
        {"cost", &node.cost},
        {"size", &node.size},
        {"workspace", &node.workspace},
        {"host_workspace", &node.hostWorkspace},
        {"transfer", &node.transfer},
        {"result_of", &node.resultOf},
        {"view_of", &node.viewOf}};
    for (auto [key, out] : integers)
      if (Error error = integer(object, key, where, *out))
        return error;
    std::pair<StringRef, bool *> booleans[] = {
        {"backward", &node.backward},
        {"recomputable", &node.recomputable},
        {"offloadable", &node.offloadable},
        {"no_result", &node.noResult}};
    for (auto [key, out] : booleans)
      if (Error error = boolean(object, key, where, *out))
        return error;
    for (StringRef key : {"id", "result_of", "view_of"})
      if (object.get(key) && *object.getInteger(key) < 0)
        return createStringError(where + ": '" + key + "' is negative");
    node.hasTransfer = object.get("transfer");
    node.name = object.getString("name").value_or("").str();
    if (node.name.empty())
      node.name = std::to_string(node.id);
    if (std::optional<StringRef> text = object.getString("policy")) {
      std::optional<Policy> policy = parsePolicy(*text);
      if (!policy)
        return createStringError(where + ": unknown policy '" + *text + "'");
      node.policy = *policy;
    }
    if (object.get("absorbed_cost"))
      if (Error error = integer(object, "absorbed_cost", where,
                                node.absorbedCost.emplace()))
        return error;
    if (Error error = readAbsorbers(object, where, node.absorbers))
      return error;
    if (object.get("packed"))
      return readPackedForm(object, where, node.packed.emplace());
    return Error::success();
  }

  /// The nodes themselves may not be there yet.
  Error readAbsorbers(const json::Object &object, const Twine &where,
                      std::vector<int64_t> &absorbers) {
    const json::Value *value = object.get("absorbers");
    if (!value)
      return Error::success();
    const json::Array *array = value->getAsArray();
    if (!array || array->empty())
      return createStringError(where +
                               ": 'absorbers' is not an array of node ids");
    for (const json::Value &id : *array) {
      std::optional<int64_t> number = id.getAsInteger();
      if (!number)
        return createStringError(where +
                                 ": 'absorbers' is not an array of node ids");
      absorbers.push_back(*number);
    }
    return Error::success();
  }

  Error readPackedForm(const json::Object &object, const Twine &where,
                       PackedForm &packed) {
    const json::Object *form = object.getObject("packed");
    if (!form || !form->get("bytes"))
      return createStringError(where + ": expected 'packed' to be {\"bytes\", "
                                       "\"pack_cost\"?, \"unpack_cost\"?, "
                                       "\"lossy\"?}");
    std::pair<StringRef, int64_t *> integers[] = {
        {"bytes", &packed.bytes},
        {"pack_cost", &packed.packCost},
        {"unpack_cost", &packed.unpackCost}};
    for (auto [key, out] : integers)
      if (Error error = integer(*form, key, where + ": 'packed'", *out))
        return error;
    return boolean(*form, "lossy", where + ": 'packed'", packed.lossy);
  }

  Error readEdges() {
    const json::Array *array = root->getArray("edges");
    if (!array)
      return createStringError("instance: expected an array 'edges'");
    for (auto [i, value] : enumerate(*array)) {
      const json::Array *edge = value.getAsArray();
      if (!edge || edge->size() != 2)
        return createStringError("edge " + Twine(i) +
                                 ": expected [producer, consumer]");
      Expected<size_t> from = lookup((*edge)[0], "edge " + Twine(i));
      if (!from)
        return from.takeError();
      Expected<size_t> to = lookup((*edge)[1], "edge " + Twine(i));
      if (!to)
        return to.takeError();
      if (!nodes[*to].isOp())
        return createStringError("edge " + Twine(i) + ": node " +
                                 Twine(nodes[*to].id) +
                                 " is not an op and reads nothing");
      if (nodes[*from].noResult)
        return createStringError("edge " + Twine(i) + ": node " +
                                 Twine(nodes[*from].id) +
                                 " has no result to read");
      nodes[*to].operands.push_back(*from);
    }
    return Error::success();
  }

  /// What is published gives the peak that its budgets are parts of.
  Error readBudgetCounts() {
    const json::Object *stats = root->getObject("stats");
    if (stats && stats->get("no_remat_peak"))
      instance.budgetCounts = BudgetCounts::Peak;
    const json::Value *value = root->get("budget_counts");
    if (!value)
      return Error::success();
    std::optional<BudgetCounts> counts =
        parseBudgetCounts(value->getAsString().value_or(""));
    if (!counts)
      return createStringError(
          "instance: expected 'budget_counts' to be \"arena\" or "
          "\"peak\"");
    instance.budgetCounts = *counts;
    return Error::success();
  }

  Error readLimits() {
    Problem &problem = instance.problem;
    if (Error error = readBudgetCounts())
      return error;
    std::pair<StringRef, std::optional<int64_t> *> budgets[] = {
        {"budget", &problem.deviceBudget},
        {"host_budget", &problem.hostBudget}};
    for (auto [key, out] : budgets) {
      int64_t value = 0;
      if (Error error = integer(*root, key, "instance", value))
        return error;
      if (root->get(key))
        *out = value;
    }
    if (Error error =
            boolean(*root, "free_order", "instance", problem.freeOrder))
      return error;
    if (Error error =
            boolean(*root, "link_duplex", "instance", problem.duplexLink))
      return error;
    return integer(*root, "link_bytes_per_second", "instance",
                   problem.linkBytesPerSecond);
  }

  /// Creates the ops in the order of the file.
  Error orderOps() {
    std::vector<size_t> order;
    if (root->get("order")) {
      if (Error error = readIds("order", order))
        return error;
    } else {
      for (size_t i = 0; i < nodes.size(); ++i)
        order.push_back(i);
    }
    for (size_t i : order) {
      Node &node = nodes[i];
      if (!node.isOp())
        continue;
      if (node.op != noOp)
        return createStringError("'order' names node " + Twine(node.id) +
                                 " twice");
      node.op = instance.problem.addOp(node.name, node.cost, {}, node.backward);
      Op &op = instance.problem.ops.back();
      op.workspace = node.workspace;
      op.hostWorkspace = node.hostWorkspace;
      op.recomputable = node.recomputable;
      op.absorbedCost = node.absorbedCost;
      instance.opNodes.push_back(node.id);
    }
    for (const Node &node : nodes)
      if (node.isOp() && node.op == noOp)
        return createStringError("'order' leaves out node " + Twine(node.id));
    return Error::success();
  }

  Error addValues() {
    Problem &problem = instance.problem;
    for (Node &node : nodes) {
      if (node.absorbedCost && !node.isOp())
        return createStringError("node " + Twine(node.id) +
                                 ": has an 'absorbed_cost' and is no op");
      if (node.packed && node.noResult)
        return createStringError("node " + Twine(node.id) +
                                 ": has a 'packed' form and no result");
      if (node.noResult)
        continue;
      if (node.isArgument) {
        node.value = problem.addArgument(node.name, node.size);
      } else if (node.viewOf >= 0) {
        Expected<size_t> of = lookup(node.viewOf, "'view_of'");
        if (!of)
          return of.takeError();
        if (nodes[*of].value == noValue)
          return createStringError(
              "node " + Twine(node.id) + ": 'view_of' names node " +
              Twine(node.viewOf) + ", which is no value before it");
        node.value = problem.addView(nodes[*of].value, node.name);
      } else {
        OpId op = node.op;
        if (node.resultOf >= 0) {
          Expected<size_t> of = lookup(node.resultOf, "'result_of'");
          if (!of)
            return of.takeError();
          op = nodes[*of].op;
          if (op == noOp)
            return createStringError(
                "node " + Twine(node.id) + ": 'result_of' names node " +
                Twine(node.resultOf) + ", which is not an op");
        }
        node.value = problem.addResult(op, node.name, node.size);
        problem.values.back().recomputable = node.recomputable;
        problem.values.back().offloadable = node.offloadable;
      }
      problem.values.back().policy = node.policy;
      problem.values.back().packed = node.packed;
      if (node.hasTransfer)
        problem.values.back().transferBytes = node.transfer;
      instance.valueNodes.push_back(node.id);
    }
    return Error::success();
  }

  Error addOperandsAndOutputs() {
    for (const Node &node : nodes)
      for (size_t operand : node.operands)
        instance.problem.ops[node.op].operands.push_back(nodes[operand].value);
    for (const Node &node : nodes)
      if (Error error = addAbsorbers(node))
        return error;
    if (!root->getArray("outputs"))
      return createStringError("instance: expected an array 'outputs'");
    std::vector<size_t> outputs;
    if (Error error = readIds("outputs", outputs))
      return error;
    for (size_t output : outputs) {
      if (nodes[output].value == noValue)
        return createStringError("'outputs': node " + Twine(nodes[output].id) +
                                 " has no result");
      instance.problem.values[nodes[output].value].isOutput = true;
    }
    return Error::success();
  }

  Error addAbsorbers(const Node &node) {
    for (int64_t id : node.absorbers) {
      Expected<size_t> reader = lookup(id, "'absorbers'");
      if (!reader)
        return reader.takeError();
      if (!node.isOp() || !nodes[*reader].isOp())
        return createStringError("node " + Twine(node.id) +
                                 ": 'absorbers' names node " + Twine(id) +
                                 ", expected an op at an op");
      instance.problem.ops[node.op].absorbers.push_back(nodes[*reader].op);
    }
    if (node.isOp())
      llvm::sort(instance.problem.ops[node.op].absorbers);
    return Error::success();
  }

  Error addRegions() {
    const json::Value *value = root->get("region_budgets");
    if (!value)
      return Error::success();
    const json::Array *array = value->getAsArray();
    if (!array)
      return createStringError("'region_budgets' is not an array");
    for (auto [i, entry] : enumerate(*array)) {
      std::string where = ("region budget " + Twine(i)).str();
      const json::Object *object = entry.getAsObject();
      if (!object || !object->getString("name") || !object->get("bytes") ||
          !object->getArray("nodes"))
        return createStringError(where +
                                 ": expected {\"name\", \"bytes\", \"nodes\"}");
      Region region;
      region.name = object->getString("name")->str();
      if (Error error = integer(*object, "bytes", where, region.budget))
        return error;
      for (const json::Value &id : *object->getArray("nodes")) {
        Expected<size_t> node = lookup(id, where);
        if (!node)
          return node.takeError();
        if (nodes[*node].value == noValue)
          return createStringError(where + ": node " + Twine(nodes[*node].id) +
                                   " has no result");
        region.values.push_back(nodes[*node].value);
      }
      instance.problem.regions.push_back(std::move(region));
    }
    return Error::success();
  }

  const json::Object *root = nullptr;
  Instance instance;
  std::vector<Node> nodes;
  std::map<int64_t, size_t> index;
};
} // namespace

Expected<Instance> parseInstance(StringRef text) {
  return InstanceReader().read(text);
}

} // namespace remat::planning
