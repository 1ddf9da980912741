//===- MixedIntegerProgram.cpp - integer programs on HiGHS ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only file that knows HiGHS, by its C interface. REMAT_HAS_HIGHS is
// defined for this file alone.
//
//===----------------------------------------------------------------------===//

#include "MixedIntegerProgram.h"
#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"

#ifdef REMAT_HAS_HIGHS
#include "interfaces/highs_c_api.h"
#endif

using namespace llvm;

namespace remat::planning {

int32_t MixedIntegerProgram::addVariable(double variableCost, bool isInteger,
                                         double bound) {
  cost.push_back(variableCost);
  lower.push_back(0.0);
  upper.push_back(bound);
  integer.push_back(isInteger);
  return numVariables() - 1;
}

int64_t iterationsFor(double seconds, double variables, bool relaxed) {
  double steps = relaxed ? ProgramTuning::relaxedStepsPerSecond
                         : ProgramTuning::stepsPerSecond;
  return int64_t(seconds * steps / std::max(variables, 1.0));
}

void MixedIntegerProgram::fix(int32_t variable, double value) {
  lower[variable] = upper[variable] = value;
}

void MixedIntegerProgram::addRow(ArrayRef<Term> terms, double bound) {
  rowBegin.push_back(int32_t(column.size()));
  for (auto [variable, factor] : terms) {
    column.push_back(variable);
    coefficient.push_back(factor);
  }
  rowUpper.push_back(bound);
}

#ifdef REMAT_HAS_HIGHS

bool hasProgramSolver() { return true; }

static Error passProgram(void *highs, const MixedIntegerProgram &program) {
  std::vector<double> rowLower(program.rowUpper.size(),
                               -Highs_getInfinity(highs));
  std::vector<HighsInt> begin(program.rowBegin.begin(), program.rowBegin.end());
  std::vector<HighsInt> column(program.column.begin(), program.column.end());
  std::vector<HighsInt> integer(program.integer.begin(), program.integer.end());
  HighsInt status = Highs_passMip(
      highs, HighsInt(program.cost.size()), HighsInt(program.rowUpper.size()),
      HighsInt(column.size()), kHighsMatrixFormatRowwise,
      kHighsObjSenseMinimize, /*offset=*/0.0, program.cost.data(),
      program.lower.data(), program.upper.data(), rowLower.data(),
      program.rowUpper.data(), begin.data(), column.data(),
      program.coefficient.data(), integer.data());
  if (status == kHighsStatusError)
    return createStringError(inconvertibleErrorCode(),
                             "HiGHS refused an integer program of " +
                                 Twine(program.cost.size()) + " variables");
  return Error::success();
}

/// Called by the solver every now and then: says stop.
static void watchProgress(int kind, const char *,
                          const HighsCallbackDataOut *out,
                          HighsCallbackDataIn *in, void *user) {
  const auto &limits = *static_cast<const ProgramLimits *>(user);
  bool stop = limits.interrupt && *limits.interrupt;
  // With an infinite bound the solver is about to say that the program is
  // infeasible, which it would not if it were interrupted.
  if (kind == kHighsCallbackMipInterrupt)
    stop |= out->mip_dual_bound < std::numeric_limits<double>::infinity() &&
            (out->mip_total_lp_iterations > limits.iterations ||
             out->mip_dual_bound >= limits.enough);
  else
    stop |= out->simplex_iteration_count > limits.iterations;
  in->user_interrupt = stop;
}

/// What any assignment costs at least: rows are weighed with their duals, and
/// then each variable takes the better end of its range.
static double boundOf(const MixedIntegerProgram &program,
                      ArrayRef<double> rowDuals) {
  double bound = 0;
  std::vector<double> reduced = program.cost;
  for (size_t row = 0; row < program.rowUpper.size(); ++row) {
    double weight = std::min(rowDuals[row], 0.0);
    if (weight == 0.0)
      continue;
    bound += weight * program.rowUpper[row];
    size_t end = row + 1 < program.rowBegin.size() ? program.rowBegin[row + 1]
                                                   : program.column.size();
    for (size_t term = program.rowBegin[row]; term < end; ++term)
      reduced[program.column[term]] -= weight * program.coefficient[term];
  }
  for (auto [cost, lower, upper] :
       zip_equal(reduced, program.lower, program.upper))
    bound += std::min(cost * lower, cost * upper);
  return bound;
}

Expected<ProgramResult> minimize(const MixedIntegerProgram &program,
                                 ArrayRef<double> start,
                                 const ProgramLimits &limits) {
  void *highs = Highs_create();
  llvm::scope_exit destroy([&] { Highs_destroy(highs); });
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  Highs_setStringOptionValue(highs, "parallel", "off");
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setIntOptionValue(highs, "random_seed", 1);
  Highs_setDoubleOptionValue(highs, "time_limit",
                             std::max(0.0, limits.seconds));
  Highs_setDoubleOptionValue(highs, "mip_rel_gap", limits.gap);
  // A bound within less than a step of the best cost proves it optimal.
  Highs_setDoubleOptionValue(highs, "mip_abs_gap", 0.99 * limits.costStep);
  Highs_setDoubleOptionValue(highs, "objective_target", limits.target);
  Highs_setDoubleOptionValue(highs, "objective_bound", limits.cutoff);
  if (limits.relaxed) {
    // The simplex method is done before these programs are presolved.
    Highs_setBoolOptionValue(highs, "solve_relaxation", 1);
    Highs_setStringOptionValue(highs, "solver", "simplex");
    Highs_setStringOptionValue(highs, "presolve", "off");
  }
  if (Error error = passProgram(highs, program))
    return std::move(error);
  if (!start.empty())
    Highs_setSolution(highs, start.data(), nullptr, nullptr, nullptr);
  ProgramLimits watched = limits;
  Highs_setCallback(highs, watchProgress, &watched);
  Highs_startCallback(highs, kHighsCallbackSimplexInterrupt);
  Highs_startCallback(highs, kHighsCallbackMipInterrupt);
  Highs_run(highs);

  ProgramResult result;
  HighsInt status = Highs_getModelStatus(highs);
  if (status == kHighsModelStatusOptimal ||
      status == kHighsModelStatusModelEmpty)
    result.status = ProgramResult::Status::Optimal;
  else if (status == kHighsModelStatusInfeasible)
    result.status = ProgramResult::Status::Infeasible;
  Highs_getDoubleInfoValue(highs, "mip_dual_bound", &result.bound);
  HighsInt primal = 0, iterations = 0;
  Highs_getIntInfoValue(highs, "simplex_iteration_count", &iterations);
  result.iterations = std::max<HighsInt>(iterations, 0);
  Highs_getIntInfoValue(highs, "primal_solution_status", &primal);
  std::vector<double> assignment(program.cost.size()),
      duals(program.cost.size()), rows(program.rowUpper.size()),
      rowDuals(program.rowUpper.size());
  Highs_getSolution(highs, assignment.data(), duals.data(), rows.data(),
                    rowDuals.data());
  if (limits.relaxed)
    result.bound = boundOf(program, rowDuals);
  if (primal == kHighsSolutionStatusFeasible)
    result.assignment = std::move(assignment);
  return result;
}

#else

bool hasProgramSolver() { return false; }

Expected<ProgramResult> minimize(const MixedIntegerProgram &, ArrayRef<double>,
                                 const ProgramLimits &) {
  return createStringError(inconvertibleErrorCode(), "built without HiGHS");
}

#endif

} // namespace remat::planning
