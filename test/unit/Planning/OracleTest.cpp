//===- OracleTest.cpp - everything against exhaustive search --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thousand tiny problems whose best plans are known. The simulator and the
// verifier have to agree with the oracle about these plans, and no algorithm
// may claim to be better.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "Problems.h"

using namespace remat::planning;

namespace {

constexpr uint64_t numProblems = 1000;

TEST(Oracle, KnowsSmallChains) {
  EXPECT_EQ(smallestPlan(chain(3))->value, 4);
  EXPECT_EQ(cheapestPlan(chain(3), 4)->value, 6);
  EXPECT_FALSE(cheapestPlan(chain(3), 3).has_value());
  // f0 once more.
  EXPECT_EQ(cheapestPlan(chain(4), 4)->value, 9);
  Problem problem = chain(4);
  problem.ops[0].absorbedCost = 0;
  EXPECT_EQ(cheapestPlan(problem, 4)->value, 8);
}

TEST(Oracle, AgreesWithSimulatorAndVerifier) {
  unsigned infeasible = 0, kinds[6] = {};
  for (uint64_t seed = 0; seed < numProblems; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = tinyProblem(seed);
    ASSERT_EQ(message(check(problem)), "");
    std::optional<BestPlan> smallest = smallestPlan(problem);
    if (!smallest) {
      ++infeasible;
      continue;
    }
    // The peak, to the byte; one byte less is not accepted.
    Problem limited = problem;
    limited.deviceBudget = smallest->value;
    EXPECT_EQ(message(verify(limited, smallest->plan)), "");
    Simulation simulation = llvm::cantFail(simulate(limited, smallest->plan));
    EXPECT_EQ(simulation.peakBytes, smallest->value);
    EXPECT_FALSE(cheapestPlan(problem, smallest->value - 1).has_value());
    for (int64_t slack : {0, 3}) {
      std::optional<BestPlan> best =
          cheapestPlan(problem, smallest->value + slack);
      ASSERT_TRUE(best.has_value());
      limited.deviceBudget = smallest->value + slack;
      EXPECT_EQ(message(verify(limited, best->plan)), "");
      simulation = llvm::cantFail(simulate(limited, best->plan));
      EXPECT_EQ(simulation.cost, best->value);
      EXPECT_EQ(simulation.time, best->value);
      for (const Action &action : best->plan.actions)
        ++kinds[size_t(action.kind)];
    }
  }
  // A MUST_CPU_OFFLOAD beyond the host budget, and nothing else.
  EXPECT_LT(infeasible, numProblems / 20);
  for (unsigned count : kinds)
    EXPECT_GT(count, 20u);
}

} // namespace
