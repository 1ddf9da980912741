//===- StepOptionsTest.cpp - options of a step by name --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepOptions.h"

#include "llvm/ADT/StringMap.h"

#include <gtest/gtest.h>

using namespace llvm;
using namespace remat;

/// The message of an error, empty if it is none.
static std::string set(StepOptions &options, StringRef key, StringRef value) {
  return toString(setOption(options, key, value));
}

/// The same for JSON.
static std::string apply(StepOptions &options, StringRef text) {
  Expected<json::Value> value = json::parse(text);
  EXPECT_TRUE(bool(value)) << text.str();
  return toString(applyOptions(options, *value->getAsObject()));
}

static std::string get(const StepOptions &options, StringRef name) {
  for (const StepOptionInfo &row : getStepOptionTable())
    if (row.name == name)
      return row.get(options);
  ADD_FAILURE() << "no option " << name.str();
  return "";
}

TEST(StepOptions, DefaultsAreThoseOfTheStruct) {
  StepOptions options;
  EXPECT_EQ(get(options, "function"), "main");
  EXPECT_EQ(get(options, "differentiate"), "true");
  EXPECT_EQ(get(options, "result"), "-1");
  EXPECT_EQ(get(options, "planner"), "auto");
  EXPECT_EQ(get(options, "reuse-result-buffers"), "true");
  EXPECT_EQ(get(options, "budget"), "");
  EXPECT_EQ(get(options, "time-limit"), "");
  EXPECT_EQ(get(options, "name"), "step");
}

/// For each option a value that is not its default.
static StringMap<std::string> getValues() {
  return {{"target", "cpu"},
          {"function", "f"},
          {"transform-script", "script.mlir"},
          {"unroll-limit", "0"},
          {"max-trip-count", "7"},
          {"microbatches", "4"},
          {"batch-arguments", "1,2"},
          {"microbatch-order", "layers"},
          {"split-batch", "auto"},
          {"fold-layers", "auto"},
          {"slice-rows", "64"},
          {"checkpoint-segments", "3"},
          {"checkpoint-links", "tag:block"},
          {"checkpoint-early-stop", "false"},
          {"checkpoint-preserve-rng-state", "false"},
          {"checkpoint-policy", "prefer_recompute"},
          {"checkpoint-name", "part"},
          {"policy", "save_only_these_names"},
          {"policy-names", "a,b"},
          {"policy-offload-names", "c"},
          {"save-ops", "linalg.matmul"},
          {"recompute-ops", "math.exp,math.sin"},
          {"offload-ops", "math.tanh"},
          {"early-stop", "false"},
          {"accumulate", "true"},
          {"optimizer", "adamw:lr=1e-3"},
          {"differentiate", "false"},
          {"wrt", "0,2"},
          {"result", "3"},
          {"cotangents", "true"},
          {"tangents", "true"},
          {"widen", "true"},
          {"narrow", "bf16"},
          {"separate-backward", "true"},
          {"threads", "2"},
          {"costs", "costs.json"},
          {"compress", "bf16,int8"},
          {"max-gradient-error", "0.001"},
          {"gradient-errors", "errors.json"},
          {"convolutions", "cudnn"},
          {"convolution-plans", "smallest"},
          {"budget", "62.5%"},
          {"planner", "search"},
          {"effort", "0.1"},
          {"gap", "1.5%"},
          {"time-limit", "2.5"},
          {"seed", "18446744073709551615"},
          {"search-threads", "4"},
          {"reorder", "true"},
          {"reuse-result-buffers", "false"},
          {"offload", "false"},
          {"host-budget", "1048576"},
          {"link-bandwidth", "inf"},
          {"region-budget", "a:1024,b:0"},
          {"explain", "true"},
          {"name", "g"},
          {"matmul-precision", "tf32"},
          {"bias-rounding", "once"},
          {"convolution-channels", "blocks"},
          {"attention-rounding", "factors"},
          {"keep-repeated", "auto"},
          {"mcpu", "generic"},
          {"device", "sim"},
          {"kernel-cache", "cache"},
          {"cuda-toolkit", "toolkit"}};
}

