//===- SpreadStacks.cpp - stacks between loops as lists of buffers --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loop of layers stacks for its derivative is one value, which is needed
// until the derivative has run. Its elements are not: each is read by one
// iteration, and may lie in the buffer of a gradient that a later one writes.
// So each gets a buffer of its own where the derivative gives the step results
// that are large enough.
//
//===----------------------------------------------------------------------===//

#include "SpreadStacks.h"

#include "GraphPlanning.h"
#include "LoopPairs.h"
#include "Tuning.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace remat;

namespace {
/// A stack of the loop that a task runs, and the tasks whose loops have it as a
/// slice.
struct SpreadStack {
  unsigned result;
  int64_t elementBytes;
  SmallVector<TaskOp> readers;
};
} // namespace

/// The only operand of `task` that is `value`; unset if there are others.
static std::optional<unsigned> findOnlyOperand(TaskOp task, Value value) {
  std::optional<unsigned> found;
  for (auto [number, operand] : llvm::enumerate(task.getOperands())) {
    if (operand != value)
      continue;
    if (found)
      return std::nullopt;
    found = number;
  }
  return found;
}

/// Whether the loop that `reader` runs has `stack` as a slice and as nothing
/// else, in each of its `count` iterations.
static bool readsAsSlice(Operation *reader, Value stack, uint64_t count) {
  auto task = dyn_cast<TaskOp>(reader);
  LoopOp loop = task ? findLoop(task) : LoopOp();
  std::optional<unsigned> operand =
      task ? findOnlyOperand(task, stack) : std::nullopt;
  if (!loop || !operand || loop.isCountedAtRunTime() ||
      uint64_t(loop.getCount()) != count)
    return false;
  BlockArgument argument = getKernel(task).getArgument(*operand);
  return argument.hasOneUse() &&
         llvm::is_contained(loop.getSlices(), Value(argument));
}

/// Whether the loop of `task` gives the step elements of at least `bytes` bytes
/// that have no other buffer.
static bool givesElements(TaskOp task, int64_t bytes) {
  auto graph = cast<GraphOp>(task->getParentOp());
  SmallVector<BlockArgument> donors = getDonors(graph);
  Operation *terminator = getKernel(task).front().getTerminator();
  for (OpOperand &returned :
       graph.getBody().front().getTerminator()->getOpOperands()) {
    auto result = dyn_cast<OpResult>(getViewRoot(returned.get()));
    if (result && result.getOwner() == task &&
        !donors[returned.getOperandNumber()] &&
        terminator->getOperand(result.getResultNumber())
            .getDefiningOp<UnstackOp>() &&
        getBufferBytes(result) >= bytes)
      return true;
  }
  return false;
}

static SmallVector<SpreadStack> findSpreadStacks(TaskOp task) {
  SmallVector<SpreadStack> found;
  LoopOp loop = findLoop(task);
  if (!loop || loop.isCountedAtRunTime())
    return found;
  auto count = static_cast<uint64_t>(loop.getCount());
  int64_t alignment =
      getTargetFacts(task->getParentOfType<GraphOp>()).getAlignment();
  Operation *terminator = getKernel(task).front().getTerminator();
  int64_t all = 0;
  for (OpResult result : task.getResults()) {
    auto stack =
        dyn_cast<OpResult>(terminator->getOperand(result.getResultNumber()));
    if (!stack || !llvm::is_contained(loop.getStacks(), Value(stack)))
      continue;
    int64_t bytes = getBufferBytes(result) / std::max<int64_t>(count, 1);
    all += bytes;
    SpreadStack spread{result.getResultNumber(), bytes, {}};
    // Without padding, elements take no more than their stack.
    if (bytes == 0 || bytes % alignment != 0 ||
        !llvm::all_of(result.getUsers(), [&](Operation *reader) {
          return readsAsSlice(reader, result, count);
        }))
      continue;
    for (Operation *reader : result.getUsers())
      spread.readers.push_back(cast<TaskOp>(reader));
    if (llvm::any_of(spread.readers, [&](TaskOp reader) {
          return givesElements(reader, bytes);
        }))
      found.push_back(std::move(spread));
  }
  llvm::erase_if(found, [&](const SpreadStack &stack) {
    return stack.elementBytes < all / LoopTuning::leastSpread;
  });
  return found;
}

bool remat::maySpreadStacks(TaskOp task) {
  return !findSpreadStacks(task).empty();
}

namespace {
/// Replaces tasks by such of changed kernels.
class StackSpreader {
public:
  StackSpreader(ModuleOp module, SetVector<Operation *> &symbols)
      : table(module), symbols(symbols) {}

  void spread(TaskOp task, ArrayRef<SpreadStack> stacks);

private:
  func::FuncOp copyKernel(TaskOp task, ArrayRef<unsigned> numbers,
                          StringRef what, bool &isNew);
  TaskOp replace(TaskOp task, func::FuncOp kernel, ValueRange operands,
                 ArrayRef<unsigned> spreadResults, unsigned count);

  SymbolTable table;
  SetVector<Operation *> &symbols;
};
} // namespace

/// A copy of the kernel of `task`, which is to have lists in the places of
/// `numbers`. Its name says which, so that it is the same whatever was made
/// before. One that is there already is not new.
func::FuncOp StackSpreader::copyKernel(TaskOp task, ArrayRef<unsigned> numbers,
                                       StringRef what, bool &isNew) {
  auto kernel = table.lookup<func::FuncOp>(task.getKernel());
  llvm::APInt mask(numbers.back() + 1, 0);
  for (unsigned number : numbers)
    mask.setBit(number);
  SmallString<32> text;
  mask.toStringUnsigned(text, /*Radix=*/16);
  std::string name = (kernel.getName() + what + text.str().lower()).str();
  auto known = table.lookup<func::FuncOp>(name);
  isNew = !known || !symbols.contains(known);
  if (!isNew)
    return known;
  func::FuncOp made = kernel.clone();
  made.setName(name);
  table.insert(made, Block::iterator(kernel));
  symbols.insert(kernel);
  symbols.insert(made);
  return made;
}

