//===- SerializationTest.cpp - instances and schedules as JSON ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Serialization.h"
#include "Problems.h"

#include "llvm/Support/FormatVariadic.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

std::string failure(llvm::StringRef text) {
  return message(parseInstance(text).takeError());
}

std::string print(const llvm::json::Value &value) {
  return llvm::formatv("{0}", value).str();
}

TEST(Serialization, ReadsAnInstance) {
  Instance instance = cantFail(parseInstance(R"({
    "name": "x", "nodes": [
      {"id": 5, "name": "a", "cost": 3, "size": 64, "backward": false},
      {"id": 2, "name": "b", "cost": 4, "size": 8, "workspace": 9,
       "backward": true, "policy": "MUST_SAVE"},
      {"id": 9, "size": 1}],
    "edges": [[5, 2], [9, 5]], "outputs": [2], "inputs": [9]})"));
  const Problem &problem = instance.problem;
  ASSERT_EQ(problem.ops.size(), 2u);
  EXPECT_EQ(message(check(problem)), "");
  EXPECT_EQ(problem.ops[1].workspace, 9);
  EXPECT_TRUE(problem.ops[1].backward);
  EXPECT_EQ(problem.values[1].policy, Policy::MustSave);
  EXPECT_TRUE(problem.values[1].isOutput);
  EXPECT_TRUE(problem.values[2].isArgument);
  EXPECT_EQ(instance.opNodes, (std::vector<int64_t>{5, 2}));
}

TEST(Serialization, RoundTripsEverything) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Problem problem = randomProblem(seed, 25);
    problem.deviceBudget = 1000;
    problem.hostBudget = 0;
    problem.linkBytesPerSecond = 7;
    problem.values[3].policy = Policy::PreferRecompute;
    std::string text = print(toJson(problem));
    Instance instance = cantFail(parseInstance(text));
    EXPECT_EQ(print(toJson(instance.problem)), text);
    Solution solution = cantFail(planSaveAll(randomProblem(seed, 25)));
    std::string schedule = print(toJson(instance, solution.plan));
    EXPECT_EQ(cantFail(parsePlan(instance, schedule)), solution.plan);
  }
}

TEST(Serialization, RoundTripsTransfers) {
  Instance instance;
  instance.problem = chain(1);
  instance.opNodes = {4, 7};
  instance.valueNodes = {4, 7};
  Plan plan;
  plan.run(0);
  plan.offload(0);
  plan.reload(0);
  plan.run(1);
  std::string text = print(toJson(instance, plan));
  EXPECT_EQ(text, R"({"sequence":[4,{"offload":4},{"reload":4},7]})");
  EXPECT_EQ(cantFail(parsePlan(instance, text)), plan);
}

TEST(Serialization, Errors) {
  EXPECT_NE(failure("{"), "");
  EXPECT_TRUE(mentions(failure("[]"), "expected a JSON object"));
  EXPECT_TRUE(mentions(failure("{}"), "expected an array 'nodes'"));
  EXPECT_TRUE(
      mentions(failure(R"({"nodes": [{}]})"), "node 0: expected an 'id'"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1}, {"id": 1}]})"),
                       "node 1: id 1 is taken"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1, "cost": 0.5}]})"),
                       "'cost' is not an integer"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1, "policy": "KEEP"}]})"),
                       "unknown policy 'KEEP'"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1}], "edges": [[1]]})"),
                       "edge 0: expected [producer, consumer]"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1}], "edges": [[1, 2]]})"),
                       "edge 0: there is no node 2"));
  EXPECT_TRUE(mentions(
      failure(
          R"({"nodes": [{"id": 1}], "edges": [], "outputs": [], "order": []})"),
      "'order' leaves out node 1"));
}

} // namespace