TEST(StepOptions, EveryOptionIsSetAndPrinted) {
  StringMap<std::string> values = getValues();
  EXPECT_EQ(values.size(), getStepOptionTable().size());
  StepOptions options;
  for (const StepOptionInfo &row : getStepOptionTable()) {
    std::string value = values.lookup(row.name);
    EXPECT_NE(row.get(options), value) << row.name.str();
    EXPECT_EQ(set(options, row.name, value), "") << row.name.str();
    EXPECT_EQ(row.get(options), value) << row.name.str();
    EXPECT_NE(row.stages, 0u) << row.name.str();
    EXPECT_FALSE(row.help.empty() || row.help.ends_with(".")) << row.name.str();
  }
  // What was printed gives the same options again, and no option has changed
  // another.
  StepOptions again;
  for (const StepOptionInfo &row : getStepOptionTable())
    EXPECT_EQ(set(again, row.name, row.get(options)), "") << row.name.str();
  for (const StepOptionInfo &row : getStepOptionTable())
    EXPECT_EQ(row.get(again), values.lookup(row.name)) << row.name.str();
}

TEST(StepOptions, MembersAreWhatTheNamesSay) {
  StepOptions options;
  for (const auto &value : getValues())
    EXPECT_EQ(set(options, value.first(), value.second), "");
  EXPECT_EQ(options.function, "f");
  EXPECT_EQ(options.wrt, SmallVector<int64_t>({0, 2}));
  EXPECT_EQ(options.chip, "generic");
  EXPECT_EQ(options.plan.budget.kind, planning::BudgetRequest::Kind::Percent);
  EXPECT_EQ(options.plan.budget.percent, 62.5);
  EXPECT_EQ(options.plan.solver.timeLimitSeconds, 2.5);
  EXPECT_EQ(options.plan.solver.threads, 4u);
  EXPECT_EQ(options.plan.hostBudget, 1048576);
  EXPECT_EQ(options.plan.linkBandwidth, planning::infiniteBandwidth);
  ASSERT_EQ(options.plan.regionBudgets.size(), 2u);
  EXPECT_EQ(options.plan.regionBudgets[0],
            std::pair(std::string("a"), int64_t(1024)));
}

TEST(StepOptions, ValuesCanBeTakenBack) {
  StepOptions options;
  for (StringRef name : {"budget", "time-limit", "host-budget", "region-budget",
                         "wrt", "target", "costs"}) {
    EXPECT_EQ(set(options, name, getValues().lookup(name)), "") << name.str();
    EXPECT_EQ(set(options, name, ""), "") << name.str();
    EXPECT_EQ(get(options, name), "") << name.str();
  }
  EXPECT_TRUE(options.wrt.empty());
  EXPECT_FALSE(options.plan.solver.timeLimitSeconds.has_value());
}

TEST(StepOptions, BudgetsOfAllKinds) {
  StepOptions options;
  for (auto [text, printed] :
       {std::pair("min", "min"), std::pair("100%", "100%"),
        std::pair("1.5 KiB", "1536"), std::pair("0", "0")}) {
    EXPECT_EQ(set(options, "budget", text), "");
    EXPECT_EQ(get(options, "budget"), printed);
  }
}

TEST(StepOptions, FlagsAndThreadsOfTheSearch) {
  StepOptions options;
  for (StringRef text : {"true", "1", "True", ""}) {
    options.plan.reorder = false;
    EXPECT_EQ(set(options, "reorder", text), "");
    EXPECT_TRUE(options.plan.reorder) << text.str();
  }
  for (StringRef text : {"false", "0", "FALSE"}) {
    EXPECT_EQ(set(options, "reuse-result-buffers", text), "");
    EXPECT_FALSE(options.plan.reuseResultBuffers) << text.str();
    options.plan.reuseResultBuffers = true;
  }
  // All cores.
  EXPECT_EQ(set(options, "search-threads", "0"), "");
  EXPECT_GE(options.plan.solver.threads, 1u);
}

