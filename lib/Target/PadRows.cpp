//===- PadRows.cpp - rows that begin at multiples of some bytes -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-pad-rows`. Values are chosen first, so that
// each kernel is changed once for all of its arguments and results.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"

#include "remat/Codegen/LibraryCall.h"
#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Target/Passes.h"
#include "remat/Target/Target.h"
#include "remat/Utils/PaddedRows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <set>

namespace remat {
#define GEN_PASS_DEF_PADROWSPASS
#include "remat/Target/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether operations of a kernel read slices of tensors as well as tensors.
static bool takesSlices(func::FuncOp kernel) {
  if (kernel.isExternal() || !llvm::hasSingleElement(kernel.getBody()))
    return false;
  return llvm::all_of(kernel.front().without_terminator(), [](Operation &op) {
    bool isScalar =
        llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>) &&
        isMemoryEffectFree(&op);
    // Tiles of rows are made for whole factors.
    return (isa<linalg::LinalgOp>(op) && !op.hasAttr(blockAttrName) &&
            !op.hasAttr(factorAttrName)) ||
           isViewOp(&op) || isa<tensor::EmptyOp>(op) ||
           op.hasTrait<OpTrait::ConstantLike>() || isScalar;
  });
}

/// Whether all that a kernel reads of `value` is read by rows.
static bool isReadByRows(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *op = use.getOwner();
    if (isViewOp(op))
      return keepsRows(op) && isReadByRows(op->getResult(0));
    // What it starts from, it would have to be copied from.
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    return (structured && structured.isDpsInput(&use)) ||
           isa<tensor::ExtractOp>(op);
  });
}

/// Whether a structured operation writes result `number` of `kernel`, by rows,
/// and nothing else.
static bool isMadeByRows(func::FuncOp kernel, unsigned number) {
  OperandRange returned = kernel.front().getTerminator()->getOperands();
  Value value = returned[number];
  while (Operation *op = value.getDefiningOp()) {
    if (!isViewOp(op))
      break;
    if (!keepsRows(op))
      return false;
    value = op->getOperand(0);
  }
  return value.getDefiningOp<linalg::LinalgOp>() &&
         llvm::count_if(returned, [&](Value other) {
           return getViewRoot(other) == value;
         }) == 1;
}

/// Whether a kernel works row by row.
static bool hasRows(func::FuncOp kernel) {
  return llvm::any_of(kernel.getOps<linalg::LinalgOp>(),
                      [](Operation *op) { return op->hasAttr(rowsAttrName); });
}

namespace {
/// What is known of a kernel.
struct KernelFacts {
  bool takesSlices = false, isMatmul = false, hasRows = false;
};

/// A kernel, and which of its arguments and of its results behind them get
/// other rows.
struct Change {
  func::FuncOp kernel;
  std::vector<bool> isPadded;

  bool any() const { return llvm::is_contained(isPadded, true); }
};

/// Chooses values of the graphs of a module, and changes their kernels.
class RowPadder {
public:
  explicit RowPadder(ModuleOp module) : module(module), symbols(module) {}

  /// The number of values that have other rows now.
  unsigned run();

private:
  const KernelFacts &getFacts(func::FuncOp kernel);
  func::FuncOp getKernel(FlatSymbolRefAttr name) {
    return symbols.lookup<func::FuncOp>(name.getValue());
  }
  bool gains(TaskOp task);
  bool areReadersTasks(Value value, bool &isGained);
  bool isCandidate(OpResult value);
  void addGraph(GraphOp graph);
  using Values = SmallVector<Value>;
  Values getValues(TaskOp task) const;
  Values getValues(TaskOp task, const Absorption &offer) const;
  Change getChange(FlatSymbolRefAttr kernel, const Values &values);
  bool isPossible(const Change &change);
  bool areAlike(const Change &change, const Values &values);
  bool drop(FlatSymbolRefAttr kernel, const Values &values);
  void dropImpossible();
  void visitCalls(function_ref<void(FlatSymbolRefAttr, const Values &)> visit);
  func::FuncOp getChanged(const Change &change);
  void changeKernels();
  void eraseUncalled();
  void changeType(Value value, int64_t stride);

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<TaskOp> tasks;
  /// Tasks of a graph by their number.
  DenseMap<std::pair<Operation *, int64_t>, TaskOp> taskOf;
  DenseMap<Operation *, KernelFacts> facts;
  /// What gets other rows: results of tasks.
  llvm::SetVector<Value> padded;
  /// By the name of a kernel and by what is changed of it, what is called in
  /// its place; the kernel itself where all who call it want the same.
  std::map<std::string, std::map<std::vector<bool>, func::FuncOp>> changed;
};
} // namespace

