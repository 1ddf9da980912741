//===- ExampleAlgorithm.h - an algorithm from outside -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An algorithm as a program outside of this repository would add it: it uses
// public headers only, and is registered under a name. docs/planning.md shows
// the same code; test/Planning/example.test compares the two.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_EXAMPLEALGORITHM_H
#define REMAT_TEST_UNIT_PLANNING_EXAMPLEALGORITHM_H

// [begin example]
#include "remat/Planning/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

using namespace remat::planning;

/// The plan that keeps all values but `dropped`: these are recomputed right
/// before each backward op that reads them, after what they need.
static Plan planWithout(const Problem &problem,
                        llvm::ArrayRef<ValueId> dropped) {
  std::vector<bool> isKept(problem.values.size(), true), isHere;
  for (ValueId value : dropped)
    isKept[value] = false;
  Plan plan;
  std::function<void(ValueId)> bringBack = [&](ValueId value) {
    value = problem.rootOf(value);
    if (isHere[value])
      return;
    isHere[value] = true;
    OpId op = problem.values[value].producer;
    llvm::for_each(problem.ops[op].operands, bringBack);
    plan.run(op);
  };
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    isHere = isKept;
    if (problem.ops[op].backward)
      llvm::for_each(problem.ops[op].operands, bringBack);
    plan.run(op);
  }
  return plan;
}

/// Drops the largest forward values, as few of them as it takes.
static llvm::Expected<Solution> planLargestFirst(const Problem &problem,
                                                 const SolverOptions &options) {
  std::vector<ValueId> values;
  for (const Op &op : problem.ops)
    for (ValueId value : op.results)
      if (!op.backward && op.recomputable &&
          problem.values[value].recomputable &&
          problem.values[value].policy == Policy::None)
        values.push_back(value);
  llvm::stable_sort(values, [&](ValueId a, ValueId b) {
    return problem.values[a].bytes > problem.values[b].bytes;
  });
  for (size_t count = 0; count <= values.size(); ++count) {
    Plan plan = planWithout(problem, llvm::ArrayRef(values).take_front(count));
    llvm::Expected<Solution> solution =
        evaluatePlan(problem, std::move(plan), "largest-first");
    if (solution || !solution.errorIsA<InfeasibleBudgetError>())
      return solution;
    llvm::consumeError(solution.takeError());
    if (options.isInterrupted())
      break;
  }
  return llvm::make_error<InfeasibleBudgetError>(*problem.deviceBudget, 0, "");
}

/// Call this before anything is planned.
static llvm::Error registerLargestFirst() {
  return registerSolver({"largest-first",
                         "drops the largest forward values until the rest fits",
                         planLargestFirst});
}
// [end example]

#endif // REMAT_TEST_UNIT_PLANNING_EXAMPLEALGORITHM_H
