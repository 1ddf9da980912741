//===- WhatIf.cpp - plans of a model under other conditions ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition changes the model before it is compiled, or the limits of the
// plan. Rows with the same model share it, and the smallest feasible budget.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/WhatIf.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Pipelines/StepCompiler.h"
#include "remat/Utils/OptionTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace remat;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Something that may be other than it is.
struct WhatIf::Condition {
  StringLiteral key;
  /// Whether it changes the model, and not only how that is planned.
  bool isOfModel;
  /// Sets it in the options of a step.
  Error (*set)(StepOptions &options, StringRef value);
};

static Error setBatch(StepOptions &options, StringRef value) {
  if (value.getAsInteger(10, options.assumedBatch) || options.assumedBatch < 1)
    return createStringError("'batch' must be a number of rows, at least 1, "
                             "got '" +
                             value + "'");
  return Error::success();
}

/// The model has floats of one type, is widened to f64, or keeps its tensors in
/// 16 bits.
static Error setType(StepOptions &options, StringRef value) {
  if (!is_contained({"f16", "bf16", "f32", "f64"}, value))
    return createStringError("'dtype' is '" + value +
                             "', expected f16, bf16, f32 or f64");
  options.widen = value == "f64";
  options.narrow = value == "bf16"  ? TensorNarrowing::BF16
                   : value == "f16" ? TensorNarrowing::F16
                                    : TensorNarrowing::None;
  return Error::success();
}

static Error setBudget(StepOptions &options, StringRef value) {
  if (Error error = planning::parseBudget(value).moveInto(options.plan.budget))
    return prefixError("budget", std::move(error));
  return Error::success();
}

static Error setLink(StepOptions &options, StringRef value) {
  if (Error error = setOption(options, "link-bandwidth", value))
    return prefixError("link", std::move(error));
  return Error::success();
}

/// Those of the model first, so that rows with the same one follow each other.
static constexpr WhatIf::Condition conditions[] = {
    {"batch", true, setBatch},
    {"dtype", true, setType},
    {"link", false, setLink},
    {"budget", false, setBudget}};

Expected<WhatIf> WhatIf::parse(ArrayRef<std::string> lists) {
  WhatIf asked;
  for (StringRef text : lists) {
    auto [key, list] = text.split('=');
    auto *found =
        find_if(conditions, [&, key = key](const Condition &condition) {
          return condition.key == key;
        });
    if (found == std::end(conditions) || list.empty())
      return createStringError(
          "got '" + text +
          "', expected one of batch=, dtype=, link= and budget= with values, "
          "such as 'batch=8,16,32'");
    if (any_of(asked.choices,
               [&](const Choice &other) { return other.condition == found; }))
      return createStringError("'" + key +
                               "' is given twice, expected one list of values");
    Choice &choice = asked.choices.emplace_back(Choice{found, {}});
    for (StringRef value : split(list, ',')) {
      StepOptions unused;
      if (Error error = found->set(unused, value))
        return std::move(error);
      choice.values.push_back(value.str());
    }
  }
  llvm::stable_sort(asked.choices, [](const Choice &a, const Choice &b) {
    return a.condition < b.condition;
  });
  return asked;
}

Error WhatIf::setFirst(StepOptions &options) const {
  for (const Choice &choice : choices)
    if (choice.condition->isOfModel)
      if (Error error = choice.condition->set(options, choice.values.front()))
        return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Refuses a type that the model's tensors do not have: none between theirs and
/// f64, and none that is as narrow.
static Error checkType(GraphOp graph, StringRef value) {
  if (value == "f64")
    return Error::success();
  for (mlir::Type type : graph.getArgumentTypes()) {
    auto tensor = dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor || tensor.getRank() == 0 ||
        !isa<mlir::FloatType>(tensor.getElementType()))
      continue;
    std::string name;
    raw_string_ostream(name) << tensor.getElementType();
    if (name != value)
      return createStringError(
          "'dtype' is '" + value + "', but the model has arguments of " + name +
          ", expected their type, one of half its bits, or f64");
  }
  return Error::success();
}

static int64_t sumCallers(GraphOp graph) {
  int64_t bytes = 0;
  for (mlir::TypeRange types : {mlir::TypeRange(graph.getArgumentTypes()),
                                mlir::TypeRange(graph.getResultTypes())})
    for (mlir::Type type : types)
      if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
        bytes += getBufferBytes(tensor);
  return bytes;
}