/// How many elements rows of a tensor of this type should be apart; 0 if they
/// should stay as they are.
static int64_t getStride(Type type) {
  constexpr int64_t alignment = REMAT_ROW_ALIGNMENT;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() < 2 || tensor.getNumElements() == 0)
    return 0;
  int64_t elementBytes = getElementBytes(tensor.getElementType());
  int64_t rowBytes = tensor.getShape().back() * elementBytes;
  if (alignment % elementBytes != 0 || rowBytes % alignment == 0 ||
      rowBytes < PaddingTuning::leastMultiples * alignment ||
      rowBytes > INT32_MAX ||
      tensor.getNumElements() * elementBytes < PaddingTuning::leastBytes)
    return 0;
  RankedTensorType wider = withRows(
      tensor, llvm::alignTo(uint64_t(rowBytes), alignment) / elementBytes);
  return isBufferType(wider) ? wider.getShape().back() : 0;
}

const KernelFacts &RowPadder::getFacts(func::FuncOp kernel) {
  auto [known, isNew] = facts.try_emplace(kernel.getOperation());
  if (isNew) {
    KernelFacts &of = known->second;
    codegen::LibraryCallRef call = codegen::describeLibraryCall(kernel);
    of.isMatmul = call && call->getMatmul();
    of.takesSlices = takesSlices(kernel) && (!call || of.isMatmul);
    of.hasRows = hasRows(kernel);
  }
  return known->second;
}

//===----------------------------------------------------------------------===//
// Choice of values
//===----------------------------------------------------------------------===//

/// Whether `task` is faster if rows of what it reads or makes begin at better
/// addresses. Elementwise kernels see no rows where these have no gaps.
bool RowPadder::gains(TaskOp task) {
  func::FuncOp kernel = getKernel(task.getKernelAttr());
  return kernel && (getFacts(kernel).isMatmul || getFacts(kernel).hasRows);
}

bool RowPadder::areReadersTasks(Value value, bool &isGained) {
  return llvm::all_of(value.getUsers(), [&](Operation *op) {
    if (isViewOp(op))
      return keepsRows(op) && areReadersTasks(op->getResult(0), isGained);
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      return false;
    isGained |= gains(task);
    // A packed form is of elements that follow each other.
    return !task->hasAttr(packsAttrName);
  });
}

bool RowPadder::isCandidate(OpResult value) {
  auto task = cast<TaskOp>(value.getOwner());
  bool isGained = gains(task);
  return getStride(value.getType()) != 0 && !task->hasAttr(unpacksAttrName) &&
         areReadersTasks(value, isGained) && isGained;
}

void RowPadder::addGraph(GraphOp graph) {
  // Clones have the kernels of what they repeat.
  bool isOpen = !graph.isPlanned() &&
                llvm::none_of(graph.getOps<TaskOp>(),
                              [](TaskOp task) { return task.isClone(); });
  for (auto task : graph.getOps<TaskOp>()) {
    tasks.push_back(task);
    taskOf[{graph, static_cast<int64_t>(task.getId())}] = task;
    for (OpResult result : task->getResults())
      if (isOpen && isCandidate(result))
        padded.insert(result);
  }
}

