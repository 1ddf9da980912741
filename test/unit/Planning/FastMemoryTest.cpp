//===- FastMemoryTest.cpp - tiled graphs through a fast memory ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The examples of the contest's PROBLEM.md, as it stood at the end, with all
// strategies that it gives latencies for.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/FastMemory.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <map>

using namespace llvm;
using namespace remat::planning::fastmemory;

namespace {

/// A problem of square tensors of one size and operations of one type.
Problem make(int64_t size, std::vector<std::vector<int>> inputs,
             std::vector<std::vector<int>> outputs,
             const std::vector<int64_t> &costs, StringRef type,
             int64_t capacity) {
  int last = 0;
  json::Array sizes, types, inputLists, outputLists;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const std::vector<int> *tensors : {&inputs[i], &outputs[i]})
      last =
          std::max(last, *std::max_element(tensors->begin(), tensors->end()));
    inputLists.push_back(json::Array(inputs[i]));
    outputLists.push_back(json::Array(outputs[i]));
    types.push_back(type);
  }
  for (int i = 0; i <= last; ++i)
    sizes.push_back(size);
  json::Value value =
      json::Object{{"widths", json::Array(sizes)},
                   {"heights", std::move(sizes)},
                   {"inputs", std::move(inputLists)},
                   {"outputs", std::move(outputLists)},
                   {"base_costs", json::Array(costs)},
                   {"op_types", std::move(types)},
                   {"fast_memory_capacity", capacity},
                   {"slow_memory_bandwidth", 10},
                   {"native_granularity", json::Array{128, 128}}};
  std::string text;
  raw_string_ostream(text) << value;
  return cantFail(parseProblem(text));
}

Problem getExample1() {
  return make(128, {{0}, {1}}, {{1}, {2}}, {1000, 100}, "Pointwise", 35000);
}

Problem getExample3() {
  return make(128, {{0}, {1}, {1, 2}}, {{1}, {2}, {3}}, {1500, 1500, 1500},
              "Pointwise", 50000);
}

Problem getExample4() {
  return make(128, {{0, 1}}, {{2}}, {1500}, "MatMul", 25000);
}

Problem getExample5() {
  return make(128, {{0, 1}, {3, 2}}, {{3}, {4}}, {2000, 2000}, "MatMul", 45000);
}

Group makeGroup(std::vector<int> ops, Granularity granularity,
                std::vector<int> retained = {},
                std::vector<int64_t> order = {}) {
  Group group;
  group.ops = std::move(ops);
  group.granularity = granularity;
  group.retained = std::move(retained);
  group.order = std::move(order);
  return group;
}

void expectLatencies(const Problem &problem, std::vector<Group> groups,
                     const std::vector<double> &latencies,
                     const Rules &rules = {}) {
  Schedule schedule{std::move(groups)};
  Error error = evaluate(problem, rules, schedule);
  ASSERT_FALSE(error) << toString(std::move(error));
  ASSERT_EQ(schedule.groups.size(), latencies.size());
  for (size_t i = 0; i < latencies.size(); ++i)
    EXPECT_NEAR(schedule.groups[i].latency, latencies[i], 1e-6) << i;
}

void expectFault(const Problem &problem, std::vector<Group> groups,
                 StringRef message, const Rules &rules = {}) {
  Schedule schedule{std::move(groups)};
  EXPECT_EQ(toString(evaluate(problem, rules, schedule)), message.str());
}

TEST(FastMemory, Example1) {
  Problem problem = getExample1();
  expectLatencies(
      problem, {makeGroup({0}, {128, 128, 1}), makeGroup({1}, {128, 128, 1})},
      {3276.8, 3276.8});
  expectLatencies(problem, {makeGroup({0, 1}, {128, 128, 1})}, {3276.8});
  expectLatencies(problem, {makeGroup({0, 1}, {64, 64, 1})}, {4400});
}

TEST(FastMemory, Example2) {
  Problem problem =
      make(256, {{0}, {1}}, {{1}, {2}}, {1000, 100}, "Pointwise", 35000);
  expectLatencies(
      problem, {makeGroup({0}, {128, 128, 1}), makeGroup({1}, {128, 128, 1})},
      {13107.2, 13107.2});
  expectLatencies(problem, {makeGroup({0, 1}, {128, 128, 1})}, {13107.2});
}

