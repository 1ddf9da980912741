//===- StepReporter.h - reads a step off its graph --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is read off a placed graph: the schedule is its order, and the
// lives of buffers are those that its verifier counts. The bodies of loops are
// such graphs, too. Entries, buffers and loops are in files of their own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_STEPREPORTER_H
#define REMAT_LIB_PIPELINES_STEPREPORTER_H

#include "StepDecisions.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/Transforms/TaskNames.h"
#include "remat/Pipelines/StepReport.h"
#include "remat/Target/Target.h"

#include <map>
#include <set>

namespace remat {

/// What is known of a body of a loop from what is around it.
struct BodySurroundings {
  /// Of each argument, its name and role.
  llvm::SmallVector<ValueName> arguments;
  llvm::SmallVector<BufferRole> roles;
  /// The name of the parameter that a result is the gradient of, or "".
  std::vector<std::string> gradients;
  /// What the first arguments and results are: carried from one iteration to
  /// the next.
  unsigned numCarried = 0;
  /// Whether the loop is a part of the backward computation: what its body does
  /// beside that was done before.
  bool isBackward = false;
  /// What all that the step has in common.
  const Target *target = nullptr;
  llvm::StringMap<EntryWork> *kernels = nullptr;
};

/// Makes the report of one graph.
class StepReporter {
public:
  /// Of a body of a loop with its surroundings.
  StepReporter(GraphOp graph, const StepOptions &options, int64_t link,
               llvm::ArrayRef<TaskDecision> decisions,
               const BodySurroundings *around = nullptr)
      : graph(graph), options(options), link(link), decisions(decisions),
        reasons(decisions, around ? graph.getName() : llvm::StringRef()),
        around(around), liveness(graph),
        kernels(around ? *around->kernels : ownKernels) {}
  llvm::FailureOr<StepReport> run();

private:
  std::string getArgumentName(unsigned number);
  void findNamedGradients();
  void findParameters();
  llvm::LogicalResult addEntry(mlir::Operation &op);
  llvm::FailureOr<EntryWork> analyze(TaskOp task);
  BodySurroundings surround(TaskOp task, LoopOp loop, GraphOp body);
  llvm::LogicalResult addBodies(TaskOp task, LoopOp loop, ReportEntry &entry);
  std::vector<std::string> findGradients(TaskOp task, LoopOp loop) const;
  std::string nameCarried(unsigned number) const;
  std::string nameBodyResult(unsigned number);
  void addWorkspaceParts(LoopOp loop, const ReportBuffer &whole);
  llvm::LogicalResult addTask(TaskOp task);
  void addTransfer(mlir::Operation &op);
  void schedule(mlir::Operation &op, ReportEntry &entry);
  int64_t getTransferTime(mlir::Value value) const;
  StepPhase getPhase(TaskOp task) const;
  bool isPacking(TaskOp task) const;
  BufferRole getRole(const LiveBuffer &buffer) const;
  BufferRole getRole(TaskOp task) const;
  BufferRole getRole(mlir::Value value) const;
  BufferRole getArgumentRole(unsigned number) const;
  void nameBuffer(const LiveBuffer &live, ReportBuffer &buffer);
  void decide(const LiveBuffer &live, ReportBuffer &buffer) const;
  void addCallers();
  void addBuffers();
  void addReads();
  void countLive();

  GraphOp graph;
  const StepOptions &options;
  int64_t link;
  llvm::ArrayRef<TaskDecision> decisions;
  DecisionReasons reasons;
  const BodySurroundings *around;
  GraphLiveness liveness;
  StepReport report;
  const Target *target = nullptr;
  /// The arguments that are differentiated with respect to, and the name of the
  /// one that a result is the gradient of.
  llvm::DenseSet<unsigned> parameters;
  std::vector<std::string> gradients;
  std::optional<ValueNames> names;
  llvm::StringMap<EntryWork> ownKernels, &kernels;
  /// The entry of each operation that has one, and of the originals of clones.
  llvm::DenseMap<mlir::Operation *, size_t> entryOf;
  std::map<int64_t, size_t> originals;
  std::set<int64_t> cloned;
  /// For each position, the first entry there or behind it.
  llvm::SmallVector<size_t> entryAt;
  /// The planned clocks of the streams, and when what is transferred is there.
  std::array<int64_t, REMAT_STREAM_COUNT> clocks{};
  llvm::DenseMap<mlir::Value, int64_t> readyAt, offloadedAt;
  /// The number of the buffer that each owner has.
  llvm::DenseMap<mlir::Value, size_t> bufferOf;
  /// The same for results, but for those that lie in arguments.
  llvm::DenseMap<int64_t, size_t> bufferOfResult;
};

} // namespace remat

#endif // REMAT_LIB_PIPELINES_STEPREPORTER_H
