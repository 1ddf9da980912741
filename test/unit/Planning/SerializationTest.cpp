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
       "host_workspace": 11, "backward": true, "policy": "MUST_SAVE"},
      {"id": 9, "size": 1}],
    "edges": [[5, 2], [9, 5]], "outputs": [2], "inputs": [9]})"));
  const Problem &problem = instance.problem;
  ASSERT_EQ(problem.ops.size(), 2u);
  EXPECT_EQ(message(check(problem)), "");
  EXPECT_EQ(problem.ops[1].workspace, 9);
  EXPECT_EQ(problem.ops[1].hostWorkspace, 11);
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
    problem.duplexLink = seed % 3 == 0;
    problem.values[3].policy = Policy::PreferRecompute;
    problem.freeOrder = seed % 2;
    for (Value &value : problem.values)
      if (value.producer != noOp && value.bytes % 3 == 0)
        value.packed =
            PackedForm{value.bytes / 2, value.bytes, 1, value.bytes % 2 == 0};
    for (Op &op : problem.ops)
      if (op.recomputable && op.cost % 2)
        op.absorbedCost = op.cost / 2;
    for (OpId op = 0; op + 1 < problem.ops.size(); op += 2)
      if (problem.ops[op].absorbedCost)
        problem.ops[op].absorbers = {op + 1, OpId(problem.ops.size() - 1)};
    for (Op &op : problem.ops)
      op.absorbers.erase(llvm::unique(op.absorbers), op.absorbers.end());
    problem.ops[2].hostWorkspace = seed;
    ASSERT_EQ(message(check(problem)), "");
    std::string text = print(toJson(problem));
    Instance instance = cantFail(parseInstance(text));
    EXPECT_EQ(print(toJson(instance.problem)), text);
    EXPECT_EQ(instance.problem.freeOrder, problem.freeOrder);
    EXPECT_EQ(instance.problem.duplexLink, problem.duplexLink);
    for (auto [id, value] : llvm::enumerate(problem.values))
      EXPECT_EQ(instance.problem.values[id].packed, value.packed);
    for (auto [id, op] : llvm::enumerate(problem.ops))
      EXPECT_EQ(std::pair(instance.problem.ops[id].absorbedCost,
                          instance.problem.ops[id].absorbers),
                std::pair(op.absorbedCost, op.absorbers));
    Solution solution = cantFail(planSaveAll(randomProblem(seed, 25)));
    std::string schedule = print(toJson(instance, solution.plan));
    EXPECT_EQ(cantFail(parsePlan(instance, schedule)), solution.plan);
  }
}

TEST(Serialization, RoundTripsEveryAction) {
  Instance instance;
  instance.problem = chain(1);
  instance.opNodes = {4, 7};
  instance.valueNodes = {4, 7};
  Plan plan;
  plan.run(0);
  plan.offload(0);
  plan.release(0);
  plan.reload(0);
  plan.pack(0);
  plan.unpack(1);
  plan.absorb(0);
  plan.run(1);
  std::string text = print(toJson(instance, plan));
  EXPECT_EQ(text, R"({"sequence":[4,{"offload":4},{"release":4},{"reload":4},)"
                  R"({"pack":4},{"unpack":7},{"absorb":4},7]})");
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
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": -1}]})"),
                       "node 0: 'id' is negative"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1, "policy": 3}]})"),
                       "node 0: 'policy' is not a string"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1, "packed": 3}]})"),
                       "node 0: expected 'packed' to be {\"bytes\""));
  EXPECT_TRUE(
      mentions(failure(R"({"nodes": [{"id": 1, "packed": {"bytes": "x"}}]})"),
               "node 0: 'packed': 'bytes' is not an integer"));
  EXPECT_TRUE(
      mentions(failure(R"({"nodes": [{"id": 1, "absorbed_cost": 0.5}]})"),
               "node 0: 'absorbed_cost' is not an integer"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1}, {"id": 2, "view_of": 1,
                  "absorbed_cost": 5}], "edges": [], "outputs": []})"),
                       "node 2: has an 'absorbed_cost' and is no op"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [{"id": 1, "no_result": true,
                  "packed": {"bytes": 5}}], "edges": [], "outputs": []})"),
                       "node 1: has a 'packed' form and no result"));
  EXPECT_TRUE(mentions(failure(R"({"nodes": [], "edges": [], "outputs": [],
                                   "free_order": 1})"),
                       "'free_order' is not true or false"));
}

TEST(Serialization, ScheduleErrors) {
  Instance instance;
  instance.problem = chain(1);
  instance.opNodes = instance.valueNodes = {4, 7};
  auto failure = [&](llvm::StringRef text) {
    return message(parsePlan(instance, text).takeError());
  };
  EXPECT_TRUE(mentions(failure("[]"), "an object with an array 'sequence'"));
  EXPECT_TRUE(mentions(failure(R"({"sequence": [9]})"),
                       "step 0: there is no op node 9"));
  EXPECT_TRUE(mentions(failure(R"({"sequence": [4, {"absorb": 9}]})"),
                       "step 1: there is no op node 9"));
  EXPECT_TRUE(mentions(failure(R"({"sequence": [{"pack": 9}]})"),
                       "step 0: there is no value node 9"));
  for (const char *step : {R"("4")", R"({"drop": 4})", "{}",
                           R"({"pack": 4, "unpack": 4})", R"({"pack": "4"})"})
    EXPECT_TRUE(mentions(
        failure(llvm::formatv("{{\"sequence\": [{0}]}", step).str()),
        "step 0: expected one of: a node id, {\"offload\": id}, {\"reload\""));
}

} // namespace