TEST(FastMemory, Example3) {
  Problem problem = getExample3();
  Granularity tile = {128, 128, 1};
  expectLatencies(
      problem,
      {makeGroup({0}, tile), makeGroup({1}, tile), makeGroup({2}, tile)},
      {3276.8, 3276.8, 4915.2});
  expectLatencies(problem,
                  {makeGroup({0, 1}, tile, {2}), makeGroup({0, 2}, tile)},
                  {3000, 3276.8});
  expectLatencies(problem, {makeGroup({0}, tile, {1}), makeGroup({1, 2}, tile)},
                  {1638.4, 3000});
}

TEST(FastMemory, Example4) {
  Problem problem = getExample4();
  expectLatencies(problem, {makeGroup({0}, {64, 64, 128})}, {7096});
  expectLatencies(problem, {makeGroup({0}, {64, 64, 128}, {}, {0, 1, 3, 2})},
                  {6548});
  expectFault(problem, {makeGroup({0}, {128, 128, 128})},
              "group 0: it needs 49152 elements of fast memory, which has "
              "25000");
}

TEST(FastMemory, Example5) {
  Problem problem = getExample5();
  expectLatencies(problem, {makeGroup({0, 1}, {128, 128, 32})}, {6915.2});
  // 40960 elements are enough, and no fewer.
  problem.capacity = 40960;
  expectLatencies(problem, {makeGroup({0, 1}, {128, 128, 32})}, {6915.2});
  problem.capacity = 40959;
  expectFault(problem, {makeGroup({0, 1}, {128, 128, 32})},
              "group 0: it needs 40960 elements of fast memory, which has "
              "40959");
}

TEST(FastMemory, TilesBeyondTheNativeOnes) {
  Problem problem = make(256, {{0, 1}}, {{2}}, {1000}, "MatMul", 1000000);
  std::vector<Group> whole = {makeGroup({0}, {256, 256, 256})};
  expectFault(problem, whole,
              "group 0: granularity [256, 256, 256] is larger than the native "
              "one, [128, 128, 128]");
  Rules rules;
  rules.tiles = TileRule::AnyDepth;
  expectLatencies(problem, {makeGroup({0}, {128, 128, 256})}, {26214.4}, rules);
  rules.tiles = TileRule::Passes;
  expectLatencies(problem, whole, {19660.8}, rules);
  // Four passes, each of all of the reduction or of two native depths.
  problem.bandwidth = 1000000;
  expectLatencies(problem, whole, {4000}, rules);
  rules.costIsPerNativeDepth = true;
  expectLatencies(problem, whole, {8000}, rules);
  rules.costIsPerNativeDepth = false;
  rules.tiles = TileRule::OnePass;
  expectLatencies(problem, whole, {1000}, rules);
}

TEST(FastMemory, Faults) {
  Problem problem = getExample3();
  Granularity tile = {128, 128, 1};
  expectFault(problem, {makeGroup({0, 1}, tile), makeGroup({2}, tile)},
              "group 1: tensor 1 is in neither memory: no group before writes "
              "it, and the one before does not retain it");
  expectFault(problem, {makeGroup({0, 1}, tile)}, "operation 2 is in no group");
  expectFault(problem, {makeGroup({0, 1, 2}, tile, {3})},
              "tensor 3, which is an output, is never written: each group that "
              "makes it retains it");
  expectFault(problem, {makeGroup({0, 1, 2}, tile, {1})},
              "group 0: tensor 1 is retained, and is no result that leaves the "
              "group");
  expectFault(problem, {makeGroup({0, 2}, tile)},
              "group 0: tensor 2 is in neither memory: no group before writes "
              "it, and the one before does not retain it");
  expectFault(problem, {makeGroup({0, 0}, tile)},
              "group 0: operation 0 is in it twice");
  expectFault(problem, {makeGroup({3}, tile)},
              "group 0: there is no operation 3");
  expectFault(problem, {makeGroup({}, tile)}, "group 0: it has no operations");
  expectFault(problem, {makeGroup({0, 1, 2}, {64, 64, 1}, {}, {0, 1, 2})},
              "group 0: its order has 3 tiles instead of 4");
  expectFault(problem, {makeGroup({0, 1, 2}, {64, 64, 1}, {}, {0, 1, 2, 2})},
              "group 0: its order has tile 2 twice");
  expectFault(problem, {makeGroup({0, 1, 2}, {64, 64, 1}, {}, {0, 1, 2, 4})},
              "group 0: its order has tile 4 of 4");
  expectFault(getExample5(), {makeGroup({0, 1}, {64, 64, 129})},
              "group 0: granularity [64, 64, 129] is larger than the native "
              "one, [128, 128, 128]");
}

