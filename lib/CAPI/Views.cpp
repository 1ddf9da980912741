//===- Views.cpp - views of steps -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Pipelines/SavedValues.h"
#include "remat/Pipelines/StepMeasurement.h"
#include "remat/Pipelines/StepPage.h"
#include "remat/Pipelines/StepPlans.h"
#include "remat/Pipelines/StepProfile.h"
#include "remat/Pipelines/StepSnapshot.h"
#include "remat/Pipelines/StepTrace.h"
#include "remat/Pipelines/WhatIf.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

namespace {
/// A placed step and what one of its runs took.
struct View {
  StepReport report;
  StepMeasurement measured;
};
} // namespace

/// The speed of copies that the step was planned for.
static int64_t getLinkBandwidth(GraphOp graph, const PlanOptions &options) {
  bool isTargets =
      options.linkBandwidth == targetBandwidth || options.linkBandwidth == 0;
  return isTargets ? getTargetFacts(graph).getLinkBandwidth()
                   : options.linkBandwidth;
}

/// Without a step, nothing is measured.
static RematStatus makeView(Call &call, const ModuleState &module,
                            const StepOptions &options, const remat_step *step,
                            View &view) {
  GraphOp graph;
  if (RematStatus status =
          requireGraph(call, module, REMAT_LEVEL_PLACED, graph))
    return status;
  // What was decided, and why, is known of what was planned here.
  ArrayRef<TaskDecision> decisions;
  if (module.plan)
    decisions = module.plan->decisions;
  FailureOr<StepReport> report = makeStepReport(
      graph, options, getLinkBandwidth(graph, options.plan), decisions);
  if (failed(report))
    return call.fail(REMAT_STATUS_COMPILE_ERROR,
                     "the step cannot be described");
  view.report = std::move(*report);
  if (!step)
    return REMAT_STATUS_OK;
  llvm::Expected<StepMeasurement> measured = readMeasurement(step, view.report);
  if (!measured)
    return call.fail(REMAT_STATUS_INVALID_ARGUMENT, measured.takeError());
  view.measured = *measured;
  return REMAT_STATUS_OK;
}

/// The one of `values` that is called `name`.
template <typename Enum>
static RematStatus parse(Call &call, StringRef what, StringRef name,
                         ArrayRef<Enum> values, Enum &found) {
  std::string known;
  for (Enum value : values) {
    if (stringify(value) == name) {
      found = value;
      return REMAT_STATUS_OK;
    }
    known += (known.empty() ? "'" : ", '") + stringify(value).str() + "'";
  }
  return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                   "unknown " + what + " '" + name + "', expected one of " +
                       known);
}

RematStatus rematModuleGetProfile(RematModule module, RematOptions options,
                                  const remat_step *step, const char *group,
                                  const char *sort, RematBytes *json) {
  return runCall(
      __func__, module,
      {{"options", options.ptr}, {"step", step}, makeOutput("json", json)},
      [&](Call &call, ModuleState &state) {
        ProfileGroup by = ProfileGroup::Op;
        ProfileSort order = ProfileSort::Self;
        using Group = ProfileGroup;
        using Sort = ProfileSort;
        if (group)
          if (RematStatus status =
                  parse<Group>(call, "group", group,
                               {Group::Op, Group::Kernel, Group::Name,
                                Group::Layer, Group::Label, Group::Phase},
                               by))
            return status;
        if (sort)
          if (RematStatus status =
                  parse<Sort>(call, "order", sort,
                              {Sort::Self, Sort::Total, Sort::Calls,
                               Sort::Bytes, Sort::Flops, Sort::Name},
                              order))
            return status;
        View view;
        if (RematStatus status =
                makeView(call, state, unwrap(options)->step, step, view))
          return status;
        giveJson(makeProfile(view.report, view.measured, by, order).toJson(),
                 json);
        return REMAT_STATUS_OK;
      });
}

RematStatus rematModuleGetTrace(RematModule module, RematOptions options,
                                const remat_step *step, RematBytes *json) {
  return runCall(
      __func__, module, {{"options", options.ptr}, makeOutput("json", json)},
      [&](Call &call, ModuleState &state) {
        View view;
        if (RematStatus status =
                makeView(call, state, unwrap(options)->step, step, view))
          return status;
        std::string text;
        llvm::raw_string_ostream os(text);
        writeTrace(view.report, view.measured.spans, os);
        giveBytes(text, json);
        return REMAT_STATUS_OK;
      });
}

RematStatus rematModuleGetMemorySnapshot(RematModule module,
                                         RematOptions options,
                                         RematBytes *pickle) {
  return runCall(__func__, module,
                 {{"options", options.ptr}, makeOutput("pickle", pickle)},
                 [&](Call &call, ModuleState &state) {
                   View view;
                   if (RematStatus status =
                           makeView(call, state, unwrap(options)->step,
                                    /*step=*/nullptr, view))
                     return status;
                   std::string text;
                   llvm::raw_string_ostream os(text);
                   writeMemorySnapshot(view.report, os);
                   giveBytes(text, pickle);
                   return REMAT_STATUS_OK;
                 });
}

