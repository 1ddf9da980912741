//===- FastMemory.h - problems of the MLSys 2026 contest --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_FASTMEMORY_H
#define REMAT_TOOLS_REMAT_PLAN_FASTMEMORY_H

#include "common/ChoiceParser.h"

#include "remat/Planning/FastMemory.h"

#include "llvm/Support/raw_ostream.h"

namespace remat::plan {

/// Flags of problems whose graph is run in tiles through a fast memory.
class FastMemoryFlags {
public:
  explicit FastMemoryFlags(llvm::cl::OptionCategory &category);

  /// An error if any of the flags was given. `why` says why it has no effect.
  llvm::Error refuse(llvm::StringRef why) const;

  /// Finds a schedule, or checks the one that was given.
  llvm::Expected<planning::fastmemory::Found>
  run(const planning::fastmemory::Problem &problem,
      const planning::SolverOptions &options) const;

private:
  tools::ChoiceFlag<planning::fastmemory::TileRule> tiles;
  llvm::cl::opt<bool> costPerNativeDepth;
  llvm::cl::opt<std::string> scheduleFile;
};

/// A line on the schedule.
void print(const planning::fastmemory::Found &found, llvm::raw_ostream &os);
llvm::json::Value toJson(const planning::fastmemory::Found &found);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_FASTMEMORY_H
