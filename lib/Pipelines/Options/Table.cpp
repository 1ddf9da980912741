//===- Table.cpp - the options of a step as text --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using namespace remat::options;

static std::vector<StepOptionInfo> makeTable() {
  TableBuilder table;
  addImportOptions(table);
  addJointOptions(table);
  addTaskOptions(table);
  for (const OptionInfo<PlanOptions> &option : getPlanOptionTable())
    table.add(liftOption<StepOptions>(
                  option,
                  [](StepOptions &step) -> PlanOptions & { return step.plan; }),
              option.name == "reuse-result-buffers" ? PlanStage | PlaceStage
                                                    : PlanStage);
  addCodeOptions(table);
  return std::move(table.rows);
}

ArrayRef<StepOptionInfo> remat::getStepOptionTable() {
  static const std::vector<StepOptionInfo> table = makeTable();
  return table;
}

json::Array remat::describeStepOptions() {
  static constexpr std::pair<Stage, StringLiteral> stageNames[] = {
      {ImportStage, "import"}, {JointStage, "joint"}, {TasksStage, "tasks"},
      {PlanStage, "plan"},     {PlaceStage, "place"}, {CodeStage, "code"},
      {ObjectStage, "object"}};
  static constexpr StringLiteral kindNames[] = {"flag", "value", "list"};
  json::Array described;
  for (const StepOptionInfo &row : getStepOptionTable()) {
    json::Array stages;
    for (auto [stage, name] : stageNames)
      if (row.stages & stage)
        stages.push_back(name);
    json::Object option{
        {"name", row.name},   {"kind", kindNames[unsigned(row.kind)]},
        {"value", row.value}, {"default", row.get(StepOptions())},
        {"help", row.help},   {"stages", std::move(stages)}};
    if (row.choices) {
      json::Array choices;
      for (const OptionChoice &choice : row.choices())
        choices.push_back(
            json::Object{{"name", choice.name}, {"summary", choice.summary}});
      option["choices"] = std::move(choices);
    }
    described.push_back(std::move(option));
  }
  return described;
}

//===----------------------------------------------------------------------===//
// Options by name
//===----------------------------------------------------------------------===//

/// The row called `key`, or an error that lists what there is. Languages that
/// have no dashes in names may write underscores.
static Expected<const StepOptionInfo *> findOption(StringRef key) {
  std::string dashed = key.str();
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  SmallVector<StringRef> known;
  for (const StepOptionInfo &row : getStepOptionTable()) {
    if (row.name == dashed)
      return &row;
    known.push_back(row.name);
  }
  return makeUnknownNameError("option", key, known);
}

Error remat::setOption(StepOptions &options, StringRef key, StringRef value) {
  Expected<const StepOptionInfo *> row = findOption(key);
  if (!row)
    return row.takeError();
  return prefixError((*row)->name, (*row)->set(options, value));
}

/// The text of a number, a boolean or a string.
static std::optional<std::string> printScalar(const json::Value &value) {
  if (std::optional<StringRef> text = value.getAsString())
    return text->str();
  if (std::optional<bool> flag = value.getAsBoolean())
    return FlagSyntax().print(*flag);
  if (std::optional<uint64_t> number = value.getAsUINT64())
    return std::to_string(*number);
  if (std::optional<int64_t> number = value.getAsInteger())
    return std::to_string(*number);
  if (std::optional<double> number = value.getAsNumber())
    return printNumber(*number);
  return std::nullopt;
}

/// Members in the order of their names: that of the hash table is arbitrary.
static SmallVector<StringRef> getSortedKeys(const json::Object &object) {
  SmallVector<StringRef> keys;
  for (const auto &member : object)
    keys.push_back(member.first);
  sort(keys);
  return keys;
}

/// The text of any value that stands for an option's; none for others.
static std::optional<std::string> printValue(const json::Value &value,
                                             OptionKind kind) {
  SmallVector<std::string> parts;
  if (kind != OptionKind::List)
    return printScalar(value);
  if (const json::Array *array = value.getAsArray()) {
    for (const json::Value &element : *array) {
      std::optional<std::string> text = printScalar(element);
      if (!text)
        return std::nullopt;
      parts.push_back(std::move(*text));
    }
    return join(parts, ",");
  }
  if (const json::Object *object = value.getAsObject()) {
    for (StringRef key : getSortedKeys(*object)) {
      std::optional<std::string> text = printScalar(*object->get(key));
      if (!text)
        return std::nullopt;
      parts.push_back(key.str() + ":" + *text);
    }
    return join(parts, ",");
  }
  return printScalar(value);
}

Error remat::applyOptions(StepOptions &options, const json::Object &object) {
  StepOptions changed = options;
  for (StringRef key : getSortedKeys(object)) {
    Expected<const StepOptionInfo *> row = findOption(key);
    if (!row)
      return row.takeError();
    const json::Value &value = *object.get(key);
    if (value.getAsNull())
      continue;
    std::optional<std::string> text = printValue(value, (*row)->kind);
    if (!text)
      return prefixError((*row)->name,
                         makeExpectedError("a value such as " + (*row)->value,
                                           formatv("{0}", value).str()));
    if (Error error = (*row)->set(changed, *text))
      return prefixError((*row)->name, std::move(error));
  }
  options = std::move(changed);
  return Error::success();
}
