//===- FastMemoryJson.cpp - the contest's files ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/FastMemory.h"
#include "remat/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
namespace fastmemory = remat::planning::fastmemory;
using namespace remat::planning::fastmemory;

/// What dimensions and costs may be: products of three fit into 64 bits, and
/// are exact in double precision where it matters.
static constexpr int64_t maxNumber = int64_t(1) << 20;
static constexpr int64_t maxTotal = int64_t(1) << 52;

namespace {
/// Reads fields of one object.
class Fields {
public:
  static Expected<Fields> create(const json::Value &value) {
    const json::Object *object = value.getAsObject();
    if (!object)
      return createStringError("expected a JSON object");
    return Fields(*object);
  }

  bool has(StringRef key) const { return object->get(key) != nullptr; }

  Expected<const json::Array *> readList(StringRef key) const {
    const json::Array *list = object->getArray(key);
    if (!list)
      return createStringError("'" + key + "' has to be a list");
    return list;
  }

  /// A list of as many as another one has.
  Expected<const json::Array *> readList(StringRef key, StringRef other,
                                         size_t size) const {
    Expected<const json::Array *> list = readList(key);
    if (list && (*list)->size() != size)
      return createStringError("'" + key + "' has " + Twine((*list)->size()) +
                               " entries, and '" + other + "' " + Twine(size));
    return list;
  }

  Expected<int64_t> readInteger(StringRef key, int64_t least,
                                int64_t most) const {
    const json::Value *value = object->get(key);
    if (!value)
      return createStringError("'" + key + "' is missing");
    return toInteger(*value, "'" + key + "'", least, most);
  }

  static Expected<int64_t> toInteger(const json::Value &value,
                                     const Twine &where, int64_t least,
                                     int64_t most) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number || *number < least || *number > most)
      return createStringError(where + " has to be an integer from " +
                               Twine(least) + " to " + Twine(most));
    return *number;
  }

  static Expected<std::vector<int64_t>> toIntegers(const json::Value &value,
                                                   const Twine &where,
                                                   int64_t least,
                                                   int64_t most) {
    const json::Array *list = value.getAsArray();
    if (!list)
      return createStringError(where + " has to be a list of integers");
    std::vector<int64_t> numbers;
    for (auto [i, element] : enumerate(*list)) {
      Expected<int64_t> number =
          toInteger(element, where + "[" + Twine(i) + "]", least, most);
      if (!number)
        return number.takeError();
      numbers.push_back(*number);
    }
    return numbers;
  }

private:
  explicit Fields(const json::Object &object) : object(&object) {}

  const json::Object *object;
};

class ProblemReader {
public:
  explicit ProblemReader(const Fields &fields) : fields(fields) {}

  Expected<Problem> read() {
    if (Error error = readTensors())
      return std::move(error);
    if (Error error = readOps())
      return std::move(error);
    if (Error error = readMachine())
      return std::move(error);
    if (Error error = connect())
      return std::move(error);
    if (Error error = checkAcyclic())
      return std::move(error);
    return std::move(problem);
  }

private:
  Error readTensors() {
    Expected<const json::Array *> widths = fields.readList("widths");
    if (!widths)
      return widths.takeError();
    Expected<const json::Array *> heights =
        fields.readList("heights", "widths", (*widths)->size());
    if (!heights)
      return heights.takeError();
    for (size_t i = 0; i < (*widths)->size(); ++i) {
      Expected<int64_t> width = Fields::toInteger(
          (**widths)[i], "'widths'[" + Twine(i) + "]", 1, maxNumber);
      if (!width)
        return width.takeError();
      Expected<int64_t> height = Fields::toInteger(
          (**heights)[i], "'heights'[" + Twine(i) + "]", 1, maxNumber);
      if (!height)
        return height.takeError();
      problem.tensors.push_back({*width, *height});
    }
    return Error::success();
  }

  Error readOps() {
    Expected<const json::Array *> inputs = fields.readList("inputs");
    if (!inputs)
      return inputs.takeError();
    size_t count = (*inputs)->size();
    if (count == 0)
      return createStringError("'inputs' is empty: there are no operations");
    Expected<const json::Array *> outputs =
        fields.readList("outputs", "inputs", count);
    if (!outputs)
      return outputs.takeError();
    Expected<const json::Array *> costs =
        fields.readList("base_costs", "inputs", count);
    if (!costs)
      return costs.takeError();
    Expected<const json::Array *> types =
        fields.readList("op_types", "inputs", count);
    if (!types)
      return types.takeError();
    for (size_t i = 0; i < count; ++i) {
      Op op;
      std::optional<StringRef> type = (**types)[i].getAsString();
      if (type != "MatMul" && type != "Pointwise")
        return createStringError("'op_types'[" + Twine(i) +
                                 "] has to be \"MatMul\" or \"Pointwise\"");
      op.isProduct = type == "MatMul";
      Expected<int64_t> cost = Fields::toInteger(
          (**costs)[i], "'base_costs'[" + Twine(i) + "]", 0, maxTotal);
      if (!cost)
        return cost.takeError();
      op.cost = *cost;
      if (Error error = readTensorList((**inputs)[i], "inputs", i, op.inputs))
        return error;
      if (Error error =
              readTensorList((**outputs)[i], "outputs", i, op.outputs))
        return error;
      if (Error error = checkShapes(op, i))
        return error;
      problem.ops.push_back(std::move(op));
    }
    return Error::success();
  }