TEST(FastMemory, PointwiseBeforeAProduct) {
  // x -> p -> @ w, with a reduction of 128.
  std::string text = R"({
    "widths": [128, 128, 64, 64], "heights": [128, 128, 128, 128],
    "inputs": [[0], [1, 2]], "outputs": [[1], [3]], "base_costs": [100, 1000],
    "op_types": ["Pointwise", "MatMul"], "fast_memory_capacity": 100000,
    "slow_memory_bandwidth": 1000000, "native_granularity": [128, 128]})";
  Problem problem = cantFail(parseProblem(text));
  expectFault(problem, {makeGroup({0, 1}, {64, 128, 64})},
              "group 0: granularity [64, 128, 64] is smaller than 128x1, which "
              "a pointwise operation before a product needs");
  expectLatencies(problem, {makeGroup({0, 1}, {128, 128, 64})}, {1100});
  // One step takes all of the reduction.
  expectLatencies(problem, {makeGroup({0, 1}, {64, 128, 128})}, {1100});
}

TEST(FastMemory, FindsTheExamplesBest) {
  auto find = [](const Problem &problem) {
    remat::planning::SolverOptions options;
    options.effort = 0.1;
    Found found = cantFail(findSchedule(problem, {}, options));
    Schedule checked = found.schedule;
    cantFail(evaluate(problem, {}, checked));
    EXPECT_NEAR(checked.getLatency(), found.schedule.getLatency(), 1e-6);
    EXPECT_LE(found.lowerBound, checked.getLatency());
    return checked.getLatency();
  };
  EXPECT_NEAR(find(getExample1()), 3276.8, 1e-6);
  // All three operations in one group.
  EXPECT_NEAR(find(getExample3()), 4500, 1e-6);
  EXPECT_LE(find(getExample4()), 6548);
  EXPECT_LE(find(getExample5()), 6915.2);
}

Found find(StringRef text) {
  Problem problem = cantFail(parseProblem(text));
  remat::planning::SolverOptions options;
  options.effort = 0.1;
  return cantFail(findSchedule(problem, {}, options));
}

TEST(FastMemory, RetainsWhatTheNextGroupReads) {
  // One group would make the small product again for each tile of the wide one.
  Found found = find(R"({
    "widths": [1024, 128, 128, 1024, 1024],
    "heights": [128, 1024, 128, 128, 128],
    "inputs": [[0, 1], [2, 3]], "outputs": [[2], [4]],
    "base_costs": [10, 10], "op_types": ["MatMul", "MatMul"],
    "fast_memory_capacity": 60000, "slow_memory_bandwidth": 10,
    "native_granularity": [128, 128]})");
  ASSERT_EQ(found.schedule.groups.size(), 2u);
  EXPECT_EQ(found.schedule.groups[0].retained, std::vector<int>{2});
  // All inputs and outputs cross the link once, and nothing else does.
  EXPECT_NEAR(found.schedule.getLatency(), 4 * 13107.2, 1e-6);
  EXPECT_NEAR(found.lowerBound, 4 * 13107.2, 1e-6);
}

TEST(FastMemory, RepeatsACheapOperation) {
  // The results of operations 1 and 2 have different shapes, so that they are
  // in two groups. What both read is made twice, and never crosses the link.
  Found found = find(R"({
    "widths": [128, 128, 128, 512, 512], "heights": [1024, 1024, 1024, 128, 1024],
    "inputs": [[0], [1], [1, 3]], "outputs": [[1], [2], [4]],
    "base_costs": [1, 1, 1], "op_types": ["Pointwise", "Pointwise", "MatMul"],
    "fast_memory_capacity": 60000, "slow_memory_bandwidth": 10,
    "native_granularity": [128, 128]})");
  ASSERT_EQ(found.schedule.groups.size(), 2u);
  for (const Group &group : found.schedule.groups)
    EXPECT_EQ(group.ops.front(), 0);
}

