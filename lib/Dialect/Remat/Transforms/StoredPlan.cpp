//===- StoredPlan.cpp - plans of graphs in files --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/StoredPlan.h"

#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"
#include "remat/Planning/Serialization.h"
#include "remat/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace remat;

static constexpr StringLiteral schema = "remat.schedule/1";

/// The options that make a difference to the step, the plan aside. The name of
/// the planner only says where the plan came from.
static constexpr StringLiteral storedOptions[] = {
    "budget",  "planner",     "reorder",        "reuse-result-buffers",
    "offload", "host-budget", "link-bandwidth", "region-budget"};

//===----------------------------------------------------------------------===//
// Fingerprints
//===----------------------------------------------------------------------===//

/// The name of a kernel without the numbers that tell kernels of one name
/// apart: those of loops depend on which copies were tried before.
static std::string getStem(StringRef kernel) {
  SmallVector<StringRef> parts = to_vector(split(kernel, '_'));
  erase_if(parts, [](StringRef part) { return all_of(part, isDigit); });
  return join(parts, "_");
}

std::string remat::getFingerprint(const planning::Problem &problem) {
  std::string text;
  raw_string_ostream os(text);
  // Every list has its length before it, and every name its own: no two
  // problems have the same text.
  os << problem.freeOrder << ' ' << problem.values.size() << ' '
     << problem.ops.size() << '\n';
  for (const planning::Value &value : problem.values)
    os << value.bytes << ' ' << unsigned(value.policy) << ' '
       << value.isArgument << ' ' << value.isOutput << ' ' << value.recomputable
       << ' ' << value.offloadable << ' ' << value.viewOf << ' '
       << value.producer << '\n';
  // In place of the numbers in names: the first op with the same kernel.
  StringMap<size_t> firstOps;
  for (auto [number, op] : enumerate(problem.ops)) {
    StringRef kernel = StringRef(op.name).split(" (").first;
    size_t first = firstOps.try_emplace(kernel, number).first->second;
    std::string name = getStem(kernel);
    os << name.size() << ' ' << name << ' ' << first << ' ' << op.backward
       << ' ' << op.recomputable << ' ' << op.workspace << ' '
       << op.operands.size();
    if (op.hostWorkspace != 0)
      os << " on the host " << op.hostWorkspace;
    for (planning::ValueId operand : op.operands)
      os << ' ' << operand;
    os << '\n';
  }
  return utohexstr(xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

json::Value remat::toJson(const GraphPlan &plan) {
  PlanOptions options = plan.options;
  options.budget = {};
  if (plan.budget)
    options.budget = {planning::BudgetRequest::Kind::Bytes, *plan.budget};
  json::Object texts;
  for (const OptionInfo<PlanOptions> &row : getPlanOptionTable())
    if (is_contained(storedOptions, row.name))
      texts[row.name] = row.get(options);
  json::Value schedule = planning::toJson(planning::makeInstance(plan.problem),
                                          plan.solution.plan);
  json::Object &object = *schedule.getAsObject();
  object["schema"] = schema;
  object["graph"] = plan.problem.name;
  object["fingerprint"] = getFingerprint(plan.problem);
  object["options"] = std::move(texts);
  object["peak_bytes"] = plan.solution.peakBytes;
  object["arena_bytes"] = plan.arenaBytes;
  if (plan.loopLevel != 0 || plan.loopFewer != 0)
    object["loops"] = json::Object{{"level", int64_t(plan.loopLevel)},
                                   {"fewer_bytes", plan.loopFewer},
                                   {"split", plan.loopSplit}};
  return schedule;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Error readOptions(const json::Object &texts, PlanOptions &options) {
  for (const auto &[name, value] : texts) {
    StringRef key = name;
    std::optional<StringRef> text = value.getAsString();
    if (!is_contained(storedOptions, key))
      return makeUnknownNameError(
          "option", key,
          SmallVector<StringRef>(std::begin(storedOptions),
                                 std::end(storedOptions)));
    if (!text)
      return createStringError("option '" + key + "' is not a string");
    auto table = getPlanOptionTable();
    auto *row =
        find_if(table, [&](const auto &row) { return row.name == key; });
    // A planner of a library need not be there to run its plan.
    if (key == "planner")
      options.planner = text->str();
    else if (Error error = row->set(options, *text))
      return prefixError("option '" + key + "'", std::move(error));
  }
  return Error::success();
}

Error remat::readStoredPlan(StringRef text, PlanOptions &options) {
  Expected<json::Value> parsed = parseJson(text);
  if (!parsed)
    return parsed.takeError();
  const json::Object *root = parsed->getAsObject();
  std::optional<StringRef> given;
  if (root)
    given = root->getString("schema");
  if (!given)
    return createStringError("is no schedule of a model: expected an object "
                             "with \"schema\": \"" +
                             schema +
                             "\", as 'remat-plan MODEL -o FILE' writes");
  if (*given != schema)
    return createStringError("has the schema '" + *given + "', expected '" +
                             schema + "'");
  auto stored = std::make_shared<StoredPlan>();
  std::pair<StringLiteral, std::string *> strings[] = {
      {"graph", &stored->graph}, {"fingerprint", &stored->fingerprint}};
  for (auto [key, member] : strings) {
    std::optional<StringRef> value = root->getString(key);
    if (!value)
      return createStringError("expected a string '" + key + "'");
    *member = value->str();
  }
  std::pair<StringLiteral, int64_t *> integers[] = {
      {"peak_bytes", &stored->peakBytes}, {"arena_bytes", &stored->arenaBytes}};
  for (auto [key, member] : integers) {
    std::optional<int64_t> value = root->getInteger(key);
    if (!value)
      return createStringError("expected an integer '" + key + "'");
    *member = *value;
  }
  if (const json::Value *loops = root->get("loops")) {
    const json::Object *object = loops->getAsObject();
    std::optional<int64_t> level, fewer, split;
    if (object) {
      level = object->getInteger("level");
      fewer = object->getInteger("fewer_bytes");
      split = object->getInteger("split");
    }
    if (!level || *level < 0 || *level > UINT32_MAX || !fewer || *fewer < 0 ||
        !split || *split < 0)
      return createStringError("expected 'loops' with integers of 0 or more "
                               "as 'level', 'fewer_bytes' and 'split'");
    stored->loopLevel = static_cast<unsigned>(*level);
    stored->loopFewer = *fewer;
    stored->loopSplit = *split;
  }
  const json::Object *texts = root->getObject("options");
  if (!texts)
    return createStringError("expected an object 'options'");
  PlanOptions changed = options;
  if (Error error = readOptions(*texts, changed))
    return error;
  stored->text = text.str();
  changed.stored = std::move(stored);
  options = std::move(changed);
  return Error::success();
}

bool StoredPlan::isPlanOf(const planning::Problem &problem) const {
  return fingerprint == getFingerprint(problem);
}

Expected<planning::Plan>
StoredPlan::get(const planning::Problem &problem) const {
  if (!isPlanOf(problem))
    return createStringError(
        "the stored schedule is of another graph: of '" + graph +
        "' with fingerprint " + fingerprint + ", and this one, '" +
        problem.name + "', has " + getFingerprint(problem) +
        "; plan it with the model and options that it is compiled with");
  return planning::parsePlan(planning::makeInstance(problem), text);
}

Error StoredPlan::check(const GraphPlan &plan) const {
  if (plan.budget && plan.arenaBytes > *plan.budget)
    return make_error<planning::InfeasibleBudgetError>(
        *plan.budget, plan.arenaBytes, "the stored schedule needs as much");
  if (plan.solution.peakBytes == peakBytes && plan.arenaBytes == arenaBytes)
    return Error::success();
  return createStringError(
      formatv("the stored schedule says that it needs {0} bytes in an arena of "
              "{1}, and it needs {2} in {3}",
              peakBytes, arenaBytes, plan.solution.peakBytes, plan.arenaBytes)
          .str());
}
