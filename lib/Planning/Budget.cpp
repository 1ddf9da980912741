//===- Budget.cpp - budgets as users write them ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Budget.h"

#include <cmath>
#include <utility>

using namespace llvm;
using namespace remat::planning;

int64_t BudgetRequest::resolve(int64_t saveAllPeak) const {
  if (kind == Kind::Bytes)
    return bytes;
  return static_cast<int64_t>(
      std::floor(static_cast<long double>(saveAllPeak) * percent / 100));
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
    if (rest.getAsDouble(budget.percent) || !(budget.percent >= 0) ||
        budget.percent > 1e6)
      return malformed();
    return budget;
  }
  budget.kind = BudgetRequest::Kind::Bytes;
  // Plain bytes are parsed as integers: a double does not hold them all.
  if (!rest.getAsInteger(10, budget.bytes)) {
    if (budget.bytes < 0)
      return malformed();
    return budget;
  }
  double scale = 1;
  for (auto [suffix, factor] :
       {std::pair("KiB", 1024.0), std::pair("MiB", 1048576.0),
        std::pair("GiB", 1073741824.0)}) {
    if (rest.consume_back(suffix)) {
      scale = factor;
      break;
    }
  }
  double amount;
  if (scale == 1 || rest.rtrim().getAsDouble(amount) || !(amount >= 0) ||
      amount * scale >= 9.2e18)
    return malformed();
  budget.bytes = static_cast<int64_t>(amount * scale);
  return budget;
}
