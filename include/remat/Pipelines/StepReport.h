//===- StepReport.h - what happens in a step --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A placed step as plain data: what runs, from where in the model it comes,
// what it costs, and what is in memory meanwhile. Profiles, traces and other
// outputs are views of this one value, so that they agree.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPREPORT_H
#define REMAT_PIPELINES_STEPREPORT_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/StepOptions.h"
#include "remat/Runtime/StepTable.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace remat {

/// Which part of the step an entry belongs to. A recomputation is one in
/// whichever part it runs.
enum class StepPhase : uint8_t {
  Forward,
  Backward,
  Recompute,
  Update,
  Transfer
};
llvm::StringRef stringify(StepPhase phase);

/// What a buffer is for.
enum class BufferRole : uint8_t {
  Parameter,
  Input,
  Activation,
  Gradient,
  Optimizer,
  Recomputed,
  Workspace,
  Result
};
inline constexpr unsigned numBufferRoles = unsigned(BufferRole::Result) + 1;
llvm::StringRef stringify(BufferRole role);

/// What the plan does with a value; none with what lives in one part of the
/// step only and is made once.
enum class BufferDecision : uint8_t {
  None,
  Saved,
  Recomputed,
  Offloaded,
  Packed
};
llvm::StringRef stringify(BufferDecision decision);

/// Traffic if nothing is in a cache, and arithmetic in units of one addition,
/// as cost models count it.
struct EntryWork {
  int64_t bytesRead = 0, bytesWritten = 0, flops = 0;

  /// Adds `work` so many times.
  void add(const EntryWork &work, int64_t times);
};

struct LoopBody;

/// One action of the schedule, in the order and number of the entries of the
/// step's table, or of that of a loop's body. What a loop does is what its
/// bodies do in as many iterations as it runs at most.
struct ReportEntry : EntryWork {
  /// For readers: "h.3.attn softmax, backward".
  std::string name;
  /// The work alone: "softmax"; and the kernel that does it.
  std::string kind, kernel;
  /// The part of the model, by the names of parameters and scopes; "" if
  /// unknown.
  std::string layer;
  /// The name that the program gave the operation, and its line; "" if there
  /// is none.
  std::string label, location;
  StepPhase phase = StepPhase::Forward;
  /// The number of the task, which all plans of a model share; unset for
  /// transfers.
  std::optional<int64_t> task;
  /// The entry that a recomputation repeats.
  std::optional<size_t> copyOf;
  /// Of what brings a value back from the host, the entry that took it there.
  std::optional<size_t> offloadedBy;
  remat_stream stream = REMAT_STREAM_COMPUTE;
  /// Planned, in nanoseconds.
  int64_t start = 0, cost = 0;
  /// Of a loop, what an iteration does, and behind it what makes states again,
  /// if there is that.
  std::vector<LoopBody> bodies;
  /// The number of the buffer that the arenas of bodies are in, if they have
  /// any.
  std::optional<size_t> iteration;
  /// What a loop did when it ran; unset before.
  std::optional<EntryWork> ran;
  /// What the entry did as far as that is known, else what it does at most.
  const EntryWork &getRan() const { return ran ? *ran : *this; }
  /// In a body, the nanoseconds in all iterations of the fastest run that was
  /// measured; unset before, and on a device.
  std::optional<int64_t> spent;
  /// Bytes in the arena while the entry runs, in sum and by role.
  int64_t liveBytes = 0;
  std::array<int64_t, numBufferRoles> live{};
  /// The numbers of the buffers that it reads, ascending.
  std::vector<size_t> reads;
};

/// A buffer and the closed interval of entries at which it is live.
struct ReportBuffer {
  std::string name;
  /// "f32[2,3]"; "" for what is no tensor.
  std::string type;
  /// The task whose result the value is, and the number of that result:
  /// recomputations and what is reloaded have those of the original. Unset for
  /// what is no result of a task.
  std::optional<int64_t> task;
  unsigned result = 0;
  BufferRole role = BufferRole::Activation;
  BufferDecision decision = BufferDecision::None;
  /// What left no choice: a policy, "runs once" or "result"; else "".
  std::string why;
  /// A sentence on the decision, with what the alternative would cost or hold;
  /// "" unless decisions are known.
  std::string reason;
  MemorySpace space = MemorySpace::Arena;
  /// In the arena, in host memory, or in the buffer of a result. What the
  /// caller has elsewhere is at 0.
  int64_t offset = 0, bytes = 0;
  /// Whether it is an argument or a result: memory of the caller.
  bool isCallers = false;
  /// The buffer of a result that it lies in, in space Reused.
  std::optional<size_t> within;
  size_t birth = 0, death = 0;
};

/// A compiled step: what it runs, and what it keeps in memory. Times are in
/// nanoseconds, and what bodies of loops do is in their entries.
struct StepReport {
  std::string function;
  std::optional<int64_t> budget;
  int64_t plannedPeak = 0, arenaBytes = 0;
  std::vector<ReportEntry> entries;
  std::vector<ReportBuffer> buffers;

  /// Says how often the bodies of an entry that is a loop ran, and how long
  /// their entries took if that was measured: see remat_step_body_runs and
  /// remat_step_body_times.
  void setBodyRuns(size_t entry, llvm::ArrayRef<uint64_t> runs,
                   llvm::ArrayRef<int64_t> times = {});
  /// The first entry at which most of the arena is live.
  size_t getPeak() const;
  /// Sixteen hex digits that say what is run in which order.
  std::string getHash() const;
};

/// What a loop runs, as a step of its own. Its arguments and results are values
/// around the loop, and its arena is a part of the loop's workspace.
struct LoopBody {
  StepReport report;
  /// Whether it makes the states of the next iteration again and is no
  /// iteration.
  bool isAdvance = false;
  /// How often it runs at most while the entry with the loop runs once; 0 if
  /// there is no limit.
  int64_t mostRuns = 0;
  /// How often it did in the run that was measured, in all iterations of the
  /// loops around it.
  std::optional<int64_t> ran;
};

/// How a time of `entry`, a loop, is spent: for each body the nanoseconds of
/// its entries in all iterations, as they were measured, or in proportion to
/// the planned costs. They add up to at most `nanoseconds`.
std::vector<std::vector<int64_t>> splitTime(const ReportEntry &entry,
                                            int64_t nanoseconds);

/// Describes `graph`, which is placed (L4) and was compiled with `options`. The
/// bandwidth is what the plan was made for; 0 if it has no transfers.
/// `decisions` are those of the plan, for reasons. Fails with a diagnostic at a
/// kernel that the target does not know.
llvm::FailureOr<StepReport>
makeStepReport(GraphOp graph, const StepOptions &options,
               int64_t linkBytesPerSecond,
               llvm::ArrayRef<TaskDecision> decisions = {});

} // namespace remat

#endif // REMAT_PIPELINES_STEPREPORT_H
