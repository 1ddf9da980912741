//===- LoopSplits.cpp - pairs of loops in two parts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loop keeps of its iterations is the same for all of them. In two parts
// it has two choices: the iterations that the reverse loop comes to last, whose
// stacks wait the longest, keep less than the others. No iteration changes, nor
// does their order.
//
//===----------------------------------------------------------------------===//

#include "LoopCosts.h"
#include "PairParts.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

bool remat::maySplit(const LoopPair &pair) {
  TaskOp task = pair.forward, reader = pair.reverse;
  LoopOp forward = findLoop(task), reverse = findLoop(reader);
  if (forward.isCountedAtRunTime() || reverse.isCountedAtRunTime() ||
      forward.getCount() < 2 || task.isClone() || reader.isClone())
    return false;
  // Lists have parts; of what is one tensor there would be copies.
  auto isList = [](Value slice) { return findStack(slice) != nullptr; };
  if (!llvm::all_of(forward.getSlices(), isList))
    return false;
  for (auto [number, slice] : llvm::enumerate(reverse.getSlices()))
    if (!isStack(pair, number) && !isList(slice))
      return false;
  if (!llvm::all_of(reverse.getStacks(),
                    [](Value stack) { return findUnstack(stack) != nullptr; }))
    return false;
  return llvm::all_of(
      task.getResults().drop_front(forward.getInits().size()),
      [&](OpResult stack) {
        return llvm::all_of(stack.getUses(), [&](OpOperand &use) {
          return use.getOwner() == reader &&
                 llvm::any_of(pair.stacks, [&](const LoopPair::Stack &known) {
                   return known.result == stack.getResultNumber();
                 });
        });
      });
}

/// The type of what `type` is a stack of, for another number of elements.
static RankedTensorType resize(Type type, int64_t count) {
  auto stack = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape = llvm::to_vector(stack.getShape());
  shape.front() = count;
  return stack.clone(shape);
}

namespace {
/// Some of the iterations of a loop, which follow each other.
struct Part {
  int64_t begin, count;
  StringRef name;
};

class PairSplitter {
public:
  PairSplitter(LoopPair pair, int64_t late, ModuleOp module,
               SetVector<Operation *> &symbols)
      : pair(std::move(pair)), table(module), symbols(symbols) {
    LoopOp forward = findLoop(this->pair.forward);
    int64_t count = forward.getCount(), rest = count - late;
    parts[0] = {0, late, "_first"};
    parts[1] = {late, rest, "_rest"};
    if (forward.getReverse()) {
      parts[0] = {rest, late, "_last"};
      parts[1] = {0, rest, "_before"};
    }
  }

  SplitPair run();

private:
  SmallVector<Passed> collectOperands(TaskOp task, const Part &part,
                                      ValueRange carried,
                                      const DenseMap<Value, Value> &stacks);
  func::FuncOp createKernel(LoopOp loop, StringRef name, const Part &part,
                            ArrayRef<Passed> operands, ArrayRef<Value> passed);
  TaskOp makePart(TaskOp task, const Part &part, ValueRange carried,
                  const DenseMap<Value, Value> &stacks, uint64_t id);

  LoopPair pair;
  SymbolTable table;
  SetVector<Operation *> &symbols;
  /// Those that the forward loop runs first, and the others.
  Part parts[2];
};
} // namespace

/// What the loop of `task` gets for a part: `carried`, and of slices some
/// elements or, of stacks, what these parts are.
SmallVector<Passed>
PairSplitter::collectOperands(TaskOp task, const Part &part, ValueRange carried,
                              const DenseMap<Value, Value> &stacks) {
  LoopOp loop = findLoop(task);
  SmallVector<Passed> operands;
  for (Value value : carried)
    operands.push_back({{value}, {}});
  for (Value operand : loop.getInvariants())
    operands.push_back(getAllPassed(task, operand));
  for (Value operand : loop.getSlices()) {
    Passed passed = getAllPassed(task, operand);
    if (!passed.stack) {
      operands.push_back({{stacks.at(passed.values.front())}, {}});
      continue;
    }
    auto some = ArrayRef(passed.values).slice(part.begin, part.count);
    operands.push_back(
        {SmallVector<Value, 1>(some), resize(passed.stack, part.count)});
  }
  return operands;
}

/// The old results that those of a part are, or are elements of.
static SmallVector<unsigned> findOrigins(LoopOp loop, const Part &part) {
  auto origins =
      llvm::to_vector(llvm::seq<unsigned>(0, loop.getInits().size()));
  unsigned origin = origins.size();
  for (Value stack : loop.getStacks()) {
    if (!findUnstack(stack)) {
      origins.push_back(origin++);
      continue;
    }
    for (int64_t element = 0; element < part.count; ++element)
      origins.push_back(origin + part.begin + element);
    origin += loop.getCount();
  }
  return origins;
}