/// A copy of `module` as a graph of tasks, under the conditions of `row`.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
makeTasks(mlir::ModuleOp module, const StepOptions &options,
          const WhatIfRow &row) {
  mlir::OwningOpRef<mlir::ModuleOp> tasks(module.clone());
  bool isCaptured = getStepGraphs(module).empty();
  if (isCaptured && failed(compileToTasks(*tasks, options)))
    return createStringError("could not compile the model");
  GraphOp graph = getOnlyGraph(*tasks);
  if (!graph)
    return createStringError("the module holds no step");
  for (const auto &[key, value] : row.conditions) {
    if (!isCaptured && (key == "batch" || key == "dtype"))
      return createStringError("'" + key +
                               "' has no effect: the input is already a graph "
                               "of tasks");
    if (key == "dtype")
      if (Error error = checkType(graph, value))
        return std::move(error);
  }
  return tasks;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Plans one row; no budget means that all may be kept.
static Error planRow(GraphOp graph, const PlanOptions &options,
                     WhatIfRow &row) {
  Expected<GraphPlan> plan = findPlan(graph, options);
  if (plan) {
    row.budget = plan->budget;
    row.peak = plan->solution.peakBytes;
    row.saveAllPeak = plan->saveAllPeak;
    row.overheadPercent = plan->solution.overheadPercent();
    row.planner = plan->solution.solver;
    return Error::success();
  }
  return handleErrors(plan.takeError(),
                      [&](const planning::InfeasibleBudgetError &error) {
                        row.budget = error.getBudget();
                      });
}

/// Plans a row for the smallest budget.
static Error planSmallest(GraphOp graph, PlanOptions options, WhatIfRow &row) {
  options.budget = {planning::BudgetRequest::Kind::Smallest};
  Expected<GraphPlan> plan = findPlan(graph, options);
  if (!plan)
    return plan.takeError();
  row.smallestFeasible = plan->arenaBytes;
  row.saveAllPeak = plan->saveAllPeak;
  row.saveAllBytes = plan->saveAllBytes;
  row.peak = plan->solution.peakBytes;
  row.overheadPercent = plan->solution.overheadPercent();
  row.planner = plan->solution.solver;
  return Error::success();
}

/// What is left of a row whose search was interrupted before it had a plan:
/// that for the smallest budget, if it is within this one.
static void keepSmallest(const planning::BudgetRequest &budget,
                         const WhatIfRow &smallest, WhatIfRow &row) {
  using Kind = planning::BudgetRequest::Kind;
  if (budget.kind == Kind::Smallest)
    row.budget = smallest.smallestFeasible;
  else if (budget.kind != Kind::Unlimited)
    row.budget = budget.resolve(smallest.saveAllBytes);
  row.peak.reset();
  if (row.budget && smallest.smallestFeasible > *row.budget)
    return;
  row.peak = smallest.peak;
  row.overheadPercent = smallest.overheadPercent;
  row.planner = smallest.planner;
}

Expected<std::vector<WhatIfRow>>
WhatIf::run(mlir::ModuleOp module, const StepOptions &options,
            function_ref<bool(planning::SolverOptions &)> goesOnWith) const {
  std::vector<WhatIfRow> rows;
  mlir::OwningOpRef<mlir::ModuleOp> tasks;
  std::string tasksKey, planKey;
  // The plan for the smallest budget, which rows may share.
  WhatIfRow smallest;
  // Counts through all combinations; the last condition is the fastest.
  SmallVector<size_t> at(choices.size(), 0);
  for (bool goesOn = true; goesOn;) {
    StepOptions step = options;
    if (!goesOnWith(step.plan.solver))
      break;
    WhatIfRow row;
    std::string ofModel, ofPlan;
    for (auto [choice, number] : zip(choices, at)) {
      StringRef value = choice.values[number], key = choice.condition->key;
      if (Error error = choice.condition->set(step, value))
        return std::move(error);
      row.conditions.emplace_back(key.str(), value.str());
      if (choice.condition->isOfModel)
        ofModel += value.str() + ",";
      if (key != "budget")
        ofPlan += value.str() + ",";
    }
    bool isNew = !tasks || tasksKey != ofModel;
    if (isNew) {
      if (Error error = makeTasks(module, step, row).moveInto(tasks))
        return std::move(error);
      tasksKey = ofModel;
    }
    GraphOp graph = getOnlyGraph(*tasks);
    row.callersBytes = sumCallers(graph);
    if (isNew || planKey != ofPlan) {
      if (Error error = planSmallest(graph, step.plan, smallest)) {
        if (goesOnWith(step.plan.solver))
          return std::move(error);
        consumeError(std::move(error));
        break;
      }
      planKey = ofPlan;
    }
    row.smallestFeasible = smallest.smallestFeasible;
    row.saveAllPeak = smallest.saveAllPeak;
    Error error = planRow(graph, step.plan, row);
    row.isInterrupted = !goesOnWith(step.plan.solver);
    if (error && !row.isInterrupted)
      return std::move(error);
    if (error) {
      consumeError(std::move(error));
      keepSmallest(step.plan.budget, smallest, row);
    }
    rows.push_back(std::move(row));
    if (rows.back().isInterrupted)
      break;
    goesOn = false;
    for (size_t choice = at.size(); choice-- > 0 && !goesOn;) {
      goesOn = ++at[choice] < choices[choice].values.size();
      if (!goesOn)
        at[choice] = 0;
    }
  }
  return rows;
}

json::Value remat::toJson(ArrayRef<WhatIfRow> rows) {
  json::Array array;
  for (const WhatIfRow &row : rows) {
    json::Object object{{"save_all_peak_bytes", row.saveAllPeak},
                        {"smallest_feasible_bytes", row.smallestFeasible},
                        {"budget_bytes", row.budget},
                        {"feasible", row.peak.has_value()},
                        {"interrupted", row.isInterrupted},
                        {"peak_bytes", row.peak},
                        {"callers_bytes", row.callersBytes}};
    for (const auto &[key, value] : row.conditions)
      object[key] = value;
    object["tdi_percent"] = nullptr;
    if (row.peak) {
      object["tdi_percent"] = row.overheadPercent;
      object["planner"] = row.planner;
    }
    array.push_back(std::move(object));
  }
  return json::Object{{"schema", "remat.what-if/1"},
                      {"rows", std::move(array)}};
}
