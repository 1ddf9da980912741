//===- Problems.h - small problems for the planning tests -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chains and random graphs, and helpers to state what is expected of errors.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_PROBLEMS_H
#define REMAT_TEST_UNIT_PLANNING_PROBLEMS_H

#include "remat/Planning/Algorithms.h"

#include "gtest/gtest.h"

#include <random>

namespace remat::planning {

inline std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : std::string();
}

inline testing::AssertionResult mentions(const std::string &text,
                                         llvm::StringRef part) {
  if (llvm::StringRef(text).contains(part))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "'" << text << "' does not mention '" << part.str() << "'";
}

/// Options with so much effort.
inline SolverOptions withEffort(double units) {
  SolverOptions options;
  options.effort = units;
  return options;
}

/// What the algorithm itself says. Where no plan fits, `solve` also looks for
/// the smallest budget, which takes longer than the algorithm and has tests of
/// its own.
inline llvm::Expected<Solution> runAlgorithm(const Problem &problem,
                                             llvm::StringRef name,
                                             const SolverOptions &options) {
  return llvm::cantFail(findSolver(name)).function(problem, options);
}

/// f_0 .. f_{n-1}, loss-free: b_i reads b_{i+1}, f_i and f_{i-1}; every value
/// has `bytes` bytes and every op costs 1. The last gradient is the output.
inline Problem chain(unsigned n, int64_t bytes = 1) {
  Problem problem;
  problem.name = "chain";
  std::vector<ValueId> f;
  for (unsigned i = 0; i < n; ++i) {
    std::vector<ValueId> operands;
    if (i)
      operands.push_back(f.back());
    OpId op = problem.addOp("f" + std::to_string(i), 1, operands);
    f.push_back(problem.addResult(op, "f" + std::to_string(i), bytes));
  }
  ValueId gradient = noValue;
  for (unsigned i = n; i-- > 0;) {
    std::vector<ValueId> operands = {f[i]};
    if (i)
      operands.push_back(f[i - 1]);
    if (gradient != noValue)
      operands.push_back(gradient);
    OpId op = problem.addOp("b" + std::to_string(i), 1, operands, true);
    gradient = problem.addResult(op, "b" + std::to_string(i), bytes);
  }
  problem.values[gradient].isOutput = true;
  return problem;
}

/// A random problem with everything that the schema allows: arguments, views,
/// several results or none, workspaces, zero sizes and costs, ops that run
/// once, and both phases.
inline Problem randomProblem(uint64_t seed, unsigned n) {
  std::mt19937_64 random(seed);
  Problem problem;
  problem.name = "random";
  std::vector<ValueId> values = {problem.addArgument("x"),
                                 problem.addArgument("w")};
  for (unsigned i = 0; i < n; ++i) {
    std::vector<ValueId> operands;
    for (unsigned k = random() % 3 + (i > 0); k-- > 0;) {
      // Mostly recent values, sometimes old ones.
      size_t back = random() % 4 ? random() % 5 : random() % values.size();
      operands.push_back(
          values[values.size() - 1 - std::min(back, values.size() - 1)]);
    }
    std::string name = "v" + std::to_string(i);
    OpId op = problem.addOp(name, random() % 8, operands, i >= n / 2);
    problem.ops[op].workspace = random() % 4 ? 0 : random() % 50;
    problem.ops[op].recomputable = random() % 8 != 0;
    for (unsigned k = random() % 10 ? 1 : random() % 3; k-- > 0;) {
      values.push_back(problem.addResult(op, name + "." + std::to_string(k),
                                         random() % 6 ? random() % 100 : 0));
      problem.values.back().isOutput = random() % 10 == 0;
    }
    if (random() % 6 == 0)
      values.push_back(problem.addView(values.back(), name + ".view"));
  }
  problem.values[values.back()].isOutput = true;
  return problem;
}

/// Lets some of the ops that can be absorbed be so by some later ops only.
inline void limitAbsorbers(Problem &problem, std::mt19937_64 &random) {
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    if (!problem.ops[op].absorbedCost || random() % 3 == 0)
      continue;
    for (OpId reader = op + 1; reader < problem.ops.size(); ++reader)
      if (random() % 2)
        problem.ops[op].absorbers.push_back(reader);
  }
}

/// The same with a link, packed forms, absorption, and arguments that take
/// bytes, read or not.
inline Problem richProblem(uint64_t seed, unsigned n) {
  Problem problem = randomProblem(seed, n);
  std::mt19937_64 random(seed + 17);
  problem.addArgument("unread", 1 + random() % 50);
  problem.linkBytesPerSecond = 1000000000;
  for (Value &value : problem.values) {
    if (value.isArgument && random() % 2)
      value.bytes = random() % 100;
    value.transferBytes = value.bytes;
    if (value.producer != noOp && value.bytes && random() % 2)
      value.packed = PackedForm{int64_t(random() % value.bytes),
                                int64_t(random() % 5), int64_t(random() % 5)};
  }
  for (Op &op : problem.ops)
    if (op.recomputable && random() % 2)
      op.absorbedCost = random() % (op.cost + 1);
  if (random() % 2)
    limitAbsorbers(problem, random);
  return problem;
}

/// A small effort.
inline SolverOptions quick() {
  SolverOptions options;
  options.effort = 0.02;
  return options;
}

inline Solution saveAll(const Problem &problem) {
  return llvm::cantFail(solve(problem, "save-all"));
}

/// Gives some values a policy, where it does not contradict another.
inline void addPolicies(Problem &problem, uint64_t seed) {
  std::mt19937_64 random(seed + 23);
  for (Value &value : problem.values) {
    if (random() % 4)
      continue;
    value.policy = Policy(random() % 7);
    if (llvm::Error error = check(problem)) {
      llvm::consumeError(std::move(error));
      value.policy = Policy::None;
    }
  }
}

} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_PROBLEMS_H