/// The kernel of a part of `loop` on `operands`, which are `passed`.
func::FuncOp PairSplitter::createKernel(LoopOp loop, StringRef name,
                                        const Part &part,
                                        ArrayRef<Passed> operands,
                                        ArrayRef<Value> passed) {
  if (auto known = table.lookup<func::FuncOp>(name);
      known && symbols.contains(known))
    return known;
  OpBuilder builder(loop.getContext());
  auto kernel = func::FuncOp::create(
      builder, loop.getLoc(), name,
      builder.getFunctionType(ValueRange(passed).getTypes(), {}));
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  table.insert(kernel);
  symbols.insert(kernel);
  Block *block = kernel.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(passed, block->getArguments());
  SmallVector<Value> given;
  for (const Passed &operand : operands) {
    auto values = llvm::map_to_vector(
        operand.values, [&](Value value) { return mapping.lookup(value); });
    given.push_back(operand.stack ? StackOp::create(builder, loop.getLoc(),
                                                    operand.stack, values)
                                  : values.front());
  }
  SmallVector<Type> types = llvm::to_vector(loop.getFinals().getTypes());
  for (Value stack : loop.getStacks())
    types.push_back(resize(stack.getType(), part.count));
  ValueRange all = given;
  unsigned numCarried = loop.getInits().size(),
           numInvariants = loop.getInvariants().size();
  auto run =
      LoopOp::create(builder, loop.getLoc(), types, loop.getBody(), part.count,
                     loop.getReverse(), all.take_front(numCarried),
                     all.slice(numCarried, numInvariants),
                     all.drop_front(numCarried + numInvariants));
  run.setAsserts(loop.getAsserts());
  run.setInnerPolicyAttr(loop.getInnerPolicyAttr());
  for (OpResult result : run.getStacks())
    if (findUnstack(loop.getResult(result.getResultNumber())))
      UnstackOp::create(builder, loop.getLoc(),
                        getStackElementTypes(result.getType()), result);
  auto returned =
      func::ReturnOp::create(builder, loop.getLoc(), getBufferResults(run));
  kernel.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                                 returned.getOperandTypes()));
  return kernel;
}

/// A task in front of `task` for a part of the iterations of its loop, which
/// begins with `carried` and has as slices these parts of stacks.
TaskOp PairSplitter::makePart(TaskOp task, const Part &part, ValueRange carried,
                              const DenseMap<Value, Value> &stacks,
                              uint64_t id) {
  SmallVector<Passed> operands = collectOperands(task, part, carried, stacks);
  SetVector<Value> passed;
  for (const Passed &operand : operands)
    passed.insert_range(operand.values);
  LoopOp loop = findLoop(task);
  // What is passed once or twice is a matter of the task, not of its kernel.
  std::string name = (task.getKernel() + "_" + Twine(task.getId()) + part.name +
                      Twine(part.count))
                         .str();
  func::FuncOp kernel =
      createKernel(loop, name, part, operands, passed.getArrayRef());
  SmallVector<unsigned> origins = findOrigins(loop, part);
  OpBuilder builder(task);
  auto keep = [&](std::optional<ArrayAttr> all) {
    return all ? builder.getArrayAttr(llvm::map_to_vector(
                     origins, [&](unsigned number) { return (*all)[number]; }))
               : ArrayAttr();
  };
  LoopOp run = *kernel.getOps<LoopOp>().begin();
  return TaskOp::create(
      builder, task.getLoc(), kernel.getResultTypes(), kernel.getName(),
      passed.getArrayRef(), id, task.getCopy(), task.getBackward(),
      task.getPhase(), task.getPinned(), keep(task.getPolicies()),
      keep(task.getNames()), task.getLayersAttr(),
      multiplyCounts(getIterationCost(findBody(run)), part.count),
      getWorkspaceBytes(run), getHostWorkspaceBytes(run), /*placement=*/{},
      /*workspace_offset=*/{}, /*host_workspace_offset=*/{},
      task.getLevelAttr(), task.getPolicyLevelAttr());
}

SplitPair PairSplitter::run() {
  TaskOp forward = pair.forward, reverse = pair.reverse;
  LoopOp forwardLoop = findLoop(forward), reverseLoop = findLoop(reverse);
  unsigned numCarried = forwardLoop.getInits().size();
  uint64_t nextId = 0;
  for (auto task : cast<GraphOp>(forward->getParentOp()).getOps<TaskOp>())
    nextId = std::max<uint64_t>(nextId, task.getId() + 1);
  symbols.insert(getKernel(forward));
  symbols.insert(getKernel(reverse));
  auto getPassed = [](TaskOp task, OperandRange operands) {
    return llvm::map_to_vector(operands, [&](Value operand) {
      return getAllPassed(task, operand).values.front();
    });
  };

  DenseMap<Value, Value> none, ofFirst, ofSecond;
  TaskOp first =
      makePart(forward, parts[0], getPassed(forward, forwardLoop.getInits()),
               none, forward.getId());
  TaskOp second =
      makePart(forward, parts[1], first.getResults().take_front(numCarried),
               none, nextId++);
  for (unsigned number = 0; number < numCarried; ++number)
    forward.getResult(number).replaceAllUsesWith(second.getResult(number));
  for (OpResult stack : forward.getResults().drop_front(numCarried)) {
    ofFirst[stack] = first.getResult(stack.getResultNumber());
    ofSecond[stack] = second.getResult(stack.getResultNumber());
  }
  unsigned numFinals = reverseLoop.getInits().size();
  TaskOp early =
      makePart(reverse, parts[1], getPassed(reverse, reverseLoop.getInits()),
               ofSecond, nextId);
  TaskOp late =
      makePart(reverse, parts[0], early.getResults().take_front(numFinals),
               ofFirst, reverse.getId());
  for (unsigned number = 0; number < numFinals; ++number)
    reverse.getResult(number).replaceAllUsesWith(late.getResult(number));
  // All stacks are unstacked.
  int64_t count = reverseLoop.getCount();
  for (unsigned stack = 0; stack < reverseLoop.getStacks().size(); ++stack)
    for (auto [task, part] : {std::pair(late, parts[0]), {early, parts[1]}})
      for (int64_t element = 0; element < part.count; ++element)
        reverse.getResult(numFinals + stack * count + part.begin + element)
            .replaceAllUsesWith(
                task.getResult(numFinals + stack * part.count + element));
  reverse.erase();
  forward.erase();
  return {early, late};
}

SplitPair remat::splitPair(LoopPair pair, int64_t late, ModuleOp module,
                           SetVector<Operation *> &symbols) {
  return PairSplitter(std::move(pair), late, module, symbols).run();
}
