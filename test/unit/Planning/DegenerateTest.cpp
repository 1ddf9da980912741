//===- DegenerateTest.cpp - every algorithm on the corner cases -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of degenerate problems for all algorithms: empty problems, zero
// budgets, zero sizes, zero costs. Each algorithm either returns a legal plan
// or says why it has none.
//
//===----------------------------------------------------------------------===//

#include "Problems.h"

using namespace remat::planning;

namespace {

struct Row {
  std::string name;
  Problem problem;
  /// What the best plan costs; nothing if there is no plan.
  std::optional<int64_t> cost;
};

/// A problem from a function that fills it in.
template <typename Fill>
Problem make(Fill fill) {
  Problem problem;
  fill(problem);
  return problem;
}

Problem withBudget(Problem problem, int64_t budget) {
  problem.deviceBudget = budget;
  return problem;
}

/// `change` applied to every op and every value of chain(4, 8).
template <typename Change>
Problem chainWith(Change change) {
  Problem problem = chain(4, 8);
  for (Op &op : problem.ops)
    for (ValueId result : op.results)
      change(op, problem.values[result]);
  return problem;
}

void addEmptyRows(std::vector<Row> &rows) {
  rows.push_back({"empty", Problem(), 0});
  rows.push_back({"empty, zero budget", withBudget(Problem(), 0), 0});
  rows.push_back({"an argument is the output", make([](Problem &p) {
                    p.values[p.addArgument("x")].isOutput = true;
                  }),
                  0});
  rows.push_back({"a view of an argument is the output", make([](Problem &p) {
                    p.values[p.addView(p.addArgument("x"), "v")].isOutput =
                        true;
                  }),
                  0});
  rows.push_back(
      {"one op",
       make([](Problem &p) { p.addResult(p.addOp("a", 3, {}), "a", 8); }), 3});
  rows.push_back({"one op that just fits",
                  withBudget(make([](Problem &p) {
                               p.addResult(p.addOp("a", 3, {}), "a", 8);
                             }),
                             8),
                  3});
  rows.push_back({"one op, no result", make([](Problem &p) {
                    p.ops[p.addOp("a", 3, {})].recomputable = false;
                  }),
                  3});
  rows.push_back({"only workspace",
                  withBudget(make([](Problem &p) {
                               p.ops[p.addOp("a", 3, {})].workspace = 9;
                             }),
                             9),
                  3});
}

void addChainRows(std::vector<Row> &rows) {
  rows.push_back({"zero budget", withBudget(chain(4, 8), 0), std::nullopt});
  rows.push_back({"zero sizes", chain(4, 0), 8});
  rows.push_back({"zero sizes, zero budget", withBudget(chain(4, 0), 0), 8});
  Problem free = chainWith([](Op &op, Value &) { op.cost = 0; });
  rows.push_back({"zero costs", free, 0});
  rows.push_back({"zero costs, least budget", withBudget(free, 32), 0});
  rows.push_back({"zero costs, zero sizes, zero budget",
                  withBudget(chainWith([](Op &op, Value &value) {
                               op.cost = value.bytes = 0;
                             }),
                             0),
                  0});
  Problem once = chainWith([](Op &op, Value &) { op.recomputable = false; });
  rows.push_back({"all ops run once", withBudget(once, 40), 8});
  rows.push_back(
      {"all ops run once, too small", withBudget(once, 39), std::nullopt});
  Problem saved =
      chainWith([](Op &, Value &value) { value.policy = Policy::MustSave; });
  rows.push_back({"all values are MUST_SAVE", withBudget(saved, 40), 8});
  rows.push_back({"all values are MUST_SAVE, too small", withBudget(saved, 39),
                  std::nullopt});
  rows.push_back({"no backward phase",
                  chainWith([](Op &op, Value &) { op.backward = false; }), 8});
  rows.push_back({"no forward phase",
                  chainWith([](Op &op, Value &) { op.backward = true; }), 8});
  rows.push_back({"all values are outputs",
                  chainWith([](Op &, Value &value) { value.isOutput = true; }),
                  8});
  rows.push_back({"no output",
                  chainWith([](Op &, Value &value) { value.isOutput = false; }),
                  8});
  rows.push_back({"largest budget", withBudget(chain(4, 8), INT64_MAX), 8});
  rows.push_back({"largest sizes", chain(4, int64_t(1) << 52), 8});
}

void addShapeRows(std::vector<Row> &rows) {
  rows.push_back({"unused results",
                  withBudget(make([](Problem &p) {
                               OpId a = p.addOp("a", 1, {});
                               p.addResult(a, "unused", 5);
                               ValueId used = p.addResult(a, "used", 3);
                               OpId b = p.addOp("b", 1, used);
                               p.addResult(b, "b", 5);
                             }),
                             8),
                  2});
  rows.push_back({"duplicate operands",
                  withBudget(make([](Problem &p) {
                               ValueId a =
                                   p.addResult(p.addOp("a", 1, {}), "a", 5);
                               ValueId v = p.addView(a, "v");
                               OpId b = p.addOp("b", 1, {a, a, v, v});
                               p.addResult(b, "b", 5);
                             }),
                             10),
                  2});
  rows.push_back({"an output that is also an argument and read",
                  make([](Problem &p) {
                    ValueId x = p.addArgument("x", 4);
                    p.values[x].isOutput = true;
                    p.addResult(p.addOp("a", 1, x), "a", 5);
                  }),
                  1});
  rows.push_back({"ops that nothing connects",
                  withBudget(make([](Problem &p) {
                               for (int i = 0; i < 5; ++i)
                                 p.addResult(p.addOp("a", 1, {}), "a", 5);
                             }),
                             5),
                  5});
}

std::vector<Row> table() {
  std::vector<Row> rows;
  addEmptyRows(rows);
  addChainRows(rows);
  addShapeRows(rows);
  return rows;
}

/// Whatever an algorithm returns is legal, and what it fails with is a text.
void expectSane(const Row &row, llvm::Expected<Solution> solution) {
  if (!solution) {
    EXPECT_NE(message(solution.takeError()), "");
    return;
  }
  ASSERT_TRUE(row.cost.has_value()) << "a plan where there is none";
  EXPECT_EQ(message(verify(row.problem, solution->plan)), "");
  Simulation simulation = llvm::cantFail(simulate(row.problem, solution->plan));
  EXPECT_EQ(message(verifyClaims(simulation,
                                 {solution->peakBytes, solution->hostPeakBytes,
                                  solution->cost, solution->time})),
            "");
  EXPECT_GE(solution->cost, *row.cost);
  EXPECT_LE(solution->lowerBound, solution->time);
  EXPECT_GE(solution->gap(), 0.0);
  EXPECT_GE(solution->overheadPercent(), 0.0);
}

TEST(Degenerate, EverySolverOnEveryRow) {
  SolverOptions options;
  options.effort = 0.02;
  for (const Row &row : table()) {
    SCOPED_TRACE(row.name);
    ASSERT_EQ(message(check(row.problem)), "");
    for (const SolverInfo &solver : getSolvers()) {
      SCOPED_TRACE(solver.name);
      expectSane(row, solve(row.problem, solver.name, options));
    }
  }
}

TEST(Degenerate, AutoIsOptimalOnEveryRow) {
  // The answer is a plan, or an error with the smallest feasible budget.
  for (const Row &row : table()) {
    SCOPED_TRACE(row.name);
    llvm::Expected<Solution> solution = solve(row.problem, "auto");
    if (row.cost) {
      ASSERT_TRUE(bool(solution)) << message(solution.takeError());
      EXPECT_EQ(solution->cost, *row.cost);
      continue;
    }
    ASSERT_FALSE(bool(solution));
    bool stated = false;
    llvm::handleAllErrors(
        solution.takeError(),
        [&](const InfeasibleBudgetError &error) {
          stated = error.getSmallestFeasible() > error.getBudget();
        },
        [](const llvm::ErrorInfoBase &error) {
          ADD_FAILURE() << error.message();
        });
    EXPECT_TRUE(stated);
  }
}

} // namespace