/// What a task reads and makes, as its kernel's arguments and results are.
RowPadder::Values RowPadder::getValues(TaskOp task) const {
  Values values(task->getOperands());
  llvm::append_range(values, task->getResults());
  return values;
}

/// The same for a kernel that is offered to the task.
RowPadder::Values RowPadder::getValues(TaskOp task,
                                       const Absorption &offer) const {
  Values values;
  for (auto [number, operand] : offer.operands) {
    TaskOp reader = taskOf.lookup({task->getParentOp(), number});
    values.push_back(reader->getOperand(operand));
  }
  llvm::append_range(values, task->getResults());
  return values;
}

void RowPadder::visitCalls(
    function_ref<void(FlatSymbolRefAttr, const Values &)> visit) {
  for (TaskOp task : tasks) {
    visit(task.getKernelAttr(), getValues(task));
    for (const Absorption &offer : getAbsorptions(task))
      visit(offer.kernel, getValues(task, offer));
  }
}

Change RowPadder::getChange(FlatSymbolRefAttr kernel, const Values &values) {
  Change change{getKernel(kernel), {}};
  for (Value value : values)
    change.isPadded.push_back(padded.contains(getViewRoot(value)));
  return change;
}

/// Gives a kernel other rows.
static void change(func::FuncOp kernel, ArrayRef<int64_t> strides) {
  addPadding(kernel, strides.take_front(kernel.getNumArguments()),
             strides.drop_front(kernel.getNumArguments()));
}

/// Whether the kernel can have such rows, and is carried out as before.
bool RowPadder::isPossible(const Change &wanted) {
  func::FuncOp kernel = wanted.kernel;
  if (!kernel || !getFacts(kernel).takesSlices)
    return false;
  SmallVector<int64_t> strides;
  for (auto [number, type] : llvm::enumerate(llvm::concat<const Type>(
           kernel.getArgumentTypes(), kernel.getResultTypes()))) {
    strides.push_back(wanted.isPadded[number] ? getStride(type) : 0);
    unsigned numArguments = kernel.getNumArguments();
    if (wanted.isPadded[number] &&
        !(number < numArguments ? isReadByRows(kernel.getArgument(number))
                                : isMadeByRows(kernel, number - numArguments)))
      return false;
  }
  if (!getFacts(kernel).isMatmul)
    return true;
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  change(*trial, strides);
  codegen::LibraryCallRef call = codegen::describeLibraryCall(*trial);
  return call && call->getMatmul();
}

/// Whether what a task makes has the rows of what it reads where both have one
/// type: else the one could not be written over the other, and a step that
/// returns a softmax would have its scores beside it.
bool RowPadder::areAlike(const Change &change, const Values &values) {
  // A product is written over nothing but what it is added to.
  if (getFacts(change.kernel).isMatmul)
    return true;
  unsigned numArguments = func::FuncOp(change.kernel).getNumArguments();
  for (unsigned result = numArguments; result < values.size(); ++result)
    for (unsigned read = 0; read < numArguments; ++read)
      if (values[read].getType() == values[result].getType() &&
          getViewRoot(values[read]).getDefiningOp() &&
          change.isPadded[read] != change.isPadded[result])
        return false;
  return true;
}

/// Leaves values as they are which a kernel cannot read or make with other
/// rows; whether there are any.
bool RowPadder::drop(FlatSymbolRefAttr kernel, const Values &values) {
  Change change = getChange(kernel, values);
  if (!change.any() || (isPossible(change) && areAlike(change, values)))
    return false;
  for (Value value : values)
    padded.remove(getViewRoot(value));
  return true;
}

