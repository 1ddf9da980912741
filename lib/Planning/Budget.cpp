//===- Budget.cpp - budgets as users write them ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Budget.h"

#include "remat/Planning/Problem.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace remat::planning;

int64_t BudgetRequest::resolve(int64_t saveAllBytes) const {
  if (kind == Kind::Bytes)
    return bytes;
  long double bytes =
      std::floor(static_cast<long double>(saveAllBytes) * percent / 100);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return bytes < static_cast<long double>(most) ? static_cast<int64_t>(bytes)
                                                : most;
}

namespace {
struct Unit {
  StringLiteral suffix;
  double bytes;
};
} // namespace

static constexpr Unit binaryUnits[] = {
    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
static constexpr Unit decimalUnits[] = {{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};

/// A number, 0 or more. LLVM's parser takes no text for 0.
static std::optional<double> parseAmount(StringRef text) {
  double amount;
  if (text.empty() || text.getAsDouble(amount) || !std::isfinite(amount) ||
      amount < 0)
    return std::nullopt;
  return amount;
}

/// A number of bytes, or of one of the units.
static std::optional<int64_t> parseBytes(StringRef text, ArrayRef<Unit> units) {
  // Plain bytes are parsed as integers: a double does not hold them all.
  int64_t bytes;
  if (!text.getAsInteger(10, bytes))
    return bytes < 0 ? std::nullopt : std::optional(bytes);
  for (const Unit &unit : units) {
    if (!text.consume_back(unit.suffix))
      continue;
    std::optional<double> amount = parseAmount(text.rtrim());
    if (!amount || *amount * unit.bytes >= 9.2e18)
      return std::nullopt;
    return static_cast<int64_t>(*amount * unit.bytes);
  }
  return std::nullopt;
}

Expected<BudgetRequest> remat::planning::parseBudget(StringRef text) {
  auto malformed = [&] {
    return createStringError(
        inconvertibleErrorCode(),
        "malformed budget '" + text +
            "', expected bytes with an optional suffix KiB, MiB or GiB, a "
            "percentage such as '60%', or 'min'");
  };
  BudgetRequest budget;
  StringRef rest = text.trim();
  if (rest.empty())
    return budget;
  if (rest == "min") {
    budget.kind = BudgetRequest::Kind::Smallest;
    return budget;
  }
  if (rest.consume_back("%")) {
    budget.kind = BudgetRequest::Kind::Percent;
    std::optional<double> percent = parseAmount(rest);
    if (!percent || *percent > 1e6)
      return malformed();
    budget.percent = *percent;
    return budget;
  }
  budget.kind = BudgetRequest::Kind::Bytes;
  std::optional<int64_t> bytes = parseBytes(rest, binaryUnits);
  if (!bytes)
    return malformed();
  budget.bytes = *bytes;
  return budget;
}

Expected<std::pair<std::string, int64_t>>
remat::planning::parseRegionBudget(StringRef text) {
  auto [name, size] = text.rsplit(':');
  std::optional<int64_t> bytes = parseBytes(size.trim(), binaryUnits);
  if (name.trim().empty() || !bytes)
    return createStringError(inconvertibleErrorCode(),
                             "malformed region budget '" + text +
                                 "', expected a name and bytes, such as "
                                 "'block1:64MiB'");
  return std::pair(name.trim().str(), *bytes);
}

Expected<int64_t> remat::planning::parseBandwidth(StringRef text) {
  StringRef rest = text.trim();
  if (rest == "inf")
    return infiniteBandwidth;
  rest.consume_back("/s");
  std::optional<int64_t> bytes = parseBytes(rest, binaryUnits);
  if (!bytes)
    bytes = parseBytes(rest, decimalUnits);
  if (bytes)
    return *bytes;
  return createStringError(
      inconvertibleErrorCode(),
      "malformed bandwidth '" + text +
          "', expected bytes per second such as '25000000000', '25GB/s' or "
          "'12.5GiB/s', or 'inf'");
}
