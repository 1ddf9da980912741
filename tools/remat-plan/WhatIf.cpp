//===- WhatIf.cpp - plans of a model under other conditions ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WhatIf.h"

#include "remat/Utils/OptionTable.h"

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

Expected<std::vector<WhatIfRow>>
WhatIfFlag::run(StringRef path, StringRef manifest, const StepFlags &flags,
                const StepOptions &options, const PlanFlags &plan) {
  // What is wrong with a value is said before anything is read.
  Expected<WhatIf> asked = WhatIf::parse(std::vector<std::string>(values));
  if (!asked)
    return prefixError("--what-if", asked.takeError());
  StepOptions first = options;
  if (Error error = asked->setFirst(first))
    return prefixError("--what-if", std::move(error));
  Expected<Source> source = readSource(path, manifest, flags, first);
  if (!source)
    return source.takeError();
  if (!std::holds_alternative<ModelSource>(*source))
    return makeError("'--what-if' has no effect: the input is an instance, no "
                     "model");
  auto &model = std::get<ModelSource>(*source);
  PlanWatch watch("remat-plan", plan.showsProgress(),
                  "ending the table with the rows so far");
  Expected<std::vector<WhatIfRow>> rows =
      asked->run(*model.module, model.options, [&](auto &solver) {
        watch.attach(solver);
        return !PlanWatch::isInterrupted();
      });
  if (!rows)
    return prefixError("--what-if", rows.takeError());
  if (rows->empty())
    return makeError("--what-if: interrupted before a row was planned");
  return rows;
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
    StringRef none = row.isInterrupted ? "none found" : "infeasible";
    os << formatv("{0,16}{1,16}{2,16}{3,19}{4,20}{5,10}{6}\n",
                  row.budget ? std::to_string(*row.budget) : "none",
                  row.peak ? std::to_string(*row.peak) : none.str(),
                  row.saveAllPeak, row.smallestFeasible, row.callersBytes,
                  row.peak ? formatv("{0:f2}", row.overheadPercent).str() : "-",
                  row.isInterrupted ? "  interrupted" : "");
  }
}
