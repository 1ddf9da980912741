//===- StepTableEmission.cpp - the table of a placed graph ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/StepTableEmission.h"
#include "EntryOrigins.h"
#include "SequenceNumbers.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Codegen/Signature.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Locations.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {

class TableEmitter {
public:
  TableEmitter(GraphOp graph, const llvm::StringMap<CompiledKernel> &kernels,
               const CheckList &checks, int threads, uint64_t flags)
      : graph(graph), kernels(kernels), checks(checks), threads(threads),
        flags(flags), origins(graph->getParentOfType<ModuleOp>()),
        sequence(graph) {
    table.setFlags(flags);
  }
  LogicalResult run();
  std::string finalize() const { return table.finalize(); }

private:
  LogicalResult addSignature();
  LogicalResult addOp(Operation &op);
  uint32_t addConstant(DenseElementsAttr constant);
  LogicalResult addTask(TaskOp task);
  FailureOr<uint32_t> addLoop(LoopOp loop);
  LogicalResult addBuffer(Value value, SlotAttr slot);
  void setContents(Value value);
  uint32_t addDeviceKernel(const CompiledKernel &kernel);
  void addTransfer(Operation *op, remat_entry_kind kind, Value source,
                   Value target, StringRef name);
  std::string getName(unsigned number, bool isArgument);

  GraphOp graph;
  const llvm::StringMap<CompiledKernel> &kernels;
  const CheckList &checks;
  int threads;
  uint64_t flags;
  EntryOrigins origins;
  SequenceNumbers sequence;
  StepTableBuilder table;
  DenseMap<Value, uint32_t> buffers;
  /// The bytes of rows of values with gaps between them.
  DenseMap<Value, uint32_t> rows;
  /// For values in buffers of the caller, the number of the result.
  DenseMap<Value, unsigned> results;
  /// The entry's task number of each task that is no clone, by id.
  std::map<int64_t, uint32_t> originals;
  /// Clones that are not compared with what they repeat.
  DenseSet<Operation *> inexactClones;
  /// Kernels on a device in the step table, by their unit.
  std::map<uint32_t, uint32_t> deviceKernels;
  uint32_t numTasks = 0;
};

} // namespace

/// The name that an attribute of the argument or result gives, or a number.
std::string TableEmitter::getName(unsigned number, bool isArgument) {
  DictionaryAttr attrs = isArgument ? graph.getArgAttrDict(number)
                                    : graph.getResultAttrDict(number);
  if (attrs)
    if (auto name = attrs.getAs<StringAttr>(RematDialect::nameAttrName))
      return name.str();
  return ((isArgument ? "arg" : "result") + Twine(number)).str();
}

LogicalResult TableEmitter::addSignature() {
  if (failed(checkSignature(graph)))
    return failure();
  auto getTensorDtype = [](RankedTensorType type) {
    return *getDtype(type.getElementType());
  };
  for (auto [number, argument] :
       llvm::enumerate(graph.getBody().front().getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    bool isOnHost = isHostArgument(graph, number);
    uint32_t index = table.addArgument(
        getName(number, true), getTensorDtype(type), type.getShape().vec(),
        isOnHost ? unsigned(REMAT_TENSOR_HOST) : 0u);
    buffers[argument] = table.addArgumentBuffer(index);
  }
  Operation *terminator = graph.getBody().front().getTerminator();
  SmallVector<BlockArgument> donors = getDonors(graph);
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    unsigned number = operand.getOperandNumber();
    DictionaryAttr attrs = graph.getResultAttrDict(number);
    bool isAbsent = attrs && attrs.contains(RematDialect::absentAttrName);
    bool isOnHost =
        donors[number] && isHostArgument(graph, donors[number].getArgNumber());
    table.addResult(getName(number, false), getTensorDtype(type),
                    type.getShape().vec(),
                    (isAbsent ? unsigned(REMAT_TENSOR_ABSENT) : 0u) |
                        (isOnHost ? unsigned(REMAT_TENSOR_HOST) : 0u));
    results[GraphLiveness::getOwner(operand.get())] = number;
  }
  for (auto [number, donor] : llvm::enumerate(donors))
    if (donor)
      table.addDonation(donor.getArgNumber(), number);
  return success();
}

