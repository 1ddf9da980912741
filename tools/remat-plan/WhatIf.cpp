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

#include "WhatIf.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::tools;

WhatIfFlag::WhatIfFlag(cl::OptionCategory &category)
    : values("what-if", cl::cat(category), cl::value_desc("KEY=A,B,..."),
             cl::desc(
                 "Plan a model under other conditions, and print a row for "
                 "each:\n  batch=8,16    rows of its batch\n  budget=50%,min"
                 "\n  dtype=bf16    types of its numbers\n  link=0,25GB/s  "
                 "links to host memory\nSeveral times for all combinations")) {}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

namespace {
/// Something that may be other than it is.
struct Condition {
  StringLiteral key;
  /// Whether it changes the model, and not only how that is planned.
  bool isOfModel;
  /// Sets it in the options of a step.
  Error (*set)(StepOptions &options, StringRef value);
};
} // namespace

static Error setBatch(StepOptions &options, StringRef value) {
  if (value.getAsInteger(10, options.assumedBatch) || options.assumedBatch < 1)
    return makeError("'--what-if=batch' must be a number of rows, at least 1, "
                     "got '" +
                     value + "'");
  return Error::success();
}

/// The model has floats of one type, is widened to f64, or keeps its tensors in
/// 16 bits.
static Error setType(StepOptions &options, StringRef value) {
  if (!is_contained({"f16", "bf16", "f32", "f64"}, value))
    return makeError("'--what-if=dtype' is '" + value +
                     "', expected f16, bf16, f32 or f64");
  options.widen = value == "f64";
  options.narrow = value == "bf16"  ? TensorNarrowing::BF16
                   : value == "f16" ? TensorNarrowing::F16
                                    : TensorNarrowing::None;
  return Error::success();
}

static Error setBudget(StepOptions &options, StringRef value) {
  if (Error error = planning::parseBudget(value).moveInto(options.plan.budget))
    return prefixError("--what-if=budget", std::move(error));
  return Error::success();
}

static Error setLink(StepOptions &options, StringRef value) {
  if (Error error = setOption(options, "link-bandwidth", value))
    return prefixError("--what-if=link", std::move(error));
  return Error::success();
}

static constexpr Condition conditions[] = {{"batch", true, setBatch},
                                           {"dtype", true, setType},
                                           {"link", false, setLink},
                                           {"budget", false, setBudget}};

/// A condition and what it is in the rows.
using Choice = std::pair<const Condition *, SmallVector<StringRef>>;

/// Those that were given, those of the model first.
static Expected<std::vector<Choice>>
parseChoices(const cl::list<std::string> &values) {
  std::vector<Choice> choices;
  for (const std::string &text : values) {
    auto [key, list] = StringRef(text).split('=');
    auto *found =
        find_if(conditions, [&, key = key](const Condition &condition) {
          return condition.key == key;
        });
    if (found == std::end(conditions) || list.empty())
      return makeError("'--what-if' is '" + text +
                       "', expected one of batch=, dtype=, link= and budget= "
                       "with values, such as 'batch=8,16,32'");
    if (any_of(choices,
               [&](const Choice &other) { return other.first == found; }))
      return makeError("'--what-if=" + key +
                       "' is given twice, expected one list of values");
    Choice &choice = choices.emplace_back(found, SmallVector<StringRef>());
    list.split(choice.second, ',');
    // What is wrong with a value is said before anything is planned.
    for (StringRef value : choice.second) {
      StepOptions unused;
      if (Error error = found->set(unused, value))
        return std::move(error);
    }
  }
  llvm::stable_sort(choices, [](const Choice &a, const Choice &b) {
    return a.first < b.first;
  });
  return choices;
}

