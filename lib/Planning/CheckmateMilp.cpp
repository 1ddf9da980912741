//===- CheckmateMilp.cpp - the integer program of Checkmate ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor
// Rematerialization", MLSys 2020, section 4. Stage t computes op t for the
// first time, after recomputations among ops 0 .. t-1 in their given order; a
// last stage n brings back outputs:
//
//   R[t,i] = 1 iff op i runs in stage t, R[t,t] = 1; minimize sum cost_i R[t,i]
//
// The paper tracks memory with a product of such variables per value that may
// be freed. Here it is tracked by flow instead, which needs neither products
// nor further integers: a value is touched in a stage by its producer and its
// readers, in this order, and P[t,v,e] says that it is carried from the e-th of
// those touches to the next (from the last one: into stage t + 1).
//
//   P[t,v,e] <= P[t,v,e-1] + [v is computed at e] R[t,e]     it comes from
//                                                            somewhere
//   R[t,i]   <= P[t,v,before i]          for v read by i     operands are there
//   sum of what is carried across or into slot i, and of what i itself makes
//            and uses, is at most the budget                 for each t, i <= t
//
// For integer R the smallest P is integer, so only R has to be declared so.
//
//===----------------------------------------------------------------------===//

#include "MixedIntegerProgram.h"
#include "Residency.h"
#include "SimulateInto.h"
#include "Solution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <numeric>

using namespace llvm;

namespace remat::planning {

namespace {
constexpr int32_t none = -1;

class Model {
public:
  explicit Model(const Graph &graph) : graph(graph), problem(graph.problem) {
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

  /// Objective values are in units of this.
  int64_t unitCost() const { return costStep; }
  const MixedIntegerProgram &getProgram() const { return program; }

  /// The assignment for a plan with the given stages. Its recomputations may be
  /// in another order than the given one, in which case it may be infeasible.
  std::vector<double> encode(const StagedPlan &plan) const;
  /// The plan of an assignment.
  Plan decode(ArrayRef<double> assignment) const;

private:
  int32_t run(uint32_t stage, OpId op) const { return runs[stage][op]; }

  void build() {
    carried.assign(graph.numValues(), none);
    runs.resize(graph.numOps() + 1);
    for (uint32_t stage = 0; stage <= graph.numOps(); ++stage)
      buildStage(stage);
    for (ValueId value = 0; value < graph.numValues(); ++value)
      if (carried[value] != none && graph.isOutput(value))
        program.fix(carried[value], 1.0);
  }

  void buildStage(uint32_t stage) {
    uint32_t end = std::min<uint32_t>(stage + 1, graph.numOps());
    for (OpId op = 0; op < end; ++op) {
      int32_t variable = program.addVariable(
          double(problem.ops[op].cost / costStep), /*integer=*/true);
      runs[stage].push_back(variable);
      if (op == stage)
        program.fix(variable, 1.0);
      else if (graph.runsOnce(op))
        program.fix(variable, 0.0);
    }
    if (stage == graph.firstBackward())
      for (ValueId value = 0; value < graph.numValues(); ++value)
        if (carried[value] != none && graph.mustLeaveForward(value))
          program.fix(carried[value], 0.0);
    for (OpId op = 0; op < end; ++op)
      buildSlot(stage, op);
  }

  void buildSlot(uint32_t stage, OpId op) {
    int32_t runVariable = run(stage, op);
    int64_t made = problem.ops[op].workspace;
    for (ValueId result : graph.results(op))
      made += graph.bytes(result);
    std::vector<MixedIntegerProgram::Term> memory;
    for (ValueId value = 0; value < graph.numValues(); ++value)
      if (carried[value] != none && graph.bytes(value))
        memory.push_back(
            {carried[value], double(graph.bytes(value) / byteStep)});
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

  int32_t addCarry(ValueId value, uint32_t stage, OpId op) {
    carries.push_back({value, stage, op});
    int32_t variable = program.addVariable(0.0, /*integer=*/false);
    carryOf.push_back(variable);
    return variable;
  }

  struct Carry {
    ValueId value;
    uint32_t stage;
    OpId op;
  };

  const Graph &graph;
  const Problem &problem;
  MixedIntegerProgram program;
  int64_t costStep = 0, byteStep = 0;
  std::vector<std::vector<int32_t>> runs;
  /// The variables P in the order of their slots, with what they stand for.
  std::vector<Carry> carries;
  std::vector<int32_t> carryOf;
  /// While building: the variable that carries each value into the slot.
  std::vector<int32_t> carried;
};
} // namespace

std::vector<double> Model::encode(const StagedPlan &plan) const {
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

Plan Model::decode(ArrayRef<double> assignment) const {
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

/// Refusals, before anything is built.
static Error checkSize(const Graph &graph) {
  const Problem &problem = graph.problem;
  auto fail = [](const Twine &message) {
    return createStringError(inconvertibleErrorCode(),
                             "solver 'milp' " + message);
  };
  if (!hasProgramSolver())
    return fail("is not available: built without HiGHS");
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

Expected<Solution> planMilp(const Problem &original,
                            const SolverOptions &options) {
  Stopwatch watch;
  // The program has no transfers, so its start must not have any either.
  Problem problem = original;
  Graph graph(original);
  if (Error error = checkSize(graph))
    return std::move(error);
  problem.linkBytesPerSecond = 0;

  SolverOptions startOptions = options;
  double timeLimit = options.timeLimitSeconds.value_or(options.effort);
  startOptions.timeLimitSeconds.reset();
  startOptions.effort = std::min(1.0, timeLimit / 10);
  Expected<Solution> greedy = planGreedy(problem, startOptions);
  if (!greedy && !greedy.errorIsA<InfeasibleBudgetError>())
    return greedy.takeError();
  if (!greedy)
    consumeError(greedy.takeError());

  Model model(graph);
  std::vector<double> start;
  if (greedy)
    start = model.encode(stagePlan(graph, greedy->plan));
  Expected<ProgramResult> result =
      minimize(model.getProgram(), start,
               timeLimit - watch.seconds(), 1.0);
  if (!result)
    return result.takeError();

  std::optional<Plan> best;
  if (greedy)
    best = greedy->plan;
  if (result->assignment) {
    Plan exact = model.decode(*result->assignment);
    Expected<Solution> solution = makeSolution(graph, exact, "milp", watch);
    // Rounding may have lost what the budget allowed.
    if (solution && (!greedy || solution->cost <= greedy->cost))
      best = std::move(exact);
    if (!solution)
      consumeError(solution.takeError());
  }
  if (!best)
    return make_error<InfeasibleBudgetError>(original.deviceBudget.value_or(0),
                                             0, std::string());
  Expected<Solution> solution =
      makeSolution(graph, std::move(*best), "milp", watch);
  if (!solution || result->status == ProgramResult::Status::Infeasible ||
      !std::isfinite(result->bound))
    return solution;
  // All costs are multiples of the unit; what is lost to rounding is given
  // back.
  double units = std::ceil(result->bound * (1 - 1e-9) - 1e-6);
  int64_t bound = int64_t(units) * model.unitCost();
  solution->lowerBound =
      std::clamp(bound, solution->lowerBound, solution->cost);
  return solution;
}

} // namespace remat::planning