  Error readTensorList(const json::Value &value, StringRef key, size_t index,
                       std::vector<int> &tensors) const {
    Expected<std::vector<int64_t>> list =
        Fields::toIntegers(value, "'" + key + "'[" + Twine(index) + "]", 0,
                           static_cast<int64_t>(problem.tensors.size()) - 1);
    if (!list)
      return list.takeError();
    if (list->empty())
      return createStringError("'" + key + "'[" + Twine(index) + "] is empty");
    tensors.assign(list->begin(), list->end());
    return Error::success();
  }

  Error checkShapes(const Op &op, size_t index) const {
    auto describe = [&](int tensor) {
      const Tensor &shape = problem.tensors[tensor];
      return ("tensor " + Twine(tensor) + " of " + Twine(shape.height) +
              " rows and " + Twine(shape.width) + " columns")
          .str();
    };
    const Tensor &result = problem.tensors[op.outputs.front()];
    if (!op.isProduct) {
      for (ArrayRef<int> tensors : {ArrayRef(op.inputs), ArrayRef(op.outputs)})
        for (int tensor : tensors)
          if (problem.tensors[tensor].width != result.width ||
              problem.tensors[tensor].height != result.height)
            return createStringError(
                "operation " + Twine(index) +
                " is pointwise, on different shapes: " + describe(tensor) +
                " and " + describe(op.outputs.front()));
      return Error::success();
    }
    if (op.inputs.size() != 2 || op.outputs.size() != 1)
      return createStringError(
          "operation " + Twine(index) +
          " is a product, and has no two operands and one result");
    const Tensor &left = problem.tensors[op.inputs[0]];
    const Tensor &right = problem.tensors[op.inputs[1]];
    if (left.width != right.height || left.height != result.height ||
        right.width != result.width)
      return createStringError("operation " + Twine(index) +
                               " is no product of " + describe(op.inputs[0]) +
                               " and " + describe(op.inputs[1]) + " that is " +
                               describe(op.outputs.front()));
    return Error::success();
  }

  Error readMachine() {
    if (Error error = fields.readInteger("fast_memory_capacity", 1, maxTotal)
                          .moveInto(problem.capacity))
      return error;
    if (Error error = fields.readInteger("slow_memory_bandwidth", 1, maxTotal)
                          .moveInto(problem.bandwidth))
      return error;
    Expected<const json::Array *> native =
        fields.readList("native_granularity");
    if (!native)
      return native.takeError();
    Expected<std::vector<int64_t>> numbers =
        Fields::toIntegers(json::Value(json::Array(**native)),
                           "'native_granularity'", 1, maxNumber);
    if (!numbers)
      return numbers.takeError();
    if (numbers->size() != 2)
      return createStringError(
          "'native_granularity' has to be a width and a height");
    problem.nativeWidth = (*numbers)[0];
    problem.nativeHeight = (*numbers)[1];
    return Error::success();
  }

  Error connect() {
    problem.producers.assign(problem.tensors.size(), -1);
    problem.consumers.resize(problem.tensors.size());
    for (auto [i, op] : enumerate(problem.ops)) {
      int index = static_cast<int>(i);
      for (int output : op.outputs) {
        if (problem.producers[output] >= 0)
          return createStringError(
              "tensor " + Twine(output) + " is made by operation " +
              Twine(problem.producers[output]) + " and by " + Twine(index));
        problem.producers[output] = index;
      }
      for (int input : op.inputs)
        if (!is_contained(problem.consumers[input], index))
          problem.consumers[input].push_back(index);
    }
    return Error::success();
  }