/// A task of another kernel in the place of `task`, with `count` elements in
/// the place of each of `spreadResults`, which nothing reads any more.
TaskOp StackSpreader::replace(TaskOp task, func::FuncOp kernel,
                              ValueRange operands,
                              ArrayRef<unsigned> spreadResults,
                              unsigned count) {
  OpBuilder builder(task);
  auto isSpread = [&](unsigned number) {
    return llvm::is_contained(spreadResults, number);
  };
  auto spreadAttrs = [&](std::optional<ArrayAttr> all) {
    SmallVector<Attribute> some;
    if (!all)
      return ArrayAttr();
    for (auto [number, attr] : llvm::enumerate(*all))
      some.append(isSpread(number) ? count : 1, attr);
    return builder.getArrayAttr(some);
  };
  auto made = TaskOp::create(
      builder, task.getLoc(), kernel.getResultTypes(), kernel.getName(),
      operands, task.getId(), task.getCopy(), task.getBackward(),
      task.getPhase(), task.getPinned(), spreadAttrs(task.getPolicies()),
      spreadAttrs(task.getNames()), task.getLayersAttr(), task.getCost(),
      task.getWorkspace(), task.getHostWorkspace(), /*placement=*/{},
      /*workspace_offset=*/{}, /*host_workspace_offset=*/{},
      task.getLevelAttr(), task.getPolicyLevelAttr());
  unsigned place = 0;
  for (OpResult result : task.getResults()) {
    if (isSpread(result.getResultNumber())) {
      place += count;
      continue;
    }
    result.replaceAllUsesWith(made.getResult(place++));
  }
  return made;
}

static void updateType(func::FuncOp kernel) {
  kernel.setFunctionType(
      FunctionType::get(kernel.getContext(), kernel.front().getArgumentTypes(),
                        kernel.front().getTerminator()->getOperandTypes()));
}

/// Lets `kernel` return the elements of these results.
static void unstackResults(func::FuncOp kernel, ArrayRef<unsigned> numbers) {
  Operation *terminator = kernel.front().getTerminator();
  OpBuilder builder(terminator);
  SmallVector<Value> returned;
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    if (!llvm::is_contained(numbers, number)) {
      returned.push_back(value);
      continue;
    }
    auto unstack = UnstackOp::create(
        builder, value.getLoc(), getStackElementTypes(value.getType()), value);
    llvm::append_range(returned, unstack.getElements());
  }
  terminator->setOperands(returned);
  updateType(kernel);
}

/// Lets `kernel` have the elements of these arguments, the last one first.
static void stackArguments(func::FuncOp kernel, ArrayRef<unsigned> numbers) {
  OpBuilder builder(&kernel.front(), kernel.front().begin());
  for (unsigned number : llvm::reverse(numbers)) {
    BlockArgument argument = kernel.getArgument(number);
    SmallVector<Value> elements;
    for (Type type : getStackElementTypes(argument.getType()))
      elements.push_back(kernel.front().insertArgument(
          argument.getArgNumber(), type, argument.getLoc()));
    argument.replaceAllUsesWith(StackOp::create(builder, argument.getLoc(),
                                                argument.getType(), elements)
                                    .getResult());
    kernel.front().eraseArgument(argument.getArgNumber());
  }
  updateType(kernel);
}

void StackSpreader::spread(TaskOp task, ArrayRef<SpreadStack> stacks) {
  SmallVector<unsigned> results;
  llvm::SetVector<Operation *> readers;
  for (const SpreadStack &stack : stacks) {
    results.push_back(stack.result);
    for (TaskOp reader : stack.readers)
      readers.insert(reader);
  }
  auto count = static_cast<unsigned>(findLoop(task).getCount());
  bool isNew = false;
  func::FuncOp kernel = copyKernel(task, results, "_spread", isNew);
  if (isNew)
    unstackResults(kernel, results);
  TaskOp made = replace(task, kernel, task.getOperands(), results, count);
  // Where the elements of each stack begin.
  DenseMap<Value, unsigned> firstOf;
  for (auto [before, number] : llvm::enumerate(results))
    firstOf[task.getResult(number)] = number + before * (count - 1);
  for (Operation *op : readers) {
    auto reader = cast<TaskOp>(op);
    SmallVector<unsigned> numbers;
    SmallVector<Value> operands;
    for (auto [number, operand] : llvm::enumerate(reader.getOperands())) {
      auto first = firstOf.find(operand);
      if (first == firstOf.end()) {
        operands.push_back(operand);
        continue;
      }
      numbers.push_back(number);
      llvm::append_range(operands,
                         made.getResults().slice(first->second, count));
    }
    func::FuncOp changed = copyKernel(reader, numbers, "_lists", isNew);
    if (isNew)
      stackArguments(changed, numbers);
    replace(reader, changed, operands, {}, 0);
    reader.erase();
  }
  task.erase();
}

void remat::spreadStacks(GraphOp graph, SetVector<Operation *> &symbols) {
  auto module = graph->getParentOfType<ModuleOp>();
  auto kernels = findLoopKernels(module);
  StackSpreader spreader(module, symbols);
  // Readers, which come later, are replaced with what they read.
  for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
    auto task = dyn_cast<TaskOp>(op);
    if (!task || !kernels.contains(task.getKernelAttr().getAttr()))
      continue;
    SmallVector<SpreadStack> stacks = findSpreadStacks(task);
    if (!stacks.empty())
      spreader.spread(task, stacks);
  }
}
