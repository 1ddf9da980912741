//===- Budget.h - budgets as users write them -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_BUDGET_H
#define REMAT_PLANNING_BUDGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace remat::planning {

/// A budget before it is known what it refers to.
struct BudgetRequest {
  enum class Kind {
    Unlimited, // ""
    Bytes,     // "1048576", "64MiB", "1.5 GiB"
    Percent,   // "60%": of the bytes without rematerialization
    Smallest   // "min"
  };
  Kind kind = Kind::Unlimited;
  int64_t bytes = 0;
  double percent = 0;

  /// Bytes of a Bytes or Percent budget, rounded down.
  int64_t resolve(int64_t saveAllBytes) const;
};

/// Parses a budget. Fails with a message that says what is accepted.
llvm::Expected<BudgetRequest> parseBudget(llvm::StringRef text);

/// Parses the budget of a region, "NAME:BYTES" with a suffix as above.
llvm::Expected<std::pair<std::string, int64_t>>
parseRegionBudget(llvm::StringRef text);

/// Parses the speed of a link in bytes per second: "25000000000", "25GB/s",
/// "12.5 GiB/s", or "inf" for `infiniteBandwidth`.
llvm::Expected<int64_t> parseBandwidth(llvm::StringRef text);

} // namespace remat::planning

#endif // REMAT_PLANNING_BUDGET_H
