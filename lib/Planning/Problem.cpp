//===- Problem.cpp - building and checking planning problems --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The builders of `Problem` and its input constraints.
//
//===----------------------------------------------------------------------===//

#include "ProblemMessages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <array>
#include <utility>

using namespace llvm;

namespace remat::planning {

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

static constexpr std::array<StringLiteral, 7> policyNames = {
    "NONE",
    "MUST_SAVE",
    "PREFER_SAVE",
    "MUST_RECOMPUTE",
    "PREFER_RECOMPUTE",
    "MUST_CPU_OFFLOAD",
    "PREFER_CPU_OFFLOAD"};

StringRef stringify(Policy policy) { return policyNames[size_t(policy)]; }

std::optional<Policy> parsePolicy(StringRef text) {
  const auto *it = llvm::find(policyNames, text);
  if (it == policyNames.end())
    return std::nullopt;
  return Policy(it - policyNames.begin());
}

//===----------------------------------------------------------------------===//
// Builders and sums
//===----------------------------------------------------------------------===//

ValueId Problem::addArgument(StringRef name, int64_t bytes) {
  Value value;
  value.name = name.str();
  value.bytes = value.transferBytes = bytes;
  value.isArgument = true;
  value.recomputable = value.offloadable = false;
  values.push_back(std::move(value));
  return values.size() - 1;
}

OpId Problem::addOp(StringRef name, int64_t cost, ArrayRef<ValueId> operands,
                    bool backward) {
  Op op;
  op.name = name.str();
  op.cost = cost;
  op.operands = operands.vec();
  op.backward = backward;
  ops.push_back(std::move(op));
  return ops.size() - 1;
}

ValueId Problem::addResult(OpId op, StringRef name, int64_t bytes) {
  Value value;
  value.name = name.str();
  value.bytes = value.transferBytes = bytes;
  value.producer = op;
  values.push_back(std::move(value));
  ops[op].results.push_back(values.size() - 1);
  return values.size() - 1;
}

ValueId Problem::addView(ValueId of, StringRef name) {
  Value value;
  value.name = name.str();
  value.viewOf = of;
  values.push_back(std::move(value));
  return values.size() - 1;
}

std::vector<ValueId> Problem::findRoots() const {
  std::vector<ValueId> roots(values.size());
  // Views follow what they look into.
  for (auto [id, value] : enumerate(values))
    roots[id] = value.viewOf == noValue ? id : roots[value.viewOf];
  return roots;
}

int64_t Problem::transferTime(int64_t bytes) const {
  if (linkBytesPerSecond == infiniteBandwidth)
    return 0;
  // 128 bits: bytes times 1e9 does not fit 64 beyond 9 GB.
  __int128 nanoseconds =
      (__int128(bytes) * 1000000000 + linkBytesPerSecond - 1) /
      linkBytesPerSecond;
  return int64_t(std::min<__int128>(nanoseconds, INT64_MAX));
}

int64_t Problem::hostRoom() const {
  if (!hostBudget)
    return INT64_MAX;
  int64_t most = 0;
  for (const Op &op : ops)
    most = std::max(most, op.hostWorkspace);
  return *hostBudget - most;
}

int64_t Problem::baseCost() const {
  int64_t sum = 0;
  for (const Op &op : ops)
    sum += op.cost;
  return sum;
}

//===----------------------------------------------------------------------===//
// Input constraints
//===----------------------------------------------------------------------===//

/// The largest sum of bytes; of costs for less than 64 ops.
static constexpr int64_t sumLimit = int64_t(1) << 55;

int64_t Problem::costLimit() const {
  return sumLimit / std::max<int64_t>(1, ops.size() / 32);
}

namespace {

class Checker : ProblemMessages {
public:
  explicit Checker(const Problem &problem) : ProblemMessages(problem) {}

  Error run() {
    if (Error error = checkLimits())
      return error;
    if (Error error = checkValues())
      return error;
    if (Error error = checkOps())
      return error;
    if (Error error = checkTransfers())
      return error;
    if (Error error = checkRegions())
      return error;
    return checkPolicies();
  }

private:
  Error checkLimits() const {
    if (problem.ops.size() >= noOp || problem.values.size() >= noValue)
      return fail("too many ops or values for 32-bit ids");
    if (problem.deviceBudget && *problem.deviceBudget < 0)
      return fail("the device budget is negative: " +
                  Twine(*problem.deviceBudget));
    if (problem.hostBudget && *problem.hostBudget < 0)
      return fail("the host budget is negative: " + Twine(*problem.hostBudget));
    if (problem.linkBytesPerSecond < 0)
      return fail("the link bandwidth is negative: " +
                  Twine(problem.linkBytesPerSecond));
    return Error::success();
  }

