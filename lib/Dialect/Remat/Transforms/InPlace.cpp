//===- InPlace.cpp - results in the place of operands ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task may write a result where an operand lies that nobody reads later, if
// its kernel lets it (Overwritable.cpp). If what is written is returned, the
// operand is in the caller's buffer from its beginning.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Utils/Overwritable.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace remat;

namespace {
/// What kernels may overwrite, found once for each.
class Overwritable {
public:
  explicit Overwritable(ModuleOp module) : symbols(module) {}

  const SmallVector<SmallVector<unsigned>> &get(TaskOp task) {
    auto [known, isNew] = kernels.try_emplace(task.getKernel());
    if (isNew)
      if (auto kernel = symbols.lookup<func::FuncOp>(task.getKernel()))
        known->second = findOverwritable(kernel);
    return known->second;
  }

private:
  SymbolTable symbols;
  llvm::StringMap<SmallVector<SmallVector<unsigned>>> kernels;
};
} // namespace

//===----------------------------------------------------------------------===//
// Over arguments
//===----------------------------------------------------------------------===//

/// The operands of `task` that are `root` or views of it. A loop of layers has
/// thousands of operands, of which each has few readers.
static unsigned countReads(TaskOp task, Value root) {
  unsigned reads = 0;
  SmallVector<Value> values = {root};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers())
      if (user == task)
        ++reads;
      else if (isViewOp(user))
        values.push_back(user->getResult(0));
  return reads;
}

std::optional<unsigned>
remat::findDonorOperand(TaskOp task, unsigned number, BlockArgument donor,
                        ArrayRef<unsigned> overwritable) {
  if (countReads(task, donor) != 1)
    return std::nullopt;
  for (unsigned operand : overwritable)
    if (getViewRoot(task.getOperand(operand)) == donor)
      return operand;
  return std::nullopt;
}

namespace {
/// A result of a task, by its number, that is written over an operand.
struct ResultPlace {
  unsigned result, operand;
};
} // namespace

/// Writes results of `task` over operands. A loop of layers has thousands of
/// results, so what says where they are is made once.
static void setPlaces(TaskOp task, ArrayRef<ResultPlace> changes) {
  if (changes.empty())
    return;
  Builder builder(task.getContext());
  SmallVector<Attribute> places(task->getNumResults(), builder.getUnitAttr());
  if (std::optional<ArrayAttr> old = task.getPlacement())
    places.assign(old->begin(), old->end());
  for (auto [result, operand] : changes)
    places[result] = builder.getI64IntegerAttr(operand);
  task.setPlacementAttr(builder.getArrayAttr(places));
}

/// For each result that has the buffer of an argument, what writes it.
static DenseMap<Value, BlockArgument> findDonated(GraphOp graph) {
  DenseMap<Value, BlockArgument> donated;
  Operation *terminator = graph.getBody().front().getTerminator();
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), terminator->getOperands()))
    if (donor)
      donated[getViewRoot(returned)] = donor;
  return donated;
}

namespace {
/// A result of a task that is written over an operand.
struct InPlaceWrite {
  OpResult result;
  unsigned operand;
};
} // namespace

/// Whether `task` alone reads `root`, and once; what is returned is read, too.
static bool readsAlone(TaskOp task, Value root) {
  bool isAlone = countReads(task, root) == 1;
  forEachReader(root, [&](Operation *reader) { isAlone &= reader == task; });
  return isAlone;
}

/// The operand that `task` may write result `number` over, and that another
/// task has made for it alone.
static std::optional<unsigned> findMadeForIt(TaskOp task, unsigned number,
                                             ArrayRef<unsigned> overwritable) {
  for (unsigned operand : overwritable) {
    Value root = getViewRoot(task.getOperand(operand));
    auto maker = root.getDefiningOp<TaskOp>();
    if (maker && maker.getPhase() == task.getPhase() && !maker.isClone() &&
        readsAlone(task, root))
      return operand;
  }
  return std::nullopt;
}

/// How `returned` is written over `donor`, the last task first: each task
/// writes over what the one before it has made, and the first one over the
/// argument. Empty if that is not possible.
static SmallVector<InPlaceWrite> findWritesOver(BlockArgument donor,
                                                Value returned,
                                                Overwritable &overwritable) {
  SmallVector<InPlaceWrite> writes;
  auto result = dyn_cast<OpResult>(getViewRoot(returned));
  while (auto task = result ? dyn_cast<TaskOp>(result.getOwner()) : TaskOp()) {
    unsigned number = result.getResultNumber();
    const auto &operands = overwritable.get(task);
    if (number >= operands.size())
      break;
    bool isFirst = countReads(task, donor) != 0;
    std::optional<unsigned> operand =
        isFirst ? findDonorOperand(task, number, donor, operands[number])
                : findMadeForIt(task, number, operands[number]);
    if (!operand)
      break;
    writes.push_back({result, *operand});
    if (isFirst)
      // Readers wait for the last task, and so would for the first one.
      return writes.size() == 1 || readsAlone(task, donor)
                 ? writes
                 : SmallVector<InPlaceWrite>();
    result = dyn_cast<OpResult>(getViewRoot(task.getOperand(*operand)));
  }
  return {};
}

static void writeOverDonors(GraphOp graph, Overwritable &overwritable) {
  Operation *terminator = graph.getBody().front().getTerminator();
  llvm::MapVector<Operation *, SmallVector<ResultPlace>> changes;
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), terminator->getOperands()))
    if (donor)
      for (auto [result, operand] :
           findWritesOver(donor, returned, overwritable))
        changes[result.getOwner()].push_back(
            {result.getResultNumber(), operand});
  for (const auto &[task, places] : changes)
    setPlaces(cast<TaskOp>(task), places);
}

