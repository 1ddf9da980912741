//===- PlanOptionTable.cpp - the options of planning as text --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanOptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using planning::BudgetRequest;

//===----------------------------------------------------------------------===//
// Syntaxes
//===----------------------------------------------------------------------===//

namespace {

struct BudgetSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "bytes|N%|min"; }
  Error parse(StringRef text, BudgetRequest &value) const {
    return planning::parseBudget(text).moveInto(value);
  }
  std::string print(const BudgetRequest &value) const {
    switch (value.kind) {
    case BudgetRequest::Kind::Unlimited:
      return "";
    case BudgetRequest::Kind::Bytes:
      return std::to_string(value.bytes);
    case BudgetRequest::Kind::Percent:
      return printNumber(value.percent) + "%";
    case BudgetRequest::Kind::Smallest:
      return "min";
    }
    llvm_unreachable("unknown kind of budget");
  }
};

struct HostBudgetSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "bytes"; }
  Error parse(StringRef text, std::optional<int64_t> &value) const {
    BudgetRequest request;
    Error error = planning::parseBudget(text).moveInto(request);
    bool isBytes = !error && request.kind == BudgetRequest::Kind::Bytes;
    bool isUnlimited = !error && request.kind == BudgetRequest::Kind::Unlimited;
    consumeError(std::move(error));
    if (!isBytes && !isUnlimited)
      return makeExpectedError("bytes with an optional suffix KiB, MiB or GiB",
                               text);
    value = isBytes ? std::optional(request.bytes) : std::nullopt;
    return Error::success();
  }
  std::string print(const std::optional<int64_t> &value) const {
    return value ? std::to_string(*value) : "";
  }
};

struct BandwidthSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "bytes/s|target"; }
  Error parse(StringRef text, int64_t &value) const {
    if (text.trim() == "target") {
      value = targetBandwidth;
      return Error::success();
    }
    return planning::parseBandwidth(text).moveInto(value);
  }
  std::string print(int64_t value) const {
    if (value == targetBandwidth)
      return "target";
    return value == planning::infiniteBandwidth ? "inf" : std::to_string(value);
  }
};

struct RegionBudgetsSyntax {
  using Budgets = std::vector<std::pair<std::string, int64_t>>;
  static constexpr OptionKind kind = OptionKind::List;
  StringRef describe() const { return "name:bytes,..."; }
  Error parse(StringRef text, Budgets &value) const {
    Budgets parsed;
    SmallVector<StringRef> parts;
    if (!text.trim().empty())
      text.split(parts, ',');
    for (StringRef part : parts)
      if (Error error =
              planning::parseRegionBudget(part).moveInto(parsed.emplace_back()))
        return error;
    value = std::move(parsed);
    return Error::success();
  }
  std::string print(const Budgets &value) const {
    std::string text;
    raw_string_ostream os(text);
    interleave(
        value, os,
        [&](const auto &region) { os << region.first << ':' << region.second; },
        ",");
    return text;
  }
};

/// The name of an algorithm that this process knows.
struct PlannerSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "name"; }
  Error parse(StringRef text, std::string &value) const {
    auto planners = planning::getSolvers();
    SmallVector<StringRef> names;
    for (const planning::SolverInfo &info : planners)
      names.push_back(info.name);
    if (!is_contained(names, text))
      return makeUnknownNameError("planner", text, names);
    value = text.str();
    return Error::success();
  }
  std::string print(const std::string &value) const { return value; }
};

struct TimeLimitSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "seconds"; }
  Error parse(StringRef text, std::optional<double> &value) const {
    double seconds = 0;
    if (text.trim().empty()) {
      value.reset();
      return Error::success();
    }
    if (Error error = AmountSyntax{"seconds"}.parse(text, seconds))
      return error;
    value = seconds;
    return Error::success();
  }
  std::string print(const std::optional<double> &value) const {
    return value ? printNumber(*value) : "";
  }
};

/// A part as a percentage.
struct GapSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "N%"; }
  Error parse(StringRef text, double &value) const {
    double percent = 0;
    StringRef rest = text.trim();
    bool isPercent = rest.consume_back("%");
    Error error = AmountSyntax{"percent"}.parse(rest, percent);
    bool isNumber = !error;
    consumeError(std::move(error));
    // Without a sign, 1 might be all or a hundredth; 0 is 0.
    if (!isNumber || percent > 100 || (!isPercent && percent != 0))
      return makeExpectedError("a percentage from 0% to 100%", text);
    value = percent / 100;
    return Error::success();
  }
  std::string print(double value) const {
    return value == 0 ? "0" : printNumber(value * 100) + "%";
  }
};