  Error checkRegions() const {
    StringSet<> names;
    for (const Region &region : problem.regions) {
      std::string where = "region '" + region.name + "'";
      if (!names.insert(region.name).second)
        return fail(where + " has two budgets, expected one");
      if (region.budget < 0)
        return fail(where + " has a negative budget: " + Twine(region.budget));
      if (region.values.empty())
        return fail(where + " has a budget, but no values");
      for (ValueId id : region.values)
        if (id >= problem.values.size())
          return fail(where + " has value " + Twine(id) + " of " +
                      Twine(problem.values.size()));
    }
    return Error::success();
  }

  /// Adds to the sums of bytes and costs.
  Error checkPackedForm(ValueId id, const Value &v, int64_t &bytes) {
    if (!v.packed)
      return Error::success();
    if (v.viewOf != noValue)
      return fail(value(id) + " is a view and has a packed form");
    if (v.isArgument)
      return fail(value(id) + " is an argument and has a packed form");
    if (v.packed->bytes < 0)
      return fail(value(id) + " has a packed form of negative size");
    if (v.packed->packCost < 0 || v.packed->unpackCost < 0)
      return fail(value(id) + " has a packed form of negative cost");
    if (v.packed->bytes > sumLimit - bytes)
      return fail("the sizes of all values and their packed forms exceed 2^55 "
                  "bytes at " +
                  value(id));
    bytes += v.packed->bytes;
    for (int64_t cost : {v.packed->packCost, v.packed->unpackCost})
      if (Error error = addCost(cost, value(id)))
        return error;
    return Error::success();
  }

  /// Adds `cost` to the sum of all that can occur in a plan.
  Error addCost(int64_t cost, const Twine &where) {
    if (cost > problem.costLimit() - costs)
      return fail("the costs of all ops and packed forms exceed " +
                  printCostLimit() + " at " + where);
    costs += cost;
    return Error::success();
  }

  std::string printCostLimit() const {
    return problem.ops.size() < 64
               ? "2^55"
               : std::to_string(problem.costLimit()) + ", the most for " +
                     std::to_string(problem.ops.size()) + " ops";
  }

  Error checkTransfers() const {
    if (!problem.linkBytesPerSecond)
      return Error::success();
    int64_t sum = 0;
    for (auto [id, v] : enumerate(problem.values)) {
      if (!v.offloadable || v.viewOf != noValue)
        continue;
      int64_t time = problem.transferTime(v.transferBytes);
      if (time > problem.costLimit() - sum)
        return fail("the transfers of all values take more than " +
                    printCostLimit() + " ns at " + value(id) + ", which has " +
                    Twine(v.transferBytes) + " bytes: the link moves only " +
                    Twine(problem.linkBytesPerSecond) + " bytes per second");
      sum += time;
    }
    return Error::success();
  }

  Error checkValues() {
    int64_t bytes = 0;
    int64_t transfers = 0;
    for (auto [id, v] : enumerate(problem.values)) {
      if (v.bytes < 0 || v.transferBytes < 0)
        return fail(value(id) + " has a negative size");
      if (v.bytes > sumLimit - bytes || v.transferBytes > sumLimit - transfers)
        return fail("the sizes of all values exceed 2^55 bytes at " +
                    value(id));
      bytes += v.bytes;
      transfers += v.transferBytes;
      if (Error error = checkPackedForm(id, v, bytes))
        return error;
      if (v.viewOf != noValue) {
        // Views follow what they look into, so chains end.
        if (v.viewOf >= id)
          return fail(value(id) + " is a view of a value that comes after it");
        if (v.bytes || v.transferBytes)
          return fail(value(id) + " is a view and has " + Twine(v.bytes) +
                      " bytes of its own, expected 0");
        if (v.isArgument || v.producer != noOp)
          return fail(value(id) + " is a view and also has a producer");
      } else if (v.isArgument != (v.producer == noOp)) {
        return fail(value(id) + (v.isArgument
                                     ? " is an argument and has a producer"
                                     : " has no producer"));
      }
    }
    return Error::success();
  }

  Error checkAbsorption(OpId id, const Op &o) {
    if (!o.absorbedCost && !o.absorbers.empty())
      return fail(op(id) + " has ops that absorb it and no absorbed cost");
    if (!o.absorbedCost)
      return Error::success();
    if (*o.absorbedCost < 0)
      return fail(op(id) + " has a negative absorbed cost");
    if (!o.recomputable)
      return fail(op(id) + " has an absorbed cost, but may run only once");
    OpId last = id;
    for (OpId absorber : o.absorbers)
      if (absorber <= std::exchange(last, absorber) ||
          absorber >= problem.ops.size())
        return fail(op(id) + " is absorbed by op " + Twine(absorber) +
                    ", expected ops behind it in ascending order");
    return addCost(*o.absorbedCost, op(id));
  }