//===----------------------------------------------------------------------===//
// Rows
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
      return makeError("'--what-if=dtype' is '" + value +
                       "', but the model has arguments of " + name +
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

/// The smallest budget, and the peak with everything saved.
static Error planSmallest(GraphOp graph, PlanOptions options, WhatIfRow &row) {
  options.budget = {planning::BudgetRequest::Kind::Smallest};
  Expected<GraphPlan> plan = findPlan(graph, options);
  if (!plan)
    return plan.takeError();
  row.smallestFeasible = plan->arenaBytes;
  row.saveAllPeak = plan->saveAllPeak;
  return Error::success();
}

Expected<std::vector<WhatIfRow>>
WhatIfFlag::run(StringRef path, StringRef manifest, const StepFlags &flags,
                const StepOptions &options, const PlanFlags &plan) {
  Expected<std::vector<Choice>> choices = parseChoices(values);
  if (!choices)
    return choices.takeError();
  if (path == "-")
    return makeError("'--what-if' reads the model several times, expected a "
                     "file, got standard input");
  std::vector<WhatIfRow> rows;
  std::optional<Model> model;
  std::string modelKey, planKey;
  // Counts through all combinations; the last condition is the fastest.
  SmallVector<size_t> at(choices->size(), 0);
  PlanWatch watch("remat-plan", plan.showsProgress());
  for (bool goesOn = true; goesOn && !PlanWatch::isInterrupted();) {
    StepOptions step = options;
    WhatIfRow row;
    std::string ofModel, ofPlan;
    for (auto [choice, number] : zip(*choices, at)) {
      StringRef value = choice.second[number];
      if (Error error = choice.first->set(step, value))
        return std::move(error);
      row.conditions.emplace_back(choice.first->key.str(), value.str());
      if (choice.first->isOfModel)
        ofModel += value.str() + ",";
      if (choice.first->key != "budget")
        ofPlan += value.str() + ",";
    }
    bool isNew = !model || modelKey != ofModel;
    if (isNew) {
      model.reset();
      Expected<Input> input = readInput(path, manifest, flags, step);
      if (!input)
        return input.takeError();
      auto *read = std::get_if<Model>(&*input);
      if (!read)
        return makeError("'--what-if' has no effect: the input is an instance, "
                         "no model");
      model = std::move(*read);
      modelKey = ofModel;
      for (const auto &[key, value] : row.conditions)
        if (key == "dtype")
          if (Error error = checkType(model->graph, value))
            return std::move(error);
    }
    watch.attach(step.plan.solver);
    row.callersBytes = sumCallers(model->graph);
    if (isNew || planKey != ofPlan) {
      if (Error error = planSmallest(model->graph, step.plan, row))
        return std::move(error);
      planKey = ofPlan;
    } else {
      row.smallestFeasible = rows.back().smallestFeasible;
      row.saveAllPeak = rows.back().saveAllPeak;
    }
    if (Error error = planRow(model->graph, step.plan, row))
      return std::move(error);
    rows.push_back(std::move(row));
    goesOn = false;
    for (size_t choice = at.size(); choice-- > 0 && !goesOn;) {
      goesOn = ++at[choice] < (*choices)[choice].second.size();
      if (!goesOn)
        at[choice] = 0;
    }
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

json::Value plan::toJson(ArrayRef<WhatIfRow> rows) {
  json::Array array;
  for (const WhatIfRow &row : rows) {
    json::Object object{{"save_all_peak_bytes", row.saveAllPeak},
                        {"smallest_feasible_bytes", row.smallestFeasible},
                        {"budget_bytes", row.budget},
                        {"feasible", row.peak.has_value()},
                        {"peak_bytes", row.peak},
                        {"callers_bytes", row.callersBytes}};
    for (const auto &[key, value] : row.conditions)
      object[key] = value;
    if (row.peak) {
      object["tdi_percent"] = row.overheadPercent;
      object["planner"] = row.planner;
    }
    array.push_back(std::move(object));
  }
  return json::Object{{"schema", "remat.what-if/1"},
                      {"rows", std::move(array)}};
}

void plan::print(ArrayRef<WhatIfRow> rows, raw_ostream &os) {
  if (rows.empty())
    return;
  os << "sizes in bytes\n";
  SmallVector<size_t> widths;
  for (auto [number, condition] : enumerate(rows.front().conditions)) {
    size_t width = condition.first.size();
    for (const WhatIfRow &row : rows)
      width = std::max(width, row.conditions[number].second.size());
    widths.push_back(width + 2);
    os << right_justify(condition.first, width + 2);
  }
  // Where budgets are asked for, the first column has them as they were given.
  bool isAsked = any_of(rows.front().conditions, [](const auto &condition) {
    return condition.first == "budget";
  });
  os << (isAsked ? "        in bytes" : "          budget")
     << "            peak        save-all  smallest feasible"
        "  arguments, results     TDI %\n";
  for (const WhatIfRow &row : rows) {
    for (auto [width, condition] : zip(widths, row.conditions))
      os << right_justify(condition.second, width);
    os << formatv("{0,16}{1,16}{2,16}{3,19}{4,20}{5,10}\n",
                  row.budget ? std::to_string(*row.budget) : "none",
                  row.peak ? std::to_string(*row.peak) : "infeasible",
                  row.saveAllPeak, row.smallestFeasible, row.callersBytes,
                  row.peak ? formatv("{0:f2}", row.overheadPercent).str()
                           : "-");
  }
}