/// Leaves all such values as they are. A call is looked at again only where a
/// value of it was left.
void RowPadder::dropImpossible() {
  std::vector<std::pair<FlatSymbolRefAttr, Values>> calls;
  DenseMap<Value, SmallVector<unsigned, 2>> callsOf;
  visitCalls([&](FlatSymbolRefAttr kernel, const Values &values) {
    for (Value value : values)
      if (padded.contains(getViewRoot(value)))
        callsOf[getViewRoot(value)].push_back(calls.size());
    calls.emplace_back(kernel, values);
  });
  std::set<unsigned> waiting;
  for (unsigned number = 0; number < calls.size(); ++number)
    waiting.insert(waiting.end(), number);
  // In the order of the program, again and again.
  for (unsigned next = 0; !waiting.empty();) {
    auto found = waiting.lower_bound(next);
    if (found == waiting.end())
      found = waiting.begin();
    auto &[kernel, values] = calls[*found];
    next = *found + 1;
    waiting.erase(found);
    if (drop(kernel, values))
      for (Value value : values) {
        ArrayRef<unsigned> others = callsOf[getViewRoot(value)];
        waiting.insert(others.begin(), others.end());
      }
  }
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// What is called in the place of the kernel.
func::FuncOp RowPadder::getChanged(const Change &wanted) {
  func::FuncOp kernel = wanted.kernel;
  return changed[kernel.getName().str()][wanted.isPadded];
}

/// Changes kernels. One that is called with other rows and without stays beside
/// what is made of it.
void RowPadder::changeKernels() {
  visitCalls([&](FlatSymbolRefAttr kernel, const Values &values) {
    if (Change change = getChange(kernel, values); change.kernel)
      changed[kernel.getValue().str()][change.isPadded] = change.kernel;
  });
  for (auto &[name, variants] : changed)
    for (auto &[isPadded, kernel] : variants) {
      SmallVector<int64_t> strides;
      for (auto [type, is] :
           llvm::zip(llvm::concat<const Type>(kernel.getArgumentTypes(),
                                              kernel.getResultTypes()),
                     isPadded))
        strides.push_back(is ? getStride(type) : 0);
      if (!llvm::is_contained(isPadded, true))
        continue;
      if (variants.size() != 1) {
        // The table gives it a name that is free.
        kernel = kernel.clone();
        symbols.insert(kernel, module.getBody()->end());
      }
      change(kernel, strides);
    }
}

/// Erases kernels in whose place others are called everywhere.
void RowPadder::eraseUncalled() {
  for (auto &[name, variants] : changed) {
    bool isCalled =
        llvm::any_of(variants, [&, &name = name](const auto &entry) {
          return func::FuncOp(entry.second).getName() == name;
        });
    if (!isCalled)
      symbols.erase(symbols.lookup(name));
  }
}

/// Gives a value and its views their type.
void RowPadder::changeType(Value value, int64_t stride) {
  value.setType(withRows(cast<RankedTensorType>(value.getType()), stride));
  for (Operation *user : value.getUsers())
    if (isViewOp(user))
      changeType(user->getResult(0), stride);
}

unsigned RowPadder::run() {
  for (auto graph : module.getOps<GraphOp>())
    addGraph(graph);
  dropImpossible();
  if (padded.empty())
    return 0;
  changeKernels();
  for (TaskOp task : tasks) {
    auto rename = [&](FlatSymbolRefAttr &kernel, const Values &values) {
      Change change = getChange(kernel, values);
      if (change.any())
        kernel = FlatSymbolRefAttr::get(getChanged(change));
    };
    FlatSymbolRefAttr kernel = task.getKernelAttr();
    rename(kernel, getValues(task));
    SmallVector<Absorption> offers = getAbsorptions(task);
    for (Absorption &offer : offers)
      rename(offer.kernel, getValues(task, offer));
    task.setKernelAttr(kernel);
    if (!offers.empty())
      setAbsorptions(task, offers);
  }
  for (Value value : padded)
    changeType(value, getStride(value.getType()));
  eraseUncalled();
  return padded.size();
}

namespace {
struct PadRows : remat::impl::PadRowsPassBase<PadRows> {
  using PadRowsPassBase::PadRowsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Target *target = lookupTarget(module);
    if (!target)
      return signalPassFailure();
    if (target->wantsAlignedRows())
      numPadded += RowPadder(module).run();
  }
};
} // namespace