SmallVector<OpResult> remat::findSumsInDonors(GraphOp graph, ModuleOp module) {
  SmallVector<OpResult> sums;
  SmallVector<BlockArgument> donors = getDonors(graph);
  if (!module || !getTargetFacts(graph).getInPlace() ||
      llvm::none_of(donors, [](Value donor) { return bool(donor); }))
    return sums;
  Overwritable overwritable(module);
  for (auto [donor, returned] : llvm::zip(
           donors, graph.getBody().front().getTerminator()->getOperands())) {
    if (!donor)
      continue;
    SmallVector<InPlaceWrite> writes =
        findWritesOver(donor, returned, overwritable);
    for (const InPlaceWrite &write :
         llvm::drop_begin(writes, writes.empty() ? 0 : 1))
      sums.push_back(write.result);
  }
  return sums;
}

SmallVector<WriteOverMade> remat::findWritesOverMade(GraphOp graph,
                                                     ModuleOp module) {
  SmallVector<WriteOverMade> writes;
  if (!module || !getTargetFacts(graph).getInPlace())
    return writes;
  Overwritable overwritable(module);
  for (auto task : graph.getOps<TaskOp>()) {
    if (!task.isPlannedBackward())
      continue;
    DenseSet<Value> taken;
    for (auto [number, operands] : llvm::enumerate(overwritable.get(task))) {
      std::optional<unsigned> operand = findMadeForIt(task, number, operands);
      if (!operand)
        continue;
      Value made = getViewRoot(task.getOperand(*operand));
      if (cast<TaskOp>(made.getDefiningOp()).isPlannedBackward() &&
          taken.insert(made).second)
        writes.push_back({task->getResult(number), made});
    }
  }
  return writes;
}

void remat::writeOverDonors(GraphOp graph, ModuleOp module) {
  if (!module || !getTargetFacts(graph).getInPlace())
    return;
  Overwritable overwritable(module);
  ::writeOverDonors(graph, overwritable);
}

/// The last operation that reads each of `arguments`.
static DenseMap<Value, unsigned>
findLastReads(GraphOp graph, const DenseMap<Value, BlockArgument> &donated) {
  DenseMap<Value, unsigned> lastReads;
  if (donated.empty())
    return lastReads;
  for (auto [position, op] : llvm::enumerate(graph.getBody().front()))
    if (!isViewOp(&op))
      for (Value operand : op.getOperands())
        if (Value root = getViewRoot(operand); isa<BlockArgument>(root))
          lastReads[root] = position;
  return lastReads;
}

//===----------------------------------------------------------------------===//
// Over values
//===----------------------------------------------------------------------===//

namespace {
/// Decides which results of tasks are written over operands.
class InPlaceWriter {
public:
  InPlaceWriter(GraphOp graph, ModuleOp module)
      : overwritable(module), liveness(graph), donated(findDonated(graph)),
        lastReads(findLastReads(graph, donated)), graph(graph) {
    for (const LiveBuffer &buffer : liveness.buffers)
      if (buffer.value)
        bufferOf[buffer.value] = &buffer;
  }

  void run();

private:
  void write(TaskOp task, unsigned position);
  bool mayTake(TaskOp task, unsigned number, Value root, unsigned position);

  Overwritable overwritable;
  GraphLiveness liveness;
  DenseMap<Value, const LiveBuffer *> bufferOf;
  DenseMap<Value, BlockArgument> donated;
  DenseMap<Value, unsigned> lastReads;
  GraphOp graph;
};
} // namespace

/// Whether result `number` may be where `root` lies, which `task` reads.
bool InPlaceWriter::mayTake(TaskOp task, unsigned number, Value root,
                            unsigned position) {
  // The liveness from before knows when each value is read last.
  const LiveBuffer *buffer = bufferOf.lookup(root);
  if (!buffer || buffer->space != MemorySpace::Arena ||
      buffer->end != position || !isa<TaskOp>(buffer->owner) ||
      // What another call made is not where this one's results are.
      liveness.isState(*buffer) || countReads(task, root) != 1)
    return false;
  BlockArgument donor = donated.lookup(task->getResult(number));
  if (!donor)
    return true;
  // What is overwritten is in the result's buffer from its beginning.
  const LiveBuffer *first = bufferOf.lookup(GraphLiveness::getOwner(root));
  auto read = lastReads.find(donor);
  return first && (read == lastReads.end() || first->begin > read->second);
}

void InPlaceWriter::write(TaskOp task, unsigned position) {
  DenseSet<Value> taken;
  SmallVector<ResultPlace> changes;
  for (auto [number, operands] : llvm::enumerate(overwritable.get(task))) {
    if (task.getInPlaceOperand(number))
      continue;
    for (unsigned operand : operands) {
      Value root = getViewRoot(task.getOperand(operand));
      if (!mayTake(task, number, root, position) || !taken.insert(root).second)
        continue;
      changes.push_back({static_cast<unsigned>(number), operand});
      break;
    }
  }
  setPlaces(task, changes);
}

void InPlaceWriter::run() {
  ::writeOverDonors(graph, overwritable);
  for (auto [position, op] : llvm::enumerate(graph.getBody().front()))
    if (auto task = dyn_cast<TaskOp>(&op))
      write(task, position);
}

void remat::writeInPlace(GraphOp graph, ModuleOp module) {
  if (module && getTargetFacts(graph).getInPlace())
    InPlaceWriter(graph, module).run();
}