/// Says what is in the buffer of `value`.
void TableEmitter::setContents(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<remat_dtype> dtype = getDtype(type.getElementType());
  table.setContents(buffers.lookup(value), dtype ? int32_t(*dtype) : -1,
                    type.getNumElements() *
                        getElementBytes(type.getElementType()),
                    rows.lookup(value));
}

LogicalResult TableEmitter::addBuffer(Value value, SlotAttr slot) {
  if (auto it = results.find(value); it != results.end()) {
    buffers[value] = table.addResultBuffer(it->second);
    return success();
  }
  if (!slot)
    return value.getDefiningOp()->emitOpError(
        "has no placement, expected a slot for each of its results");
  if (slot.getSpace() == MemorySpace::Reused) {
    buffers[value] = table.addReusedBuffer(slot.getResult(), slot.getOffset(),
                                           slot.getBytes());
    return success();
  }
  buffers[value] =
      slot.getSpace() == MemorySpace::Host
          ? table.addHostBuffer(slot.getOffset(), slot.getBytes())
          : table.addArenaBuffer(slot.getOffset(), slot.getBytes());
  return success();
}

uint32_t TableEmitter::addDeviceKernel(const CompiledKernel &kernel) {
  auto [found, isNew] = deviceKernels.insert({kernel.number, 0});
  if (isNew)
    found->second =
        table.addKernel(kernel.number, kernel.launches, kernel.scratch);
  return found->second;
}

/// Which parts of the loop are lists of buffers; empty if none is.
static std::vector<uint32_t> findLists(LoopOp loop) {
  std::vector<uint32_t> lists;
  for (Value slice : loop.getSlices())
    lists.push_back(findStack(slice) != nullptr);
  for (Value stack : loop.getStacks())
    lists.push_back(findUnstack(stack) != nullptr);
  for (Value slice : loop.getStateSlices())
    lists.push_back(findStack(slice) != nullptr);
  if (llvm::none_of(lists, [](uint32_t isList) { return isList; }))
    lists.clear();
  return lists;
}

/// The number of the loop, with the table of its body.
FailureOr<uint32_t> TableEmitter::addLoop(LoopOp loop) {
  GraphOp body = findBody(loop);
  if (!body || !body.isPlaced())
    return loop.emitOpError("runs '")
           << loop.getBody() << "', expected a placed 'remat.graph'";
  FailureOr<std::string> blob =
      buildStepTable(body, kernels, checks, threads, flags);
  if (failed(blob))
    return failure();
  remat_loop record = {};
  record.body = table.addBody(*blob);
  record.carried = loop.getInits().size();
  record.invariants = loop.getInvariants().size();
  record.slices = loop.getSlices().size();
  record.stacks = loop.getStacks().size();
  record.flags = (loop.getReverse() ? unsigned(REMAT_LOOP_REVERSE) : 0u) |
                 (loop.getTrips() ? unsigned(REMAT_LOOP_TRIPS) : 0u) |
                 (loop.getConditional() ? unsigned(REMAT_LOOP_WHILE) : 0u);
  record.count = loop.getCount();
  record.advance = REMAT_NONE;
  if (loop.getAdvance()) {
    GraphOp advance = SymbolTable::lookupNearestSymbolFrom<GraphOp>(
        loop, loop.getAdvanceAttr());
    FailureOr<std::string> again =
        buildStepTable(advance, kernels, checks, threads, flags);
    if (failed(again))
      return failure();
    record.advance = table.addBody(*again);
    record.advance_invariants = loop.getStateInvariants().size();
    record.advance_slices = loop.getStateSlices().size();
    record.slots = *loop.getSlots();
    record.host_slots = loop.getHostSlots().value_or(0);
    record.period = loop.getPeriod().value_or(0);
  }
  return table.addLoop(record, findLists(loop));
}

