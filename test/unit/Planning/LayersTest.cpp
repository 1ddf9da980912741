//===- LayersTest.cpp - few layers solved for all -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stacks of equal layers, forward and backward.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "Problems.h"

#include "llvm/ADT/STLExtras.h"

using namespace remat::planning;

namespace {

/// Ops of a layer, in each phase.
constexpr unsigned parts = 7;

/// `count` layers, between a first and a last op of their own. Every layer has
/// a parameter.
Problem stack(unsigned count) {
  constexpr int64_t bytes[parts] = {40, 13, 20, 71, 33, 45, 20},
                    costs[parts] = {3, 50, 11, 23, 37, 5, 29};
  Problem problem;
  problem.name = "stack";
  auto add = [&](int64_t cost, llvm::ArrayRef<ValueId> operands, int64_t bytes,
                 bool backward = false) {
    OpId op = problem.addOp("op", cost, operands, backward);
    return problem.addResult(op, "v", bytes);
  };
  ValueId x = add(7, {}, 20);
  std::vector<ValueId> made = {x}, weights;
  for (unsigned layer = 0; layer < count; ++layer) {
    weights.push_back(problem.addArgument("w"));
    for (unsigned part = 0; part < parts; ++part) {
      std::vector<ValueId> operands = {x};
      if (part == 1)
        operands.push_back(weights.back());
      // A residual connection.
      if (part == parts - 1)
        operands.push_back(made[made.size() - parts]);
      x = add(costs[part], operands, bytes[part]);
      made.push_back(x);
    }
  }
  ValueId gradient = add(5, {x}, 20, true);
  for (unsigned layer = count; layer-- > 0;)
    for (unsigned part = parts; part-- > 0;) {
      size_t at = parts * layer + part;
      std::vector<ValueId> operands = {gradient, made[at], made[at + 1]};
      if (part == 1)
        operands.push_back(weights[layer]);
      gradient = add(2 * costs[part], operands, at ? bytes[part] : 20, true);
    }
  problem.values[gradient].isOutput = true;
  return problem;
}

int64_t peakOf(const Problem &problem) {
  return cantFail(planSaveAll(problem)).peakBytes;
}

TEST(Layers, AreFound) {
  Problem problem = stack(50);
  Graph graph(problem);
  Layering layering = findLayers(graph);
  EXPECT_GE(layering.count, 46u);
  EXPECT_LE(layering.count, 50u);
  ASSERT_EQ(layering.ops.size(), 2 * parts);
  int64_t up = 0;
  for (const std::vector<OpId> &ops : layering.ops) {
    ASSERT_EQ(ops.size(), layering.count);
    for (auto [layer, op] : llvm::enumerate(ops)) {
      EXPECT_EQ(problem.ops[op].cost, problem.ops[ops[0]].cost);
      EXPECT_EQ(problem.ops[op].backward, problem.ops[ops[0]].backward);
      EXPECT_EQ(layering.layerOf[op], layer);
    }
    // The phases go through them in opposite directions.
    int64_t distance = int64_t(ops[1]) - int64_t(ops[0]);
    EXPECT_EQ(std::abs(distance), parts);
    up += problem.ops[ops[0]].backward ? -distance : distance;
  }
  EXPECT_EQ(std::abs(up), 2 * parts * parts);
}

TEST(Layers, AreLeftOut) {
  Problem problem = stack(50);
  int64_t peak = peakOf(problem);
  problem.deviceBudget = peak / 2;
  Graph graph(problem);
  Layering layering = findLayers(graph);
  std::optional<ReducedProblem> reduced = leaveLayersOut(graph, layering, 8);
  ASSERT_TRUE(reduced.has_value());
  EXPECT_EQ(message(check(reduced->problem)), "");
  EXPECT_EQ(reduced->problem.ops.size(),
            problem.ops.size() - 2 * parts * (layering.count - 8));
  // It is the problem of a smaller stack.
  Problem small = stack(50 - layering.count + 8);
  EXPECT_EQ(reduced->problem.baseCost(), small.baseCost());
  Problem unbounded = reduced->problem;
  unbounded.deviceBudget.reset();
  EXPECT_EQ(peakOf(unbounded), peakOf(small));
  EXPECT_EQ(peakOf(unbounded) - *reduced->problem.deviceBudget,
            (peak - *problem.deviceBudget) * 8 / layering.count);
  // Not without its budget, and not if nothing would be left out.
  EXPECT_FALSE(leaveLayersOut(graph, layering, layering.count).has_value());
  problem.deviceBudget.reset();
  EXPECT_FALSE(leaveLayersOut(graph, layering, 8).has_value());
}

TEST(Layers, OneIsNotLikeTheOthers) {
  for (OpId odd : {100u, 175u, 500u, 530u}) {
    SCOPED_TRACE(odd);
    Problem problem = stack(50);
    problem.ops[odd].cost += 1;
    problem.deviceBudget = peakOf(problem) / 2;
    Graph graph(problem);
    Layering layering = findLayers(graph);
    std::optional<ReducedProblem> reduced = leaveLayersOut(graph, layering, 8);
    // It is still there, if any are left out.
    if (reduced)
      EXPECT_TRUE(llvm::is_contained(reduced->original, odd));
  }
}

TEST(Layers, ManyAsGoodAsFew) {
  double few = 0;
  for (unsigned count : {20u, 200u, 2000u}) {
    SCOPED_TRACE(count);
    Problem problem = stack(count);
    problem.deviceBudget = peakOf(problem) * 6 / 10;
    SolverOptions options;
    options.effort = 0.2;
    llvm::Expected<Solution> solution = solve(problem, "layers", options);
    ASSERT_TRUE(bool(solution)) << message(solution.takeError());
    EXPECT_EQ(message(verify(problem, solution->plan)), "");
    if (count == 20)
      few = solution->overheadPercent();
    EXPECT_LT(solution->overheadPercent(), 1.01 * few);
    options.effort = 0.1;
    llvm::Expected<Solution> best = solve(problem, "auto", options);
    ASSERT_TRUE(bool(best)) << message(best.takeError());
    EXPECT_LT(best->overheadPercent(), 1.01 * few);
  }
}

TEST(Layers, NoneSaysSo) {
  Problem problem = randomProblem(3, 40);
  problem.deviceBudget = peakOf(problem) / 2;
  EXPECT_TRUE(mentions(message(planLayers(problem).takeError()),
                       "planner 'layers' needs equal layers"));
  Problem empty;
  EXPECT_TRUE(mentions(message(planLayers(empty).takeError()), "has none"));
}

} // namespace
