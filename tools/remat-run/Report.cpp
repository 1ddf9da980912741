//===- Report.cpp - what a run of a step says about itself ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "remat/Pipelines/SummaryJson.h"
#include "remat/Support/Tables.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::run;

/// JSON has no numbers that are not finite.
static json::Value toFinite(double value) {
  if (std::isfinite(value))
    return value;
  return nullptr;
}

static json::Object toJson(const RunReport::Gradient &gradient) {
  const GradientSummary &summary = gradient.summary;
  json::Array samples;
  for (auto [index, value] : summary.samples)
    samples.push_back(json::Array{index, toFinite(value)});
  return json::Object{{"l2", toFinite(summary.l2)},
                      {"sum", toFinite(summary.sum)},
                      {"samples", std::move(samples)},
                      {"hash", utohexstr(gradient.hash, /*LowerCase=*/true)},
                      {"exists", gradient.exists}};
}

remat_step_stats run::sumCalls(ArrayRef<remat_step_stats> calls) {
  remat_step_stats sum{};
  for (const remat_step_stats &call : calls) {
    sum.arena_bytes = call.arena_bytes;
    sum.host_bytes = call.host_bytes;
    sum.degraded_calls = call.degraded_calls;
    sum.runs = call.runs;
    for (uint64_t remat_step_stats::*most :
         {&remat_step_stats::measured_peak_bytes,
          &remat_step_stats::touched_bytes, &remat_step_stats::state_bytes,
          &remat_step_stats::host_peak_bytes})
      sum.*most = std::max(sum.*most, call.*most);
    for (uint64_t remat_step_stats::*count :
         {&remat_step_stats::offloaded_bytes, &remat_step_stats::check_bytes,
          &remat_step_stats::executed_entries,
          &remat_step_stats::recomputed_entries})
      sum.*count += call.*count;
  }
  return sum;
}

static std::string getCallName(size_t call) {
  return call == 0 ? "forward" : "backward " + std::to_string(call - 1);
}

static json::Array toJson(ArrayRef<remat_step_stats> calls) {
  json::Array array;
  for (auto [number, call] : enumerate(calls))
    array.push_back(
        json::Object{{"call", getCallName(number)},
                     {"measured_peak_bytes", int64_t(call.measured_peak_bytes)},
                     {"state_bytes", int64_t(call.state_bytes)},
                     {"executed_tasks", int64_t(call.executed_entries)},
                     {"recomputed_tasks", int64_t(call.recomputed_entries)}});
  return array;
}

std::string RunReport::describeBudget() const {
  return requestedBudget + (infeasible ? " infeasible, min" : "");
}

static json::Object toJson(const RunReport &run) {
  json::Object gradients;
  for (const RunReport::Gradient &gradient : run.gradients)
    gradients[gradient.name] = toJson(gradient);
  json::Object object{
      {"schema", "remat.run/1"},
      {"model", run.model},
      {"planner", run.planner},
      {"requested_budget", run.requestedBudget},
      {"feasible", !run.infeasible},
      {"measured_peak_bytes", int64_t(run.stats.measured_peak_bytes)},
      {"touched_bytes", int64_t(run.stats.touched_bytes)},
      {"measured_host_peak_bytes", int64_t(run.stats.host_peak_bytes)},
      {"argument_bytes", run.argumentBytes},
      {"host_argument_bytes", run.hostArgumentBytes},
      {"result_bytes", run.resultBytes},
      {"donated_bytes", run.donatedBytes},
      {"rss_growth_bytes", run.rssGrowth},
      {"gradients", std::move(gradients)},
      {"result_hash", utohexstr(run.resultHash, /*LowerCase=*/true)},
      {"compile_seconds", run.compileSeconds},
      {"plan_seconds", run.planSeconds},
      {"step_seconds", json::Array(run.stepSeconds)},
      {"step_cpu_seconds", json::Array(run.stepCpuSeconds)}};
  addSummary(object, run.summary);
  object["offloaded_bytes"] = int64_t(run.stats.offloaded_bytes);
  if (run.gradientError)
    object["gradient_error"] = *run.gradientError;
  if (run.infeasible) {
    object["requested_budget_bytes"] = run.infeasible->budget;
    object["smallest_feasible_bytes"] = run.infeasible->smallestFeasible;
  }
  if (!run.calls.empty()) {
    object["planned_state_bytes"] = run.summary.stateBytes;
    object["measured_state_bytes"] = int64_t(run.stats.state_bytes);
    object["calls"] = toJson(run.calls);
  }
  if (run.checkBytes > 0) {
    object["planned_check_bytes"] = int64_t(run.checkBytes);
    object["measured_check_bytes"] = int64_t(run.stats.check_bytes);
  }
  run.details.addTo(object);
  if (run.profile)
    object["profile"] = run.profile->toJson();
  if (run.benchmark)
    object["benchmark"] = run.benchmark->toJson();
  if (run.anomalies)
    object["anomalies"] = *run.anomalies;
  if (run.loss)
    object["loss"] = toFinite(*run.loss);
  if (run.maxRelativeError)
    object["max_relative_error"] = toFinite(*run.maxRelativeError);
  return object;
}