TEST(StepOptions, UnknownNames) {
  StepOptions options;
  std::string message = set(options, "link-bandwith", "inf");
  EXPECT_TRUE(StringRef(message).starts_with(
      "unknown option 'link-bandwith', expected one of 'target', 'function', "))
      << message;
  EXPECT_TRUE(StringRef(message).ends_with(
      "'cuda-toolkit'; did you mean 'link-bandwidth'?"))
      << message;
  message = set(options, "what", "");
  EXPECT_TRUE(StringRef(message).ends_with("'cuda-toolkit'")) << message;
  // Underscores are dashes.
  EXPECT_EQ(set(options, "link_bandwidth", "25GB/s"), "");
  EXPECT_EQ(options.plan.linkBandwidth, 25'000'000'000);
}

TEST(StepOptions, BadValuesChangeNothing) {
  StepOptions options;
  EXPECT_EQ(set(options, "threads", "many"),
            "threads: expected an integer, 0 or more, got 'many'");
  EXPECT_EQ(set(options, "effort", "nan"),
            "effort: expected a number, 0 or more, got 'nan'");
  EXPECT_EQ(set(options, "wrt", "1,,2"),
            "wrt: expected integers, 0 or more, with commas between them, got "
            "'1,,2'");
  EXPECT_EQ(set(options, "target", "gpu"),
            "target: unknown target 'gpu', expected one of 'cpu', 'cuda'; did "
            "you mean "
            "'cpu'?");
  EXPECT_EQ(set(options, "name", "remat_x"),
            "name: 'remat_x' is no name for a module, names that start with "
            "'remat_' are the runtime's");
  for (const char *name : {"sin", "cosf", "memcpy", "main", "size_t", "_Bool",
                           "__stack", "NULL", "REMAT_NONE"})
    EXPECT_EQ(set(options, "name", name),
              std::string("name: '") + name +
                  "' is no name for a module, the C library or a header has or "
                  "may have it; give another");
  EXPECT_EQ(set(options, "host-budget", "min"),
            "host-budget: expected bytes with an optional suffix KiB, MiB or "
            "GiB, got 'min'");
  EXPECT_EQ(set(options, "region-budget", "a:1,b"),
            "region-budget: malformed region budget 'b', expected a name and "
            "bytes, such as 'block1:64MiB'");
  StepOptions untouched;
  for (const StepOptionInfo &row : getStepOptionTable())
    EXPECT_EQ(row.get(options), row.get(untouched)) << row.name.str();
}

TEST(StepOptions, Json) {
  StepOptions options;
  EXPECT_EQ(apply(options, R"({"budget": "60%", "wrt": [0, 2], "effort": 0.5,
      "reorder": true, "reuse-result-buffers": false, "seed": 18446744073709551615,
      "threads": 2, "result": -2, "host_budget": 1024, "planner": null,
      "region-budget": {"b": 0, "a": "1KiB"}})"),
            "");
  EXPECT_EQ(get(options, "budget"), "60%");
  EXPECT_EQ(get(options, "wrt"), "0,2");
  EXPECT_EQ(get(options, "effort"), "0.5");
  EXPECT_TRUE(options.plan.reorder);
  EXPECT_FALSE(options.plan.reuseResultBuffers);
  EXPECT_EQ(get(options, "seed"), "18446744073709551615");
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.result, -2);
  EXPECT_EQ(get(options, "host-budget"), "1024");
  EXPECT_EQ(get(options, "planner"), "auto");
  EXPECT_EQ(get(options, "region-budget"), "a:1024,b:0");
  EXPECT_EQ(apply(options, R"({"wrt": "1", "region_budget": ["c:1", "d:2"]})"),
            "");
  EXPECT_EQ(get(options, "wrt"), "1");
  EXPECT_EQ(get(options, "region-budget"), "c:1,d:2");
}

TEST(StepOptions, JsonErrorsChangeNothing) {
  StepOptions options;
  // In alphabetical order, the last is wrong.
  EXPECT_EQ(apply(options, R"({"budget": "min", "threads": 1.5})"),
            "threads: expected an integer, 0 or more, got '1.5'");
  EXPECT_EQ(get(options, "budget"), "");
  EXPECT_EQ(apply(options, R"({"budget": ["60%", "min"]})"),
            "budget: expected a value such as bytes|N%|min, got "
            "'[\"60%\",\"min\"]'");
  EXPECT_EQ(apply(options, R"({"wrt": [[0]]})"),
            "wrt: expected a value such as N,..., got '[[0]]'");
  EXPECT_EQ(apply(options, R"({"reuse-result-buffers": "maybe"})"),
            "reuse-result-buffers: expected true or false, got 'maybe'");
  EXPECT_TRUE(StringRef(apply(options, R"({"budgte": "60%"})"))
                  .ends_with("did you mean 'budget'?"));
}

TEST(StepOptions, Derivatives) {
  StepOptions options;
  ASSERT_EQ(options.getDerivatives().size(), 1u);
  EXPECT_EQ(options.getDerivatives()[0].mode, DifferentiateOptions::Gradient);
  EXPECT_EQ(set(options, "cotangents", "true"), "");
  EXPECT_EQ(set(options, "tangents", "true"), "");
  EXPECT_EQ(set(options, "wrt", "1"), "");
  ASSERT_EQ(options.getDerivatives().size(), 2u);
  EXPECT_EQ(options.getDerivatives()[0].mode, DifferentiateOptions::Reverse);
  EXPECT_EQ(options.getDerivatives()[1].mode, DifferentiateOptions::Forward);
  EXPECT_EQ(options.getDerivatives()[1].wrt, SmallVector<int64_t>({1}));
  options.derivatives.emplace();
  EXPECT_TRUE(options.getDerivatives().empty());
}