TEST(FastMemory, BoundOfRepeatedReads) {
  // A product of 512 x 512 reads both operands for each of four rows or columns
  // of tiles.
  Problem problem = make(512, {{0, 1}}, {{2}}, {1}, "MatMul", 60000);
  EXPECT_NEAR(computeLowerBound(problem, {}), 9 * 26214.4, 1e-6);
  remat::planning::SolverOptions options;
  options.effort = 0.1;
  EXPECT_NEAR(
      cantFail(findSchedule(problem, {}, options)).schedule.getLatency(),
      9 * 26214.4, 1e-6);
  // One that fits as a whole, or a step that takes all, is read once.
  problem.capacity = 600000;
  EXPECT_NEAR(computeLowerBound(problem, {}), 3 * 26214.4, 1e-6);
  problem.capacity = 60000;
  Rules rules;
  rules.tiles = TileRule::AnyDepth;
  EXPECT_NEAR(computeLowerBound(problem, rules), 3 * 26214.4, 1e-6);
}

TEST(FastMemory, MoreEffortIsNeverWorse) {
  Problem problem =
      make(256, {{0, 1}, {2, 1}, {3, 0}, {4, 1}, {5, 3}},
           {{2}, {3}, {4}, {5}, {6}}, {900, 10, 900, 10, 900}, "MatMul", 60000);
  // Two of them are pointwise.
  for (int op : {1, 3})
    problem.ops[op].isProduct = false;
  double last = 1e300;
  for (double effort : {0.0, 0.01, 0.1, 0.5}) {
    remat::planning::SolverOptions options;
    options.effort = effort;
    double latency =
        cantFail(findSchedule(problem, {}, options)).schedule.getLatency();
    EXPECT_LE(latency, last);
    EXPECT_EQ(
        latency,
        cantFail(findSchedule(problem, {}, options)).schedule.getLatency());
    last = latency;
  }
}

TEST(FastMemory, RefusesMalformedProblems) {
  auto refuse = [](StringRef key, StringRef value) {
    std::map<std::string, std::string> fields = {
        {"widths", "[8, 8, 8]"},
        {"heights", "[8, 8, 8]"},
        {"inputs", "[[0], [1]]"},
        {"outputs", "[[1], [2]]"},
        {"base_costs", "[1, 1]"},
        {"op_types", "[\"Pointwise\", \"Pointwise\"]"},
        {"fast_memory_capacity", "9"},
        {"slow_memory_bandwidth", "1"},
        {"native_granularity", "[8, 8]"}};
    fields[key.str()] = value.str();
    std::string text;
    for (const auto &[name, field] : fields)
      text.append(text.empty() ? "{\"" : ", \"")
          .append(name)
          .append("\": ")
          .append(field);
    return toString(parseProblem(text + "}").takeError());
  };
  EXPECT_EQ(refuse("widths", "[8, 0, 8]"),
            "'widths'[1] has to be an integer from 1 to 1048576");
  EXPECT_EQ(refuse("heights", "[8, 8]"),
            "'heights' has 2 entries, and 'widths' 3");
  EXPECT_EQ(refuse("heights", "[8, 9, 8]"),
            "operation 0 is pointwise, on different shapes: tensor 0 of 8 rows "
            "and 8 columns and tensor 1 of 9 rows and 8 columns");
  EXPECT_EQ(refuse("inputs", "[[0], [3]]"),
            "'inputs'[1][0] has to be an integer from 0 to 2");
  EXPECT_EQ(refuse("inputs", "[[2], [1]]"),
            "operation 0 is in a cycle, or behind one: its operands need its "
            "results");
  EXPECT_EQ(refuse("inputs", "[]"),
            "'inputs' is empty: there are no operations");
  EXPECT_EQ(refuse("outputs", "[[1], [1]]"),
            "tensor 1 is made by operation 0 and by 1");
  EXPECT_EQ(refuse("op_types", "[\"Pointwise\", \"Conv\"]"),
            "'op_types'[1] has to be \"MatMul\" or \"Pointwise\"");
  EXPECT_EQ(refuse("op_types", "[\"Pointwise\", \"MatMul\"]"),
            "operation 1 is a product, and has no two operands and one result");
  EXPECT_EQ(refuse("fast_memory_capacity", "0"),
            "'fast_memory_capacity' has to be an integer from 1 to "
            "4503599627370496");
  EXPECT_EQ(refuse("native_granularity", "[8]"),
            "'native_granularity' has to be a width and a height");
}

TEST(FastMemory, SaysWhatDoesNotFit) {
  Problem problem = getExample1();
  problem.capacity = 1;
  EXPECT_EQ(toString(findSchedule(problem, {}).takeError()),
            "operation 0 does not fit into fast memory, which has room for 1 "
            "elements, with any granularity that is allowed");
}

} // namespace