/// The elements, one after the other.
uint32_t TableEmitter::addConstant(DenseElementsAttr constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  // Of equal elements there is one.
  int64_t copies = constant.isSplat() ? type.getNumElements() : 1;
  std::string data;
  for (int64_t copy = 0; copy < copies; ++copy)
    llvm::append_range(data, constant.getRawData());
  uint32_t buffer = table.addConstantBuffer(data.data(), data.size());
  table.setContents(buffer, *getDtype(type.getElementType()), data.size());
  return buffer;
}

LogicalResult TableEmitter::addTask(TaskOp task) {
  const CompiledKernel &kernel = kernels.at(getCodeKey(task));
  for (OpResult result : task.getResults()) {
    if (std::optional<unsigned> operand =
            task.getInPlaceOperand(result.getResultNumber())) {
      buffers[result] =
          table.addView(buffers.lookup(task.getOperand(*operand)));
      continue;
    }
    if (failed(addBuffer(result, task.getResultSlot(result.getResultNumber()))))
      return failure();
  }
  StepEntry entry;
  int64_t workspace = task.getWorkspace();
  if (workspace < kernel.workspaceBytes)
    return task.emitOpError("has a workspace of ")
           << workspace << " bytes, but its kernel '" << task.getKernel()
           << "' needs " << kernel.workspaceBytes;
  if (workspace != 0) {
    if (!task.getWorkspaceOffset())
      return task.emitOpError("has no placement for its workspace");
    entry.workspace = table.addArenaBuffer(
        *task.getWorkspaceOffset(),
        llvm::alignTo(workspace, getTargetFacts(graph).getAlignment()));
  }
  if (int64_t bytes = task.getHostWorkspace(); bytes != 0) {
    if (!task.getHostWorkspaceOffset())
      return task.emitOpError("has no placement for its workspace on the host");
    entry.hostWorkspace = table.addHostBuffer(
        *task.getHostWorkspaceOffset(),
        llvm::alignTo(bytes, getTargetFacts(graph).getAlignment()));
  }
  for (Value operand : task.getOperands())
    entry.operands.push_back(buffers.lookup(operand));
  for (OpResult result : task.getResults()) {
    rows[result] = kernel.resultRows[result.getResultNumber()];
    setContents(result);
    entry.results.push_back(buffers.lookup(result));
  }
  if (kernel.call) {
    // The call's operands, which need not be the kernel's in number or order.
    entry.operands.clear();
    for (const codegen::LibraryCall::Operand &operand :
         kernel.call->getOperands())
      entry.operands.push_back(
          operand.constant ? addConstant(operand.constant)
                           : buffers.lookup(task.getOperand(operand.argument)));
  }
  if (kernel.loop) {
    FailureOr<uint32_t> number = addLoop(kernel.loop);
    if (failed(number))
      return failure();
    entry.kind = REMAT_ENTRY_LOOP;
    entry.callee = *number;
  } else if (kernel.call && kernel.call->getSymbol().empty()) {
    kernel.call->addTo(table, entry);
    if (kernel.isEither)
      table.addCodePlan(entry.callee, addDeviceKernel(kernel),
                        kernel.codeWorkspaceBytes);
  } else {
    entry.callee = kernel.isOnDevice ? addDeviceKernel(kernel) : kernel.number;
    entry.extent = kernel.extent;
    entry.grain = kernel.grain;
  }
  entry.task = numTasks++;
  entry.copy = task.getCopy();
  entry.recompute = task.isClone();
  entry.backward = task.getBackward();
  entry.update = isOptimizerLocation(task.getLoc());
  if (!task.isClone())
    originals[task.getId()] = entry.task;
  else if (auto it = originals.find(task.getId());
           it != originals.end() && !inexactClones.contains(task))
    entry.original = it->second;
  entry.forwardIndex = sequence.get(task);
  entry.name = task.getKernel().str();
  entry.location = describeLocation(task.getLoc());
  origins.describe(task, entry);
  table.addEntry(entry);
  return success();
}

