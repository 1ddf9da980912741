//===- StepReport.cpp - what happens in a step ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is read off a placed graph: the schedule is its order, and the
// lives of buffers are those that its verifier counts.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/StepReport.h"

#include "StepDecisions.h"
#include "StepNames.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Planning/Problem.h"
#include "remat/Target/Target.h"
#include "remat/Utils/Locations.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/TypeNames.h"
#include "remat/Utils/Utf8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <map>
#include <set>

using namespace mlir;
using namespace remat;

StringRef remat::stringify(StepPhase phase) {
  switch (phase) {
  case StepPhase::Forward:
    return "forward";
  case StepPhase::Backward:
    return "backward";
  case StepPhase::Recompute:
    return "recompute";
  case StepPhase::Update:
    return "update";
  case StepPhase::Transfer:
    return "transfer";
  }
  llvm_unreachable("unknown phase");
}

StringRef remat::stringify(BufferRole role) {
  switch (role) {
  case BufferRole::Parameter:
    return "param";
  case BufferRole::Input:
    return "input";
  case BufferRole::Activation:
    return "activation";
  case BufferRole::Gradient:
    return "gradient";
  case BufferRole::Optimizer:
    return "optimizer";
  case BufferRole::Recomputed:
    return "recomputed";
  case BufferRole::Workspace:
    return "workspace";
  case BufferRole::Result:
    return "result";
  }
  llvm_unreachable("unknown role");
}

StringRef remat::stringify(BufferDecision decision) {
  switch (decision) {
  case BufferDecision::None:
    return "none";
  case BufferDecision::Saved:
    return "saved";
  case BufferDecision::Recomputed:
    return "recomputed";
  case BufferDecision::Offloaded:
    return "offloaded";
  case BufferDecision::Packed:
    return "packed";
  }
  llvm_unreachable("unknown decision");
}

void EntryWork::add(const EntryWork &work, int64_t times) {
  for (int64_t EntryWork::*count :
       {&EntryWork::bytesRead, &EntryWork::bytesWritten, &EntryWork::flops})
    this->*count = addCounts(this->*count, multiplyCounts(work.*count, times));
}

void StepReport::setBodyRuns(size_t entry, ArrayRef<uint64_t> runs) {
  EntryWork &ran = entries[entry].ran.emplace();
  for (auto [work, times] : llvm::zip(entries[entry].bodies, runs))
    ran.add(work, static_cast<int64_t>(times));
}

size_t StepReport::getPeak() const {
  auto peak = std::max_element(
      entries.begin(), entries.end(),
      [](const auto &a, const auto &b) { return a.liveBytes < b.liveBytes; });
  return peak - entries.begin();
}

std::string StepReport::getHash() const {
  std::string text;
  for (const ReportEntry &entry : entries)
    text += entry.kernel +
            (entry.copyOf ? " of " + std::to_string(*entry.copyOf) : "") + "\n";
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, 16);
}

//===----------------------------------------------------------------------===//
// Names of arguments and results
//===----------------------------------------------------------------------===//

static std::string getArgumentName(GraphOp graph, unsigned number) {
  if (auto name = graph.getArgAttrOfType<StringAttr>(
          number, RematDialect::nameAttrName))
    return name.str();
  return "argument " + std::to_string(number);
}

namespace {

//===----------------------------------------------------------------------===//
// The reporter
//===----------------------------------------------------------------------===//

/// Makes the report of one graph.
class Reporter {
public:
  Reporter(GraphOp graph, const StepOptions &options, int64_t link,
           ArrayRef<TaskDecision> decisions)
      : graph(graph), options(options), link(link), reasons(decisions),
        liveness(graph) {}
  FailureOr<StepReport> run();

private:
  void findParameters();
  void findUpdates();
  LogicalResult addEntry(Operation &op);
  FailureOr<EntryWork> analyze(TaskOp task);
  LogicalResult analyzeLoop(LoopOp loop, int64_t runs, ReportEntry &entry);
  std::string findKind(TaskOp task) const;
  LogicalResult addTask(TaskOp task);
  void addTransfer(Operation &op);
  void schedule(Operation &op, ReportEntry &entry);
  int64_t getTransferTime(Value value) const;
  StepPhase getPhase(TaskOp task) const;
  bool isPacking(TaskOp task) const;
  BufferRole getRole(const LiveBuffer &buffer) const;
  void decide(const LiveBuffer &live, ReportBuffer &buffer) const;
  void addCallers();
  void addBuffers();
  void addReads();
  void countLive();