  Error checkAcyclic() const {
    std::vector<size_t> missing(problem.ops.size());
    std::vector<int> ready;
    for (auto [i, op] : enumerate(problem.ops)) {
      std::vector<int> made;
      for (int input : op.inputs)
        if (!problem.isInput(input) && !is_contained(made, input))
          made.push_back(input);
      missing[i] = made.size();
      if (made.empty())
        ready.push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < ready.size(); ++i)
      for (int output : problem.ops[ready[i]].outputs)
        for (int consumer : problem.consumers[output])
          if (--missing[consumer] == 0)
            ready.push_back(consumer);
    for (size_t i = 0; i < missing.size(); ++i)
      if (missing[i] > 0)
        return createStringError(
            "operation " + Twine(i) +
            " is in a cycle, or behind one: its operands need its "
            "results");
    return Error::success();
  }

  const Fields &fields;
  Problem problem;
};
} // namespace

bool fastmemory::isProblem(StringRef text) {
  // Large instances are not parsed twice.
  if (!text.contains("\"op_types\""))
    return false;
  Expected<json::Value> value = parseJson(text);
  if (!value) {
    consumeError(value.takeError());
    return false;
  }
  const json::Object *object = value->getAsObject();
  return object && object->get("op_types") && !object->get("nodes");
}

Expected<Problem> fastmemory::parseProblem(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  Expected<Fields> fields = Fields::create(*value);
  if (!fields)
    return fields.takeError();
  return ProblemReader(*fields).read();
}

static Expected<Granularity> readGranularity(const json::Value &value,
                                             const Twine &where) {
  Expected<std::vector<int64_t>> numbers =
      Fields::toIntegers(value, where, 1, maxNumber);
  if (!numbers)
    return numbers.takeError();
  if (numbers->size() != 3)
    return createStringError(where +
                             " has to be a width, a height and a depth");
  return Granularity{(*numbers)[0], (*numbers)[1], (*numbers)[2]};
}

Expected<Schedule> fastmemory::parseSchedule(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  Expected<Fields> fields = Fields::create(*value);
  if (!fields)
    return fields.takeError();
  Expected<const json::Array *> ops = fields->readList("subgraphs");
  if (!ops)
    return ops.takeError();
  size_t count = (*ops)->size();
  auto readList = [&](StringRef key) {
    return fields->readList(key, "subgraphs", count);
  };
  Expected<const json::Array *> granularities = readList("granularities");
  if (!granularities)
    return granularities.takeError();
  Expected<const json::Array *> retained = readList("tensors_to_retain");
  if (!retained)
    return retained.takeError();
  // The orders may be missing.
  const json::Array *orders = nullptr;
  if (fields->has("traversal_orders"))
    if (Error error = readList("traversal_orders").moveInto(orders))
      return std::move(error);
  Expected<const json::Array *> latencies = readList("subgraph_latencies");
  if (!latencies)
    return latencies.takeError();
  Schedule schedule;
  for (size_t i = 0; i < count; ++i) {
    Group group;
    auto readNumbers = [&](const json::Value &list, StringRef key,
                           auto &numbers) -> Error {
      Expected<std::vector<int64_t>> read = Fields::toIntegers(
          list, "'" + key + "'[" + Twine(i) + "]", 0, INT32_MAX);
      if (!read)
        return read.takeError();
      numbers.assign(read->begin(), read->end());
      return Error::success();
    };
    if (Error error = readNumbers((**ops)[i], "subgraphs", group.ops))
      return std::move(error);
    if (Error error =
            readNumbers((**retained)[i], "tensors_to_retain", group.retained))
      return std::move(error);
    if (orders && !(*orders)[i].getAsNull())
      if (Error error =
              readNumbers((*orders)[i], "traversal_orders", group.order))
        return std::move(error);
    if (Error error = readGranularity((**granularities)[i],
                                      "'granularities'[" + Twine(i) + "]")
                          .moveInto(group.granularity))
      return std::move(error);
    std::optional<double> latency = (**latencies)[i].getAsNumber();
    if (!latency)
      return createStringError("'subgraph_latencies'[" + Twine(i) +
                               "] is no number");
    group.latency = *latency;
    schedule.groups.push_back(std::move(group));
  }
  return schedule;
}

json::Value fastmemory::toJson(const Schedule &schedule) {
  json::Array ops, granularities, retained, orders, latencies;
  for (const Group &group : schedule.groups) {
    ops.push_back(json::Array(group.ops));
    granularities.push_back(json::Array{group.granularity.width,
                                        group.granularity.height,
                                        group.granularity.depth});
    retained.push_back(json::Array(group.retained));
    orders.push_back(group.order.empty()
                         ? json::Value(nullptr)
                         : json::Value(json::Array(group.order)));
    latencies.push_back(group.latency);
  }
  return json::Object{{"subgraphs", std::move(ops)},
                      {"granularities", std::move(granularities)},
                      {"tensors_to_retain", std::move(retained)},
                      {"traversal_orders", std::move(orders)},
                      {"subgraph_latencies", std::move(latencies)}};
}