/// A copy from `source` to `target`, or what a copy is about.
void TableEmitter::addTransfer(Operation *op, remat_entry_kind kind,
                               Value source, Value target, StringRef name) {
  StepEntry entry;
  entry.kind = kind;
  entry.operands = {buffers.lookup(source)};
  if (target) {
    rows[target] = rows.lookup(source);
    // What is in host memory is only copied.
    if (isa<RankedTensorType>(target.getType()))
      setContents(target);
    entry.results = {buffers.lookup(target)};
  }
  entry.task = numTasks++;
  entry.name = name.str();
  entry.location = describeLocation(op->getLoc());
  table.addEntry(entry);
}

LogicalResult TableEmitter::addOp(Operation &op) {
  if (isViewOp(&op)) {
    buffers[op.getResult(0)] = table.addView(buffers.lookup(op.getOperand(0)));
    rows[op.getResult(0)] = rows.lookup(op.getOperand(0));
    setContents(op.getResult(0));
    return success();
  }
  if (auto task = dyn_cast<TaskOp>(op))
    return addTask(task);
  if (auto offload = dyn_cast<OffloadOp>(op)) {
    if (failed(addBuffer(offload.getResult(),
                         offload.getPlacement().value_or(SlotAttr()))))
      return failure();
    addTransfer(&op, REMAT_ENTRY_COPY, offload.getSource(), offload.getResult(),
                "offload");
    return success();
  }
  if (auto reload = dyn_cast<ReloadOp>(op)) {
    if (failed(addBuffer(reload.getResult(),
                         reload.getPlacement().value_or(SlotAttr()))))
      return failure();
    addTransfer(&op, REMAT_ENTRY_COPY, reload.getSource(), reload.getResult(),
                "reload");
    return success();
  }
  if (auto release = dyn_cast<ReleaseOp>(op)) {
    addTransfer(&op, REMAT_ENTRY_RELEASE, release.getSource(), {}, "release");
    return success();
  }
  return op.emitOpError("is not supported in a graph on CPU");
}

LogicalResult TableEmitter::run() {
  if (failed(addSignature()))
    return failure();
  inexactClones = findInexactClones(graph);
  SmallVector<unsigned> callBegins = GraphLiveness(graph).callBegins;
  auto nextCall = callBegins.begin();
  for (auto [position, op] :
       llvm::enumerate(graph.getBody().front().without_terminator())) {
    for (; nextCall != callBegins.end() && *nextCall == position; ++nextCall)
      table.beginCall();
    if (failed(addOp(op)))
      return failure();
  }
  for (const std::string &message : checks.getMessages())
    table.addCheck(message);
  table.setArenaBytes(graph.getArenaBytes().value_or(0));
  table.setHostBytes(graph.getHostArenaBytes().value_or(0));
  table.setStateBytes(graph.getStateBytes().value_or(0));
  table.setThreads(threads);
  table.assignStreams();
  return success();
}

std::string remat::codegen::getCodeKey(TaskOp task) {
  std::string key = task.getKernel().str();
  for (unsigned number = 0; number < task.getNumResults(); ++number)
    if (std::optional<unsigned> operand = task.getInPlaceOperand(number))
      key += (" " + Twine(number) + " over " + Twine(*operand)).str();
  return key;
}

FailureOr<std::string> remat::codegen::buildStepTable(
    GraphOp graph, const llvm::StringMap<CompiledKernel> &kernels,
    const CheckList &checks, int threads, uint64_t flags) {
  TableEmitter emitter(graph, kernels, checks, threads, flags);
  if (failed(emitter.run()))
    return failure();
  std::string table = emitter.finalize(), error;
  if (!checkStepTable(table, error))
    return graph.emitOpError("has a step table that no runtime would load: ")
           << error;
  return table;
}