  GraphOp graph;
  const StepOptions &options;
  int64_t link;
  DecisionReasons reasons;
  GraphLiveness liveness;
  StepReport report;
  const Target *target = nullptr;
  /// The arguments that are differentiated with respect to, and the name of the
  /// one that a result is the gradient of.
  llvm::DenseSet<unsigned> parameters;
  std::vector<std::string> gradients;
  llvm::DenseSet<Operation *> updates;
  std::optional<LayerNames> layers;
  llvm::StringMap<EntryWork> kernels;
  /// The entry of each operation that has one, and of the originals of clones.
  DenseMap<Operation *, size_t> entryOf;
  std::map<int64_t, size_t> originals;
  std::set<int64_t> cloned;
  /// For each position, the first entry there or behind it.
  SmallVector<size_t> entryAt;
  /// The planned clocks of the streams, and when what is transferred is there.
  std::array<int64_t, REMAT_STREAM_COUNT> clocks{};
  DenseMap<Value, int64_t> readyAt, offloadedAt;
  /// The number of the buffer that each owner has.
  DenseMap<Value, size_t> bufferOf;
  /// The same for results, but for those that lie in arguments.
  DenseMap<int64_t, size_t> bufferOfResult;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is known of arguments
//===----------------------------------------------------------------------===//

void Reporter::findParameters() {
  gradients.resize(graph.getNumResults());
  SmallVector<DifferentiateOptions, 2> derivatives = options.getDerivatives();
  if (derivatives.empty())
    return;
  const DifferentiateOptions &last = derivatives.back();
  for (int64_t number : last.wrt)
    if (number >= 0 && number < graph.getNumArguments())
      parameters.insert(number);
  // The gradients are the last results, unless an optimizer has used them up.
  size_t count = last.wrt.size();
  if (!options.optimizer.empty() || !last.tags.empty() ||
      last.mode == DifferentiateOptions::Forward ||
      count > graph.getNumResults())
    return;
  for (auto [index, number] : llvm::enumerate(last.wrt))
    if (parameters.contains(number))
      gradients[graph.getNumResults() - count + index] =
          getArgumentName(graph, number);
}

/// The tasks that write new weights and optimizer states over the old ones, and
/// what follows from these alone, as powers of the number of steps do.
void Reporter::findUpdates() {
  if (options.optimizer.empty())
    return;
  SmallVector<BlockArgument> donors = getDonors(graph);
  auto isUpdate = [&](Value value) {
    Value owner = GraphLiveness::getOwner(value);
    return llvm::any_of(
        graph.getBody().front().getTerminator()->getOpOperands(),
        [&](OpOperand &returned) {
          return donors[returned.getOperandNumber()] &&
                 GraphLiveness::getOwner(returned.get()) == owner;
        });
  };
  auto isUpdated = [&](Value operand) {
    Operation *producer = getViewRoot(operand).getDefiningOp();
    return producer && updates.contains(producer);
  };
  for (auto task : graph.getOps<TaskOp>())
    if ((!task.getResults().empty() &&
         llvm::all_of(task.getResults(), isUpdate)) ||
        (!task.getOperands().empty() &&
         llvm::all_of(task.getOperands(), isUpdated)))
      updates.insert(task);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

StepPhase Reporter::getPhase(TaskOp task) const {
  if (task.isClone())
    return StepPhase::Recompute;
  if (updates.contains(task))
    return StepPhase::Update;
  return task.getBackward() ? StepPhase::Backward : StepPhase::Forward;
}

/// Adds what the bodies of a loop do, and what this is if the loop runs so many
/// times.
LogicalResult Reporter::analyzeLoop(LoopOp loop, int64_t runs,
                                    ReportEntry &entry) {
  runs = multiplyCounts(runs, loop.getCount());
  size_t place = entry.bodies.size();
  entry.bodies.resize(place + 2);
  for (GraphOp body : findBodies(loop)) {
    EntryWork work;
    for (auto task : body.getOps<TaskOp>()) {
      if (LoopOp inner = findLoop(task)) {
        if (failed(analyzeLoop(inner, runs, entry)))
          return failure();
        continue;
      }
      FailureOr<EntryWork> added = analyze(task);
      if (failed(added))
        return failure();
      work.add(*added, 1);
    }
    entry.add(work, runs);
    entry.bodies[place++] = work;
  }
  return success();
}

/// Tasks share kernels; one analysis is enough for each.
FailureOr<EntryWork> Reporter::analyze(TaskOp task) {
  if (auto known = kernels.find(task.getKernel()); known != kernels.end())
    return known->second;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      task, task.getKernelAttr());
  if (!kernel)
    return task.emitOpError("calls kernel '")
           << task.getKernel() << "', which is not a function";
  FailureOr<codegen::KernelInfo> info =
      target->analyzeKernel(kernel, options.threads);
  if (failed(info))
    return failure();
  return kernels[task.getKernel()] = {
             info->bytesRead, info->bytesWritten,
             addCounts(info->flops, info->contractionFlops)};
}

int64_t Reporter::getTransferTime(Value value) const {
  if (link == 0 || link == planning::infiniteBandwidth)
    return 0;
  planning::Problem problem;
  problem.linkBytesPerSecond = link;
  return problem.transferTime(
      getBufferBytes(cast<RankedTensorType>(value.getType())));
}

/// Gives an entry its planned time. A transfer begins when what is before it in
/// the schedule is done and its stream is free; what reads it waits for it, and
/// a release for the transfer that it ends.
void Reporter::schedule(Operation &op, ReportEntry &entry) {
  int64_t &clock = clocks[entry.stream];
  entry.start = std::max(clock, clocks[REMAT_STREAM_COMPUTE]);
  for (Value operand : op.getOperands()) {
    Value owner = GraphLiveness::getOwner(operand);
    const auto &times = isa<ReleaseOp>(op) ? offloadedAt : readyAt;
    if (auto time = times.find(owner); time != times.end())
      entry.start = std::max(entry.start, time->second);
  }
  clock = entry.start + entry.cost;
  if (entry.stream == REMAT_STREAM_COMPUTE)
    return;
  readyAt[op.getResult(0)] = clock;
  if (isa<OffloadOp>(op))
    offloadedAt[GraphLiveness::getOwner(op.getOperand(0))] = clock;
}

/// The kind of work. What reads several results of a softmax or a norm, its
/// sums beside its values, is a part of its derivative.
std::string Reporter::findKind(TaskOp task) const {
  StringRef kernel = task.getKernel();
  if (!task.getBackward() || isKnownKind(kernel))
    return describeKind(kernel);
  llvm::DenseMap<Operation *, Value> seen;
  for (Value operand : task.getOperands()) {
    Value value = getViewRoot(operand);
    auto maker = dyn_cast_or_null<TaskOp>(value.getDefiningOp());
    if (!maker || maker.getBackward() || !isKnownKind(maker.getKernel()))
      continue;
    auto [other, isFirst] = seen.try_emplace(maker, value);
    if (!isFirst && other->second != value)
      return describeKind(maker.getKernel());
  }
  return describeKind(kernel);
}

LogicalResult Reporter::addTask(TaskOp task) {
  ReportEntry entry;
  if (LoopOp loop = findLoop(task)) {
    if (failed(analyzeLoop(loop, 1, entry)))
      return failure();
  } else {
    FailureOr<EntryWork> work = analyze(task);
    if (failed(work))
      return failure();
    entry.add(*work, 1);
  }
  entry.kernel = task.getKernel().str();
  entry.kind = findKind(task);
  entry.phase = getPhase(task);
  entry.cost = task.getCost();
  entry.task = task.getId();
  if (!task.isClone())
    originals[task.getId()] = report.entries.size();
  else if (auto it = originals.find(task.getId()); it != originals.end())
    entry.copyOf = it->second;
  report.entries.push_back(std::move(entry));
  return success();
}

void Reporter::addTransfer(Operation &op) {
  ReportEntry entry;
  entry.phase = StepPhase::Transfer;
  entry.kind = entry.kernel = op.getName().stripDialect().str();
  Value source = op.getOperand(0);
  if (isa<OffloadOp>(op)) {
    entry.stream = REMAT_STREAM_TO_HOST;
    entry.cost = getTransferTime(source);
  } else if (isa<ReloadOp>(op)) {
    entry.stream = REMAT_STREAM_TO_DEVICE;
    entry.cost = getTransferTime(op.getResult(0));
  }
  if (entry.stream != REMAT_STREAM_COMPUTE)
    entry.bytesRead = entry.bytesWritten =
        getBufferBytes(cast<RankedTensorType>(
            isa<OffloadOp>(op) ? source.getType() : op.getResult(0).getType()));
  report.entries.push_back(std::move(entry));
}

LogicalResult Reporter::addEntry(Operation &op) {
  entryAt.push_back(report.entries.size());
  if (isViewOp(&op))
    return success();
  entryOf[&op] = report.entries.size();
  if (auto task = dyn_cast<TaskOp>(op)) {
    if (failed(addTask(task)))
      return failure();
  } else {
    addTransfer(op);
  }
  ReportEntry &entry = report.entries.back();
  entry.layer = layers->getLayer(&op).str();
  // A recomputation is where its original is, whatever is around it.
  if (entry.copyOf)
    entry.layer = report.entries[*entry.copyOf].layer;
  entry.label = findLabel(op.getLoc()).str();
  entry.location = describeLocation(op.getLoc());
  entry.name = (entry.layer.empty() ? "" : entry.layer + " ") + entry.kind;
  if (entry.phase == StepPhase::Recompute)
    entry.name += ", recomputed";
  else if (entry.phase != StepPhase::Forward &&
           entry.phase != StepPhase::Transfer)
    entry.name += ", " + stringify(entry.phase).str();
  schedule(op, entry);
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Whether the kernel makes the packed form of a value.
bool Reporter::isPacking(TaskOp task) const {
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom(task, task.getKernelAttr());
  return kernel && kernel->walk([](PackOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
}

BufferRole Reporter::getRole(const LiveBuffer &buffer) const {
  if (!buffer.value)
    return BufferRole::Workspace;
  auto task = dyn_cast<TaskOp>(buffer.owner);
  if (!task)
    return BufferRole::Activation;
  switch (getPhase(task)) {
  case StepPhase::Recompute:
    return BufferRole::Recomputed;
  case StepPhase::Update:
    return BufferRole::Optimizer;
  case StepPhase::Backward:
    return BufferRole::Gradient;
  default:
    return BufferRole::Activation;
  }
}

/// What happens to a value between its making and its last use.
void Reporter::decide(const LiveBuffer &live, ReportBuffer &buffer) const {
  auto task = dyn_cast<TaskOp>(live.owner);
  if (!live.value || !task || task.isPlannedBackward())
    return;
  auto result = cast<OpResult>(live.value);
  if (std::optional<Policy> policy =
          task.getResultPolicy(result.getResultNumber()))
    buffer.why = stringifyPolicy(*policy).str();
  else if (task.getPinned())
    buffer.why = "runs once";
  bool crosses = false;
  for (const ReportEntry *entry = &report.entries[buffer.birth];
       entry <= &report.entries[buffer.death]; ++entry)
    crosses |= entry->phase == StepPhase::Backward;
  auto isUser = [&](auto isWanted) {
    return llvm::any_of(live.value.getUsers(), isWanted);
  };
  if (isUser(llvm::IsaPred<OffloadOp>))
    buffer.decision = BufferDecision::Offloaded;
  else if (isUser([&](Operation *user) {
             auto reader = dyn_cast<TaskOp>(user);
             return reader && isPacking(reader);
           }))
    buffer.decision = BufferDecision::Packed;
  else if (cloned.count(task.getId()))
    buffer.decision = BufferDecision::Recomputed;
  else if (crosses)
    buffer.decision = BufferDecision::Saved;
}

/// The caller's memory, which is there all the time.
void Reporter::addCallers() {
  auto add = [&](std::string name, BufferRole role, Type type) {
    ReportBuffer &buffer = report.buffers.emplace_back();
    buffer.name = std::move(name);
    buffer.role = role;
    buffer.isCallers = true;
    buffer.bytes = getBufferBytes(cast<RankedTensorType>(type));
    buffer.death = report.entries.size() - 1;
  };
  for (BlockArgument argument : graph.getBody().front().getArguments()) {
    unsigned number = argument.getArgNumber();
    bufferOf[argument] = report.buffers.size();
    BufferRole role = BufferRole::Input;
    if (parameters.contains(number))
      role = BufferRole::Parameter;
    else if (!options.optimizer.empty() &&
             graph.getArgAttr(number, RematDialect::initialValueAttrName))
      role = BufferRole::Optimizer;
    add(getArgumentName(graph, number), role, argument.getType());
  }
  SmallVector<BlockArgument> donors = getDonors(graph);
  for (auto [number, type] : llvm::enumerate(graph.getResultTypes())) {
    // It is the argument's buffer.
    if (donors[number])
      continue;
    bufferOfResult[number] = report.buffers.size();
    bool isGradient = !gradients[number].empty();
    add(isGradient ? "gradient of " + gradients[number]
                   : "result " + std::to_string(number),
        isGradient ? BufferRole::Gradient : BufferRole::Result, type);
  }
}

void Reporter::addBuffers() {
  for (const LiveBuffer &live : liveness.buffers) {
    // The caller has these anyway.
    if (live.space == MemorySpace::Result)
      continue;
    if (live.value)
      bufferOf[live.value] = report.buffers.size();
    ReportBuffer &buffer = report.buffers.emplace_back();
    buffer.role = getRole(live);
    buffer.space = live.space;
    buffer.bytes = live.bytes;
    if (live.slot)
      buffer.offset = live.slot.getOffset();
    if (auto result = bufferOfResult.find(live.result);
        live.space == MemorySpace::Reused && result != bufferOfResult.end())
      buffer.within = result->second;
    buffer.birth = entryOf.lookup(live.owner);
    // The entry at the last use, or before it if that is a view's.
    size_t next = live.end + 1 < entryAt.size() ? entryAt[live.end + 1]
                                                : report.entries.size();
    buffer.death = std::max(buffer.birth, next == 0 ? 0 : next - 1);
    const std::string &maker = report.entries[buffer.birth].name;
    // What is on its way to the host is no tensor.
    if (auto type = dyn_cast_or_null<RankedTensorType>(
            live.value ? live.value.getType() : Type()))
      buffer.type = describeType(type);
    buffer.name = live.value ? maker : "workspace of " + maker;
    if (!buffer.type.empty())
      buffer.name += " " + buffer.type;
    decide(live, buffer);
    if (OpResult origin = findOrigin(live.value)) {
      buffer.task = cast<TaskOp>(origin.getOwner()).getId();
      buffer.result = origin.getResultNumber();
      buffer.reason = reasons.find(*buffer.task, buffer.result);
    }
  }
}

void Reporter::addReads() {
  for (auto [op, entry] : entryOf) {
    std::vector<size_t> &reads = report.entries[entry].reads;
    for (Value operand : op->getOperands())
      if (auto buffer = bufferOf.find(GraphLiveness::getOwner(operand));
          buffer != bufferOf.end())
        reads.push_back(buffer->second);
    llvm::sort(reads);
    reads.erase(llvm::unique(reads), reads.end());
  }
}

void Reporter::countLive() {
  for (const ReportBuffer &buffer : report.buffers) {
    if (buffer.isCallers || buffer.space != MemorySpace::Arena)
      continue;
    for (size_t i = buffer.birth; i <= buffer.death; ++i) {
      report.entries[i].liveBytes += buffer.bytes;
      report.entries[i].live[unsigned(buffer.role)] += buffer.bytes;
    }
  }
}

/// What is made of the report is in formats of UTF-8.
static void fixTexts(StepReport &report) {
  auto fix = [](std::initializer_list<std::string *> texts) {
    for (std::string *text : texts)
      *text = toUtf8(*text);
  };
  for (ReportEntry &entry : report.entries)
    fix({&entry.name, &entry.kind, &entry.kernel, &entry.layer, &entry.label,
         &entry.location});
  for (ReportBuffer &buffer : report.buffers)
    fix({&buffer.name, &buffer.why, &buffer.reason});
}

FailureOr<StepReport> Reporter::run() {
  target = lookupTarget(graph);
  if (!target)
    return failure();
  report.function = toUtf8(graph.getName());
  report.budget = graph.getBudget();
  report.plannedPeak = graph.getPlannedPeak().value_or(0);
  report.arenaBytes = graph.getArenaBytes().value_or(0);
  findParameters();
  findUpdates();
  layers.emplace(graph, gradients);
  for (auto task : graph.getOps<TaskOp>())
    if (task.isClone())
      cloned.insert(task.getId());
  for (Operation &op : graph.getBody().front().without_terminator())
    if (failed(addEntry(op)))
      return failure();
  entryAt.push_back(report.entries.size());
  if (report.entries.empty())
    return std::move(report);
  addCallers();
  addBuffers();
  addReads();
  countLive();
  fixTexts(report);
  return std::move(report);
}

FailureOr<StepReport> remat::makeStepReport(GraphOp graph,
                                            const StepOptions &options,
                                            int64_t linkBytesPerSecond,
                                            ArrayRef<TaskDecision> decisions) {
  // Kernels are analyzed in the form that code is generated from. A graph that
  // was read from a file has not loaded what that needs.
  graph.getContext()
      ->loadDialect<arith::ArithDialect, bufferization::BufferizationDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    tensor::TensorDialect>();
  return Reporter(graph, options, linkBytesPerSecond, decisions).run();
}
