//===- PeakDescription.cpp - what is live where most is live --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeakDescription.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/Transforms/TaskNames.h"
#include "remat/Planning/LayerFolding.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace remat;

namespace {
/// What lies in the arena at a time: one buffer, or those of equal layers.
struct Residents {
  std::string name, policy;
  unsigned count = 0;
  int64_t bytes = 0;
};
} // namespace

/// The buffers in the arena at a position, largest first.
static std::vector<Residents> findResidents(const GraphLiveness &liveness,
                                            TaskNames &names,
                                            unsigned position) {
  std::vector<Residents> residents;
  // By their name without their layer, bytes and policy.
  std::map<std::tuple<std::string, int64_t, std::string>, size_t> known;
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.space != MemorySpace::Arena || buffer.bytes == 0 ||
        buffer.begin > position || position > buffer.end)
      continue;
    std::string name = "reloaded value", policy;
    if (auto task = dyn_cast<TaskOp>(buffer.owner)) {
      name = names.describe(task, buffer.value);
      auto result = dyn_cast_or_null<OpResult>(buffer.value);
      if (std::optional<Policy> asked =
              result ? task.getResultPolicy(result.getResultNumber())
                     : std::nullopt)
        policy = stringifyPolicy(*asked).str();
    }
    StringRef what = buffer.value ? "'" : "workspace of '";
    std::string several = (what + planning::foldName(name) + "'").str();
    auto [row, isNew] =
        known.try_emplace({several, buffer.bytes, policy}, residents.size());
    if (isNew)
      residents.push_back({(what + name + "'").str(), policy});
    Residents &group = residents[row->second];
    if (++group.count > 1)
      group.name = several;
    group.bytes += buffer.bytes;
  }
  llvm::stable_sort(residents, [](const Residents &a, const Residents &b) {
    return a.bytes > b.bytes;
  });
  return residents;
}

std::string remat::describePeak(GraphOp planned, GraphOp original) {
  GraphLiveness liveness(planned);
  TaskNames names(original);
  GraphLiveness::Peak peak = liveness.peak(MemorySpace::Arena);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "most is live";
  for (const LiveBuffer &buffer : liveness.buffers)
    if (auto task = dyn_cast<TaskOp>(buffer.owner);
        task && buffer.begin == peak.position) {
      os << " while '" << names.describe(task) << "' runs";
      break;
    }
  os << ", " << peak.bytes << " bytes:";
  static constexpr size_t maxShown = 10;
  std::vector<Residents> residents =
      findResidents(liveness, names, peak.position);
  int64_t shown = 0;
  for (const Residents &row : ArrayRef(residents).take_front(maxShown)) {
    shown += row.bytes;
    os << "\n  " << row.name;
    if (row.count > 1)
      os << " x" << row.count;
    os << ", " << row.bytes << " bytes";
    if (!row.policy.empty())
      os << ", " << row.policy;
  }
  if (residents.size() > maxShown)
    os << "\n  " << residents.size() - maxShown << " more, "
       << peak.bytes - shown << " bytes";
  int64_t reused = 0;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Reused && buffer.begin <= peak.position &&
        peak.position <= buffer.end)
      reused += buffer.bytes;
  if (reused != 0)
    os << "\nbesides, " << reused << " bytes lie in buffers of results";
  return text;
}