  Error checkOps() {
    roots = problem.findRoots();
    std::vector<bool> defined(problem.values.size(), false);
    for (auto [id, v] : enumerate(problem.values))
      defined[id] = v.isArgument;
    for (auto [id, o] : enumerate(problem.ops)) {
      if (o.cost < 0 || o.workspace < 0 || o.hostWorkspace < 0)
        return fail(op(id) + " has a negative cost or workspace");
      if (Error error = addCost(o.cost, op(id)))
        return error;
      if (Error error = checkAbsorption(id, o))
        return error;
      if (o.workspace > sumLimit || o.hostWorkspace > sumLimit)
        return fail(op(id) + " has a workspace above 2^55 bytes");
      for (ValueId operand : o.operands) {
        if (operand >= problem.values.size())
          return fail(op(id) + " reads value " + Twine(operand) + " of " +
                      Twine(problem.values.size()));
        if (!defined[roots[operand]])
          return fail(op(id) + " reads " + value(operand) +
                      " before it is computed");
      }
      for (ValueId result : o.results) {
        if (result >= problem.values.size())
          return fail(op(id) + " computes value " + Twine(result) + " of " +
                      Twine(problem.values.size()));
        if (problem.values[result].producer != id || defined[result])
          return fail(value(result) + " is computed by " + op(id) +
                      " and by another op");
        defined[result] = true;
      }
    }
    for (auto [id, v] : enumerate(problem.values))
      if (v.viewOf == noValue && !defined[id])
        return fail(value(id) + " is computed by no op");
    return Error::success();
  }

  /// `first` and `second` carry MUSTs that exclude each other.
  Error conflict(ValueId first, ValueId second, const Twine &why) const {
    return fail(value(first) + " (" + stringify(problem.values[first].policy) +
                ") and " + value(second) + " (" +
                stringify(problem.values[second].policy) + ") " + why);
  }

  Error checkPolicy(ValueId id) const {
    Policy policy = problem.values[id].policy;
    const Value &root = problem.values[roots[id]];
    if (policy == Policy::MustRecompute) {
      if (root.isArgument)
        return fail(value(id) + " is an argument and MUST_RECOMPUTE");
      const Op &producer = problem.ops[root.producer];
      if (!producer.recomputable)
        return fail(value(id) + " is MUST_RECOMPUTE, but " + op(root.producer) +
                    " may run only once");
      for (ValueId result : producer.results)
        if (!problem.values[result].recomputable)
          return fail(value(id) + " is MUST_RECOMPUTE, but " + value(result) +
                      " of " + op(root.producer) + " may not be recomputed");
    }
    if (policy == Policy::MustCpuOffload) {
      if (root.isArgument)
        return fail(value(id) + " is an argument and MUST_CPU_OFFLOAD");
      if (!root.offloadable)
        return fail(value(id) +
                    " is MUST_CPU_OFFLOAD, but may not be offloaded");
      if (!problem.linkBytesPerSecond)
        return fail(value(id) +
                    " is MUST_CPU_OFFLOAD, but there is no link to the host");
    }
    return Error::success();
  }

  Error checkPolicies() const {
    // The value that set the MUST of each root; and per op, one result that
    // makes it run once and one that makes it run again.
    std::vector<ValueId> must(problem.values.size(), noValue);
    std::vector<ValueId> once(problem.ops.size(), noValue);
    std::vector<ValueId> again(problem.ops.size(), noValue);
    for (auto [id, v] : enumerate(problem.values)) {
      if (!isMust(v.policy))
        continue;
      if (Error error = checkPolicy(id))
        return error;
      ValueId root = roots[id];
      ValueId &other = must[root];
      if (other == noValue)
        other = id;
      else if (problem.values[other].policy != v.policy)
        return conflict(other, id, "are one buffer");
      OpId producer = problem.values[root].producer;
      if (producer == noOp)
        continue;
      (v.policy == Policy::MustRecompute ? again : once)[producer] = id;
      if (once[producer] != noValue && again[producer] != noValue)
        return conflict(once[producer], again[producer],
                        "are results of one op, " + op(producer));
    }
    return Error::success();
  }

  /// Of all values, when they were checked.
  std::vector<ValueId> roots;
  /// Of all ops, absorbed or not, packs and unpacks.
  int64_t costs = 0;
};
} // namespace

Error check(const Problem &problem) { return Checker(problem).run(); }

} // namespace remat::planning