json::Object run::makeJson(ArrayRef<RunReport> runs) {
  json::Array further;
  for (const RunReport &run : runs.drop_front())
    further.push_back(toJson(run));
  json::Object object = toJson(runs.front());
  object["further_budgets"] = std::move(further);
  return object;
}

static std::string formatMebibytes(int64_t bytes) {
  std::string text;
  raw_string_ostream(text) << format("%.2f", double(bytes) / 1048576.0);
  return text;
}

/// Prints a row for each budget.
static void printRows(raw_ostream &os, ArrayRef<RunReport> runs) {
  std::vector<std::vector<std::string>> rows = {
      {"budget", "arena", "planned peak", "simulated peak", "measured peak",
       "RSS growth", "held", "recomputed", "offloaded", "plan s", "step s",
       "loss", "results", "error"}};
  for (const RunReport &run : runs) {
    std::vector<double> seconds = run.stepSeconds;
    llvm::sort(seconds);
    auto print = [](auto value, const char *fmt) {
      std::string text;
      raw_string_ostream(text) << format(fmt, value);
      return text;
    };
    rows.push_back(
        {run.describeBudget() + " = " + formatMebibytes(run.summary.budget),
         formatMebibytes(run.summary.arenaBytes),
         std::to_string(run.summary.plannedPeak),
         std::to_string(run.summary.simulatedPeak),
         std::to_string(run.stats.measured_peak_bytes),
         formatMebibytes(run.rssGrowth),
         formatMebibytes(run.summary.heldBytes) + "/" +
             formatMebibytes(run.summary.readBytes),
         std::to_string(run.summary.recomputedTasks) + "/" +
             std::to_string(run.summary.tasks),
         formatMebibytes(run.stats.offloaded_bytes),
         print(run.planSeconds, "%.2f"),
         seconds.empty() ? "-" : print(seconds[seconds.size() / 2], "%.3f"),
         run.loss ? print(*run.loss, "%.8g") : "-",
         utohexstr(run.resultHash, /*LowerCase=*/true),
         run.maxRelativeError ? print(*run.maxRelativeError, "%.1e") : "-"});
  }
  printAligned(os, rows);
}

/// Prints what was chosen for each budget beside the plan.
static void printChoices(raw_ostream &os, ArrayRef<RunReport> runs) {
  for (const RunReport &run : runs)
    if (!run.summary.microbatchOrder.empty())
      os << "budget " << run.describeBudget() << ": microbatches by "
         << run.summary.microbatchOrder << "\n";
  for (const RunReport &run : runs)
    if (run.summary.batchParts > 1)
      os << "budget " << run.describeBudget() << ": batch in "
         << run.summary.batchParts << " parts\n";
  for (const RunReport &run : runs)
    if (run.summary.sliceRows != 0)
      os << "budget " << run.describeBudget() << ": slices of "
         << run.summary.sliceRows << " rows"
         << (run.summary.slicesHidden ? ", hidden layers too\n" : "\n");
  for (const RunReport &run : runs)
    if (run.summary.foldedLayers > 0)
      os << "budget " << run.describeBudget() << ": "
         << run.summary.foldedLayers << " layers as loops\n";
}

/// Prints what was asked to be seen of one run.
static void printDetails(raw_ostream &os, const RunReport &run) {
  for (auto [number, call] : enumerate(run.calls))
    os << "budget " << run.describeBudget() << ", " << getCallName(number)
       << ": measured peak " << call.measured_peak_bytes << ", leaves "
       << call.state_bytes << " bytes of a planned state of "
       << run.summary.stateBytes << ", " << call.recomputed_entries
       << " tasks recomputed\n";
  if (run.details.explanation)
    os << "\nwhat was decided at budget " << run.requestedBudget << '\n';
  run.details.print(os);
  if (!run.details.saved.empty())
    os << "\nwhat is saved at budget " << run.requestedBudget << '\n'
       << run.details.saved;
  if (run.benchmark) {
    os << "budget " << run.describeBudget() << ": ";
    run.benchmark->print(os);
  }
  os << run.trace;
  if (!run.profile)
    return;
  os << "\ntime by " << stringify(run.profile->group) << " at budget "
     << run.describeBudget();
  // What is read and written for the first time takes longer.
  if (size_t steps = run.stepSeconds.size(); steps == 1)
    os << ", of the first step; --steps=5 has the least of 5\n";
  else
    os << ", the least of " << steps << " steps\n";
  run.profile->print(os);
}

void remat::run::printTable(raw_ostream &os, ArrayRef<RunReport> runs) {
  const RunReport &first = runs.front();
  os << first.model << ": " << first.summary.distinctTasks
     << " distinct kernels, arguments " << formatMebibytes(first.argumentBytes)
     << " MiB, results " << formatMebibytes(first.resultBytes)
     << " MiB, compiled in " << format("%.2f", first.compileSeconds)
     << " s; sizes below in MiB, peaks in bytes\n";
  printRows(os, runs);
  printChoices(os, runs);
  // Whoever asks is told that the answer is no, too.
  for (const RunReport &run : runs)
    if (run.anomalies == 0)
      os << "budget " << run.describeBudget()
         << ": no task made a NaN or an infinity of finite numbers\n";
  for (const RunReport &run : runs)
    printDetails(os, run);
}