/// A number of threads; 0 stands for that of the cores.
struct SearchThreadsSyntax : IntegerSyntax<unsigned> {
  Error parse(StringRef text, unsigned &value) const {
    if (Error error = IntegerSyntax::parse(text, value))
      return error;
    if (value == 0)
      value = hardware_concurrency().compute_thread_count();
    return Error::success();
  }
};

} // namespace

static std::vector<OptionChoice> getPlanners() {
  std::vector<OptionChoice> choices;
  for (const planning::SolverInfo &info : planning::getSolvers())
    choices.push_back(
        {StringRef(info.name).str(), StringRef(info.summary).str()});
  return choices;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

#define MEMBER(NAME) [](PlanOptions &options) -> auto & { return options.NAME; }

static std::vector<OptionInfo<PlanOptions>> makeTable() {
  std::vector<OptionInfo<PlanOptions>> table = {
      makeOption<PlanOptions>(
          "budget", MEMBER(budget), BudgetSyntax(),
          "Bound on the arena: bytes with an optional suffix KiB, MiB or GiB, "
          "a percentage of the peak without rematerialization, or 'min' for "
          "the smallest feasible; empty for no bound"),
      makeOption<PlanOptions>("planner", MEMBER(planner), PlannerSyntax(),
                              "Planning algorithm"),
      makeOption<PlanOptions>(
          "effort", MEMBER(solver.effort), AmountSyntax{"seconds"},
          "Work that the planner may do, in about seconds; counted, so that "
          "the plan is the same on every machine"),
      makeOption<PlanOptions>(
          "time-limit", MEMBER(solver.timeLimitSeconds), TimeLimitSyntax(),
          "Let the clock end the planner's search, whatever the effort; empty "
          "for no limit"),
      makeOption<PlanOptions>(
          "gap", MEMBER(solver.gap), GapSyntax(),
          "End the planner's search when so little of a plan's time, such as "
          "1%, is left that a better plan may save"),
      makeOption<PlanOptions>("seed", MEMBER(solver.seed),
                              IntegerSyntax<uint64_t>(),
                              "Seed of the planner's random choices"),
      makeOption<PlanOptions>(
          "search-threads", MEMBER(solver.threads), SearchThreadsSyntax(),
          "Threads that a planner with a time limit searches with; 0 for all "
          "cores. Without a limit the plan is the same for every number"),
      makeOption<PlanOptions>("reorder", MEMBER(reorder), FlagSyntax(),
                              "Let the planner change the order of first runs"),
      makeOption<PlanOptions>(
          "reuse-result-buffers", MEMBER(reuseResultBuffers), FlagSyntax(),
          "Let the buffers of results hold other values until the result is "
          "written (remat-assign-buffers)"),
      makeOption<PlanOptions>("offload", MEMBER(offload), FlagSyntax(),
                              "Let values go to host memory"),
      makeOption<PlanOptions>(
          "host-budget", MEMBER(hostBudget), HostBudgetSyntax(),
          "Bound on what is offloaded to host memory; empty for no bound"),
      makeOption<PlanOptions>(
          "link-bandwidth", MEMBER(linkBandwidth), BandwidthSyntax(),
          "Speed of the link to host memory, such as 25GB/s, or 'inf', or "
          "'target' for what remat.target or measured costs say; 0 offloads "
          "only what policies ask for, at the speed of the target"),
      makeOption<PlanOptions>(
          "region-budget", MEMBER(regionBudgets), RegionBudgetsSyntax(),
          "Bounds such as 'block1:64MiB,block2:0': of the values that a "
          "remat.checkpoint or remat.tag gives this name, the bytes that the "
          "forward computation keeps for the backward computation"),
      makeOption<PlanOptions>(
          "explain", MEMBER(explain), FlagSyntax(),
          "Say in a remark at each task what was decided on its results and "
          "why"),
  };
  for (OptionInfo<PlanOptions> &info : table)
    if (info.name == "planner")
      info.choices = getPlanners;
  return table;
}

#undef MEMBER

OptionTable<PlanOptions> remat::getPlanOptionTable() {
  static const std::vector<OptionInfo<PlanOptions>> table = makeTable();
  return table;
}
