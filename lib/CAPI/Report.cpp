//===- Report.cpp - what is known of a step, as JSON ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Pipelines/LoopDecisions.h"
#include "remat/Pipelines/SummaryJson.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Utils/Utf8.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

/// Arguments or results: their names, or their places where they have none.
static llvm::json::Array
describe(TypeRange types, StringRef kind,
         llvm::function_ref<DictionaryAttr(unsigned)> getAttrs) {
  llvm::json::Array array;
  for (auto [number, type] : llvm::enumerate(types)) {
    std::string name = (kind + Twine(number)).str();
    if (DictionaryAttr attrs = getAttrs(number))
      if (auto given = attrs.getAs<StringAttr>(RematDialect::nameAttrName))
        name = given.str();
    auto tensor = cast<RankedTensorType>(type);
    llvm::json::Object object{{"name", toUtf8(name)},
                              {"shape", llvm::json::Array(tensor.getShape())}};
    if (kind == "result")
      object["exists"] = !getAttrs(number) || !getAttrs(number).contains(
                                                  RematDialect::absentAttrName);
    if (auto dtype = codegen::getDtype(tensor.getElementType())) {
      object["dtype"] = remat_dtype_name(*dtype);
      object["bytes"] =
          tensor.getNumElements() * int64_t(remat_dtype_bytes(*dtype));
    }
    array.push_back(std::move(object));
  }
  return array;
}

static llvm::json::Object summarize(GraphOp graph) {
  StepSummary summary = summarizeStep(graph);
  llvm::json::Object object{
      {"schema", "remat.summary/1"},
      {"function", toUtf8(graph.getName())},
      {"state_bytes", summary.stateBytes},
      {"backward_calls", int64_t(GraphLiveness(graph).callBegins.size())}};
  addSummary(object, summary);
  object["budget_bytes"] = nullptr;
  if (graph.getBudget())
    object["budget_bytes"] = int64_t(*graph.getBudget());
  object["arguments"] =
      describe(graph.getArgumentTypes(), "arg",
               [&](unsigned number) { return graph.getArgAttrDict(number); });
  for (auto [number, argument] : llvm::enumerate(*object.getArray("arguments")))
    if (std::optional<int64_t> result = getDonatedResult(graph, number))
      (*argument.getAsObject())["donated_to"] = *result;
  object["results"] =
      describe(graph.getResultTypes(), "result", [&](unsigned number) {
        return graph.getResultAttrDict(number);
      });
  return object;
}

RematStatus rematModuleGetSummary(RematModule module, RematBytes *json) {
  return runCall(__func__, module, {makeOutput("json", json)},
                 [&](Call &call, ModuleState &state) {
                   GraphOp graph;
                   if (RematStatus status =
                           requireGraph(call, state, REMAT_LEVEL_PLACED, graph))
                     return status;
                   giveJson(summarize(graph), json);
                   return REMAT_STATUS_OK;
                 });
}

RematStatus rematModuleGetExplanation(RematModule module, RematBytes *json) {
  return runCall(
      __func__, module, {makeOutput("json", json)},
      [&](Call &call, ModuleState &state) {
        if (RematStatus status = requirePlan(call, state))
          return status;
        const planning::Problem &problem = state.plan->problem;
        llvm::Expected<planning::Explanation> explanation =
            planning::explain(problem, state.plan->solution.plan);
        if (!explanation)
          return call.fail(REMAT_STATUS_COMPILE_ERROR, explanation.takeError());
        llvm::json::Value values = planning::toJson(problem, *explanation);
        addLoopDecisions(state.plan->decisions, *values.getAsArray());
        giveJson(std::move(values), json);
        return REMAT_STATUS_OK;
      });
}

RematStatus rematModuleGetFrontier(RematModule module, RematOptions options,
                                   unsigned points, RematBytes *json) {
  return runCall(
      __func__, module, {{"options", options.ptr}, makeOutput("json", json)},
      [&](Call &call, ModuleState &state) {
        if (points < 2)
          return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                           "a frontier has at least 2 points, got " +
                               Twine(points));
        GraphOp graph;
        if (RematStatus status =
                requireGraph(call, state, REMAT_LEVEL_TASKS, graph))
          return status;
        const PlanOptions &plan = unwrap(options)->step.plan;
        llvm::Expected<planning::Frontier> frontier =
            computeFrontier(graph, plan, points);
        if (!frontier)
          return call.fail(REMAT_STATUS_COMPILE_ERROR, frontier.takeError());
        giveJson(planning::toJson(*frontier), json);
        return REMAT_STATUS_OK;
      });
}