RematStatus rematModuleGetSavedValues(RematModule module, RematBytes *text) {
  return runCall(__func__, module, {makeOutput("text", text)},
                 [&](Call &call, ModuleState &state) {
                   GraphOp graph;
                   if (RematStatus status =
                           requireGraph(call, state, REMAT_LEVEL_PLACED, graph))
                     return status;
                   std::string lines;
                   llvm::raw_string_ostream os(lines);
                   printSavedValues(graph, os);
                   giveBytes(lines, text);
                   return REMAT_STATUS_OK;
                 });
}

/// Fails unless `placed` may be `tasks` with a plan.
static RematStatus requireSameStep(Call &call, const ModuleState &tasks,
                                   const ModuleState &placed) {
  if (tasks.context != placed.context)
    return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                     "'tasks' is of another context than the module");
  if (RematStatus status = requireLevel(call, tasks, REMAT_LEVEL_TASKS))
    return status;
  GraphOp before = getOnlyGraph(*tasks.module);
  GraphOp after = getOnlyGraph(*placed.module);
  if (before && after && before.getName() == after.getName() &&
      before.getFunctionType() == after.getFunctionType())
    return REMAT_STATUS_OK;
  return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                   "'tasks' is another step than the module, expected what "
                   "that was at level 'tasks'");
}

/// Fails unless a frontier may have so many points, or none.
static RematStatus checkPoints(Call &call, unsigned points) {
  if (points != 1)
    return REMAT_STATUS_OK;
  return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                   "a frontier has at least 2 points, got 1, expected 0 for "
                   "none");
}

RematStatus rematModuleGetReport(RematModule module, RematOptions options,
                                 RematModule tasks, unsigned points,
                                 const remat_step *step, const char *title,
                                 RematBytes *html) {
  return runCall(
      __func__, module, {{"options", options.ptr}, makeOutput("html", html)},
      [&](Call &call, ModuleState &state) {
        if (RematStatus status = requireLevel(call, state, REMAT_LEVEL_PLACED))
          return status;
        if (RematStatus status = requirePlan(call, state))
          return status;
        if (RematStatus status = checkPoints(call, points))
          return status;
        if (tasks.ptr)
          if (RematStatus status = requireSameStep(call, *unwrap(tasks), state))
            return status;
        const StepOptions &given = unwrap(options)->step;
        View view;
        if (RematStatus status = makeView(call, state, given, step, view))
          return status;
        std::vector<PlannedStep> plans;
        plans.push_back(makePlannedStep(PlanOrigin::Chosen,
                                        std::move(view.report), *state.plan));
        plans.front().measured = view.measured.spans;
        if (tasks.ptr)
          if (llvm::Error error =
                  collectPlans(*unwrap(tasks)->module, given, given.plan.solver,
                               /*frontier=*/{}, std::move(plans.front()),
                               points)
                      .moveInto(plans))
            return call.fail(REMAT_STATUS_COMPILE_ERROR, std::move(error));
        std::string text;
        llvm::raw_string_ostream os(text);
        writePage(plans, title ? title : "model", os);
        giveBytes(text, html);
        return REMAT_STATUS_OK;
      });
}

RematStatus rematModuleGetWhatIf(RematModule module, RematOptions options,
                                 const char *const *conditions, size_t count,
                                 RematBytes *json) {
  return runCall(
      __func__, module,
      {{"options", options.ptr},
       makeArray("conditions", conditions, count),
       makeOutput("json", json)},
      [&](Call &call, ModuleState &state) {
        if (state.level != REMAT_LEVEL_CAPTURED)
          if (RematStatus status = requireLevel(call, state, REMAT_LEVEL_TASKS))
            return status;
        std::vector<std::string> lists;
        for (const char *text : ArrayRef(conditions, count)) {
          if (!text)
            return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                             "a condition is null");
          lists.push_back(text);
        }
        llvm::Expected<WhatIf> asked = WhatIf::parse(lists);
        if (!asked)
          return call.fail(REMAT_STATUS_INVALID_OPTION, asked.takeError());
        llvm::Expected<std::vector<WhatIfRow>> rows =
            asked->run(*state.module, unwrap(options)->step,
                       [&](planning::SolverOptions &) {
                         return !unwrap(options)->isInterrupted;
                       });
        if (!rows)
          return call.fail(REMAT_STATUS_COMPILE_ERROR, rows.takeError());
        giveJson(toJson(*rows), json);
        return REMAT_STATUS_OK;
      });
}
