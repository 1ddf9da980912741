//===- CheckmateModel.cpp - Checkmate's integer program -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the program, and translates between assignments and plans.
//
//===----------------------------------------------------------------------===//

#include "CheckmateModel.h"
#include "remat/Planning/Algorithms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <numeric>

using namespace llvm;

namespace remat::planning {

CheckmateModel::CheckmateModel(const Graph &graph,
                               std::vector<bool> mayRunAgain)
    : graph(graph), problem(graph.problem),
      mayRunAgain(std::move(mayRunAgain)) {
  this->mayRunAgain.resize(graph.numOps(), true);
  for (const Op &op : problem.ops)
    costStep = std::gcd(costStep, op.cost);
  for (const Value &value : problem.values)
    byteStep = std::gcd(byteStep, value.bytes);
  for (const Op &op : problem.ops)
    byteStep = std::gcd(byteStep, op.workspace);
  costStep = std::max<int64_t>(costStep, 1);
  byteStep = std::max<int64_t>(byteStep, 1);
  build();
}

void CheckmateModel::build() {
  carried.assign(graph.numValues(), none);
  runs.resize(graph.numOps() + 1);
  for (uint32_t stage = 0; stage <= graph.numOps(); ++stage)
    buildStage(stage);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (carried[value] != none && graph.isOutput(value))
      program.fix(carried[value], 1.0);
}

void CheckmateModel::buildStage(uint32_t stage) {
  uint32_t end = std::min<uint32_t>(stage + 1, graph.numOps());
  for (OpId op = 0; op < end; ++op) {
    int32_t variable = program.addVariable(
        double(problem.ops[op].cost / costStep), /*integer=*/true);
    runs[stage].push_back(variable);
    if (op == stage)
      program.fix(variable, 1.0);
    else if (graph.runsOnce(op) || !mayRunAgain[op])
      program.fix(variable, 0.0);
  }
  if (stage == graph.firstBackward())
    for (ValueId value = 0; value < graph.numValues(); ++value)
      if (carried[value] != none && graph.mustLeaveForward(value))
        program.fix(carried[value], 0.0);
  // What cannot run again in this stage needs no slot in it.
  for (OpId op = 0; op < end; ++op)
    if (op == stage || (mayRunAgain[op] && !graph.runsOnce(op)))
      buildSlot(stage, op);
}

void CheckmateModel::buildSlot(uint32_t stage, OpId op) {
  int32_t runVariable = run(stage, op);
  int64_t made = problem.ops[op].workspace;
  for (ValueId result : graph.results(op))
    made += graph.bytes(result);
  std::vector<MixedIntegerProgram::Term> memory;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (carried[value] != none && graph.bytes(value))
      memory.push_back({carried[value], double(graph.bytes(value) / byteStep)});
  if (made)
    memory.push_back({runVariable, double(made / byteStep)});
  if (problem.deviceBudget)
    program.addRow(memory, double(*problem.deviceBudget / byteStep));

  for (ValueId value : graph.operands(op)) {
    if (graph.isArgument(value))
      continue;
    program.addRow({{runVariable, 1.0}, {carried[value], -1.0}}, 0.0);
    int32_t after = addCarry(value, stage, op);
    program.addRow({{after, 1.0}, {carried[value], -1.0}}, 0.0);
    carried[value] = after;
  }
  for (ValueId value : graph.results(op)) {
    int32_t after = addCarry(value, stage, op);
    if (carried[value] == none)
      program.addRow({{after, 1.0}, {runVariable, -1.0}}, 0.0);
    else
      program.addRow(
          {{after, 1.0}, {runVariable, -1.0}, {carried[value], -1.0}}, 0.0);
    carried[value] = after;
  }
}

int32_t CheckmateModel::addCarry(ValueId value, uint32_t stage, OpId op) {
  carries.push_back({value, stage, op});
  int32_t variable = program.addVariable(0.0, /*integer=*/false);
  carryOf.push_back(variable);
  return variable;
}

std::vector<double> CheckmateModel::encode(const StagedPlan &plan) const {
  std::vector<double> assignment(program.numVariables(), 0.0);
  for (auto [action, stage] : zip_equal(plan.plan.actions, plan.stages))
    if (action.kind == ActionKind::Run)
      assignment[run(stage, action.id)] = 1.0;
  // From the end: a value is carried out of a slot if the next op that reads
  // it comes before the next one that makes it.
  std::vector<bool> needed(graph.numValues(), false);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    needed[value] = graph.isOutput(value);
  for (size_t i = carries.size(); i-- > 0;) {
    const Carry &carry = carries[i];
    assignment[carryOf[i]] = needed[carry.value];
    if (assignment[run(carry.stage, carry.op)] < 0.5)
      continue;
    needed[carry.value] = graph.producer(carry.value) != carry.op;
  }
  return assignment;
}

Plan CheckmateModel::decode(ArrayRef<double> assignment) const {
  Plan plan;
  for (const std::vector<int32_t> &stage : runs)
    for (auto [op, variable] : enumerate(stage))
      if (assignment[variable] > 0.5)
        plan.run(op);
  // Runs that nobody reads cost nothing in the model only if they are free;
  // they go, from the back so that what only they read goes with them.
  std::vector<bool> needed(graph.numValues(), false), kept;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    needed[value] = graph.isOutput(value);
  std::vector<unsigned> copies = copyNumbers(problem, plan);
  Plan useful;
  for (size_t i = plan.actions.size(); i-- > 0;) {
    OpId op = plan.actions[i].id;
    bool wanted = copies[i] == 0;
    for (ValueId result : graph.results(op))
      wanted |= needed[result];
    if (!wanted)
      continue;
    for (ValueId result : graph.results(op))
      needed[result] = false;
    for (ValueId operand : graph.operands(op))
      needed[operand] = true;
    useful.run(op);
  }
  std::reverse(useful.actions.begin(), useful.actions.end());
  return useful;
}

Residency CheckmateModel::carriedAcross(ArrayRef<double> assignment,
                                        double threshold) const {
  Residency residency(graph);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    residency.drop(value, 0, graph.numOps());
  // The last slot of a stage that touches a value carries it into the next.
  std::vector<uint32_t> next(graph.numValues(), ~uint32_t(0));
  for (size_t i = carries.size(); i-- > 0;) {
    const Carry &carry = carries[i];
    bool lastOfStage = next[carry.value] != carry.stage;
    next[carry.value] = carry.stage;
    if (lastOfStage && carry.stage < graph.numOps() &&
        assignment[carryOf[i]] >= threshold)
      residency.carry(carry.value, carry.stage, carry.stage + 1);
  }
  return residency;
}

Error checkModelSize(const Graph &graph, StringRef solver) {
  const Problem &problem = graph.problem;
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(),
                             "planner '" + solver + "' " + message);
  };
  if (!hasProgramSolver())
    return fail("needs HiGHS, which this build does not have: configure with "
                "an installed HiGHS or with REMAT_FETCH_HIGHS=ON");
  if (graph.numOps() > milpOpLimit)
    return fail("takes at most " + Twine(milpOpLimit) + " ops, got " +
                Twine(graph.numOps()));
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.mustLeaveForward(value) &&
        graph.policy(value) == Policy::MustCpuOffload)
      return fail("cannot offload, and value '" + problem.values[value].name +
                  "' is MUST_CPU_OFFLOAD");
  return Error::success();
}

} // namespace remat::planning
