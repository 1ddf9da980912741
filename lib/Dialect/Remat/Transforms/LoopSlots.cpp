//===- LoopSlots.cpp - loops with fewer checkpoints than iterations -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a loop reads what the loop carried at the start of each
// iteration. All of it in a stack is one extreme; a reverse loop that makes it
// again from a few checkpoints needs no stack (`again` of remat.loop).
//
//===----------------------------------------------------------------------===//

#include "LoopSlots.h"

#include "GraphPlanning.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Planning/Loops.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

static func::FuncOp getKernel(TaskOp task) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
}

/// What `task` passes for `operand` of the loop in its kernel.
static Value getPassed(TaskOp task, Value operand) {
  return task.getOperand(cast<BlockArgument>(operand).getArgNumber());
}

/// What `value`, a result of a body, is a copy of; null if it is none.
static Value findCopied(Value value) {
  auto task = value.getDefiningOp<TaskOp>();
  if (!task || task.getNumOperands() != 1 || task.getNumResults() != 1)
    return nullptr;
  func::FuncOp kernel = getKernel(task);
  auto copy = kernel.front()
                  .getTerminator()
                  ->getOperand(0)
                  .getDefiningOp<linalg::CopyOp>();
  return copy && isa<BlockArgument>(copy.getInputs()[0]) ? task.getOperand(0)
                                                         : nullptr;
}

/// Whether the slice of this number is one of the states.
static bool isState(const LoopPair &pair, unsigned slice) {
  return llvm::any_of(pair.states, [&](const LoopPair::State &state) {
    return state.slice == slice;
  });
}

/// The loop whose states `reverse` reads, if there is one that can make them
/// again.
static std::optional<LoopPair> findPair(TaskOp reverse) {
  LoopOp loop = findLoop(reverse);
  if (!loop || !loop.getReverse() || loop.getAdvance())
    return std::nullopt;
  LoopPair pair;
  pair.reverse = reverse;
  for (auto [slice, operand] : llvm::enumerate(loop.getSlices())) {
    auto stack = dyn_cast<OpResult>(getPassed(reverse, operand));
    auto forward = stack ? dyn_cast<TaskOp>(stack.getOwner()) : TaskOp();
    LoopOp other = forward ? findLoop(forward) : LoopOp();
    if (!other || other.getReverse() || other.getCount() != loop.getCount() ||
        stack.getResultNumber() < other.getInits().size() ||
        (pair.forward && pair.forward != forward) ||
        llvm::any_of(stack.getUsers(),
                     [&](Operation *user) { return user != reverse; }))
      continue;
    Block &body = findBody(other).getBody().front();
    auto state = dyn_cast_or_null<BlockArgument>(
        findCopied(body.getTerminator()->getOperand(stack.getResultNumber())));
    if (!state || state.getArgNumber() >= other.getInits().size())
      continue;
    pair.forward = forward;
    pair.states.push_back({unsigned(slice), state.getArgNumber()});
  }
  return pair.forward ? std::optional(pair) : std::nullopt;
}

/// The first pair of `graph`.
static std::optional<LoopPair> findFirstPair(GraphOp graph) {
  for (auto task : graph.getOps<TaskOp>())
    if (std::optional<LoopPair> pair = findPair(task))
      return pair;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Erases tasks and views whose results nobody reads, and assertions.
static void eraseUnused(Block &block) {
  for (Operation *op = block.getTerminator()->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (op->use_empty())
      op->erase();
    op = before;
  }
}

/// Lets `block` return the results of these numbers and no others, and erases
/// what was for the others alone. Tasks that nobody read before stay: they
/// assert something.
static void keepResults(Block &block, ArrayRef<unsigned> kept) {
  Operation *terminator = block.getTerminator();
  SmallVector<Value> stack = llvm::to_vector(terminator->getOperands());
  terminator->setOperands(llvm::map_to_vector(
      kept, [&](unsigned number) { return terminator->getOperand(number); }));
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val().getDefiningOp();
    if (!op || !op->use_empty())
      continue;
    // Others may have what it reads on the stack, but not its results: these
    // are read no more.
    llvm::erase_if(stack,
                   [&](Value value) { return value.getDefiningOp() == op; });
    llvm::append_range(stack, op->getOperands());
    op->erase();
  }
}

/// Lets `body` have the arguments and results that its block has now.
static void updateType(GraphOp body) {
  Block &block = body.getBody().front();
  body.setFunctionType(
      FunctionType::get(body.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
}

/// Places a body of which something was dropped.
static llvm::Error placeAgain(GraphOp body, ModuleOp module) {
  body.removeArenaBytesAttr();
  body.removeHostArenaBytesAttr();
  for (auto task : body.getOps<TaskOp>()) {
    task.removePlacementAttr();
    task.removeWorkspaceOffsetAttr();
  }
  if (failed(reassignBuffers(body, module)) || failed(placeGraph(body)))
    return llvm::createStringError("a loop's body cannot be placed");
  return llvm::Error::success();
}

namespace {
/// Makes one pair of a copied graph a pair with few checkpoints.
class PairRewriter {
public:
  PairRewriter(LoopPair pair, ModuleOp module, MadeBodies &bodies,
               SetVector<Operation *> &symbols)
      : pair(std::move(pair)), module(module), bodies(bodies), symbols(symbols),
        table(module), forward(findLoop(this->pair.forward)),
        reverse(findLoop(this->pair.reverse)) {}

  llvm::Error run(int64_t slots);

private:
  template <typename OpT>
  OpT insert(OpT op, const Twine &name) {
    op.setName(name.str());
    op.setPrivate();
    table.insert(op);
    symbols.insert(op);
    return op;
  }
  func::FuncOp
  createKernel(Location loc, StringRef name, ArrayRef<Value> operands,
               TypeRange results,
               llvm::function_ref<LoopOp(OpBuilder &, ValueRange)> createLoop,
               SmallVectorImpl<Value> &passed);
  TaskOp replace(TaskOp task, func::FuncOp kernel, ValueRange operands,
                 ArrayRef<unsigned> kept);
  void closeStates();
  llvm::Expected<GraphOp> makeAdvance();
  llvm::Error shortenForward();
  GraphOp makeReverseBody();

  LoopPair pair;
  ModuleOp module;
  MadeBodies &bodies;
  SetVector<Operation *> &symbols;
  SymbolTable table;
  LoopOp forward, reverse;
  /// Numbers of what the advance body carries, of its invariants and slices
  /// among those of the forward loop.
  SmallVector<unsigned> states, invariants, slices;
};
} // namespace

/// Finds all that has to be carried to make the states.
void PairRewriter::closeStates() {
  Block &body = findBody(forward).getBody().front();
  unsigned numCarried = forward.getInits().size();
  BitVector needed(body.getNumArguments());
  for (const LoopPair::State &state : pair.states)
    needed.set(state.carried);
  BitVector done(numCarried);
  DenseSet<Operation *> seen;
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned number = 0; number < numCarried; ++number) {
      if (!needed[number] || done[number])
        continue;
      done.set(number);
      changed = true;
      SmallVector<Value> stack = {body.getTerminator()->getOperand(number)};
      while (!stack.empty()) {
        Value value = stack.pop_back_val();
        if (auto argument = dyn_cast<BlockArgument>(value))
          needed.set(argument.getArgNumber());
        else if (seen.insert(value.getDefiningOp()).second)
          llvm::append_range(stack, value.getDefiningOp()->getOperands());
      }
    }
  }
  for (unsigned number : needed.set_bits())
    if (number < numCarried)
      states.push_back(number);
    else if (number < numCarried + forward.getInvariants().size())
      invariants.push_back(number - numCarried);
    else
      slices.push_back(number - numCarried - forward.getInvariants().size());
}

/// The body of the forward loop that makes the states and nothing else. What
/// that asserts, the forward loop has found to hold.
llvm::Expected<GraphOp> PairRewriter::makeAdvance() {
  GraphOp body = findBody(forward);
  GraphOp &advance = bodies[{body, nullptr, states}];
  if (advance)
    return advance;
  advance = insert(body.clone(), body.getName() + "_next");
  advance.removeArgAttrsAttr();
  advance.removeResAttrsAttr();
  Block &block = advance.getBody().front();
  Operation *terminator = block.getTerminator();
  terminator->setOperands(llvm::map_to_vector(
      states, [&](unsigned number) { return terminator->getOperand(number); }));
  eraseUnused(block);
  BitVector dropped(block.getNumArguments(), true);
  unsigned numCarried = forward.getInits().size();
  for (unsigned number : states)
    dropped.reset(number);
  for (unsigned number : invariants)
    dropped.reset(numCarried + number);
  for (unsigned number : slices)
    dropped.reset(numCarried + forward.getInvariants().size() + number);
  block.eraseArguments(dropped);
  updateType(advance);
  if (llvm::Error error = placeAgain(advance, module))
    return std::move(error);
  return advance;
}

/// A kernel of one loop on `operands`; `passed` receives what tasks pass to it.
func::FuncOp PairRewriter::createKernel(
    Location loc, StringRef name, ArrayRef<Value> operands, TypeRange results,
    llvm::function_ref<LoopOp(OpBuilder &, ValueRange)> createLoop,
    SmallVectorImpl<Value> &passed) {
  SetVector<Value> distinct(operands.begin(), operands.end());
  passed = llvm::to_vector(distinct.getArrayRef());
  OpBuilder builder(module.getContext());
  auto kernel = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(ValueRange(passed).getTypes(), results));
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  Block *block = kernel.addEntryBlock();
  builder.setInsertionPointToStart(block);
  SmallVector<Value> arguments =
      llvm::map_to_vector(operands, [&](Value operand) -> Value {
        return block->getArgument(llvm::find(distinct, operand) -
                                  distinct.begin());
      });
  LoopOp loop = createLoop(builder, arguments);
  func::ReturnOp::create(builder, loc, loop.getResults());
  return insert(kernel, name);
}

/// A task of another kernel in the place of `task`, with those of its results
/// that are `kept`.
TaskOp PairRewriter::replace(TaskOp task, func::FuncOp kernel,
                             ValueRange operands, ArrayRef<unsigned> kept) {
  OpBuilder builder(task);
  auto keep = [&](std::optional<ArrayAttr> all) {
    SmallVector<Attribute> some;
    if (!all)
      return ArrayAttr();
    for (unsigned number : kept)
      some.push_back((*all)[number]);
    return builder.getArrayAttr(some);
  };
  auto made = TaskOp::create(
      builder, task.getLoc(), kernel.getResultTypes(), kernel.getName(),
      operands, task.getId(), task.getCopy(), task.getBackward(),
      task.getPhase(), task.getPinned(), keep(task.getPolicies()),
      keep(task.getNames()), task.getLayersAttr(), task.getCost(),
      task.getWorkspace(), /*placement=*/{}, /*workspace_offset=*/{},
      task.getLevelAttr(), task.getPolicyLevelAttr());
  for (auto [place, number] : llvm::enumerate(kept))
    task.getResult(number).replaceAllUsesWith(made.getResult(place));
  task.erase();
  return made;
}

/// Takes the stacks of states from the forward loop.
llvm::Error PairRewriter::shortenForward() {
  TaskOp task = pair.forward;
  SmallVector<unsigned> kept;
  for (OpResult result : task.getResults())
    if (!result.use_empty() ||
        result.getResultNumber() < forward.getInits().size())
      kept.push_back(result.getResultNumber());
  GraphOp body = findBody(forward);
  GraphOp &shorter = bodies[{body, body, kept}];
  if (!shorter) {
    shorter = insert(body.clone(), body.getName() + "_short");
    shorter.removeResAttrsAttr();
    keepResults(shorter.getBody().front(), kept);
    updateType(shorter);
    if (llvm::Error error = placeAgain(shorter, module))
      return error;
  }
  SmallVector<Value> operands, passed;
  for (Value operand : forward->getOperands())
    operands.push_back(getPassed(task, operand));
  SmallVector<Type> types = llvm::map_to_vector(
      kept, [&](unsigned number) { return task.getResult(number).getType(); });
  unsigned numCarried = forward.getInits().size(),
           numInvariants = forward.getInvariants().size();
  func::FuncOp kernel = createKernel(
      task.getLoc(), (task.getKernel() + "_short").str(), operands, types,
      [&](OpBuilder &builder, ValueRange arguments) {
        return LoopOp::create(builder, forward.getLoc(), types,
                              shorter.getName(), forward.getCount(),
                              forward.getReverse(),
                              arguments.take_front(numCarried),
                              arguments.slice(numCarried, numInvariants),
                              arguments.drop_front(numCarried + numInvariants));
      },
      passed);
  task = replace(task, kernel, passed, kept);
  LoopOp loop = findLoop(task);
  task.setCost(multiplyCounts(getIterationCost(shorter), loop.getCount()));
  task.setWorkspace(getWorkspaceBytes(loop));
  return llvm::Error::success();
}

/// The body of the reverse loop with its arguments in the order that `again`
/// gives them.
GraphOp PairRewriter::makeReverseBody() {
  SmallVector<unsigned> parts = {unsigned(states.size())};
  llvm::append_range(parts, states);
  for (const LoopPair::State &state : pair.states)
    llvm::append_values(parts, state.slice, state.carried);
  GraphOp &body = bodies[{findBody(reverse), findBody(forward), parts}];
  if (body)
    return body;
  body = insert(findBody(reverse).clone(), reverse.getBody() + "_again");
  Block &block = body.getBody().front();
  unsigned numBefore = block.getNumArguments(),
           firstSlice = numBefore - reverse.getSlices().size();
  auto move = [&](unsigned number) {
    BlockArgument old = block.getArgument(number);
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
  };
  for (unsigned number = 0; number < firstSlice; ++number)
    move(number);
  for (unsigned carried : states) {
    BlockArgument state =
        block.addArgument(forward.getInits()[carried].getType(), body.getLoc());
    for (const LoopPair::State &read : pair.states)
      if (read.carried == carried)
        block.getArgument(firstSlice + read.slice).replaceAllUsesWith(state);
  }
  for (unsigned slice = 0; slice < reverse.getSlices().size(); ++slice)
    if (!isState(pair, slice))
      move(firstSlice + slice);
  block.eraseArguments(0, numBefore);
  // Buffers are given away by what is carried, which is where it was.
  if (auto attrs = body.getArgAttrsAttr()) {
    SmallVector<Attribute> list(attrs.begin(), attrs.begin() + firstSlice);
    list.resize(block.getNumArguments(),
                DictionaryAttr::get(body.getContext()));
    body.setArgAttrsAttr(ArrayAttr::get(body.getContext(), list));
  }
  updateType(body);
  return body;
}

llvm::Error PairRewriter::run(int64_t slots) {
  closeStates();
  llvm::Expected<GraphOp> advance = makeAdvance();
  if (!advance)
    return advance.takeError();
  GraphOp body = makeReverseBody();
  TaskOp task = pair.reverse;
  SmallVector<Value> operands, passed;
  auto add = [&](TaskOp from, Value operand) {
    operands.push_back(getPassed(from, operand));
  };
  for (Value operand :
       llvm::concat<Value>(llvm::to_vector(reverse.getInits()),
                           llvm::to_vector(reverse.getInvariants())))
    add(task, operand);
  unsigned numSlices = 0;
  for (auto [slice, operand] : llvm::enumerate(reverse.getSlices()))
    if (!isState(pair, slice)) {
      add(task, operand);
      ++numSlices;
    }
  for (unsigned number : states)
    add(pair.forward, forward.getInits()[number]);
  for (unsigned number : invariants)
    add(pair.forward, forward.getInvariants()[number]);
  for (unsigned number : slices)
    add(pair.forward, forward.getSlices()[number]);
  Builder attributes(module.getContext());
  func::FuncOp kernel = createKernel(
      task.getLoc(), (task.getKernel() + "_slots" + Twine(slots)).str(),
      operands, task.getResultTypes(),
      [&](OpBuilder &builder, ValueRange arguments) {
        auto take = [&](unsigned count) {
          ValueRange taken = arguments.take_front(count);
          arguments = arguments.drop_front(count);
          return taken;
        };
        ValueRange groups[6];
        unsigned sizes[] = {unsigned(reverse.getInits().size()),
                            unsigned(reverse.getInvariants().size()),
                            numSlices,
                            unsigned(states.size()),
                            unsigned(invariants.size()),
                            unsigned(slices.size())};
        for (unsigned group = 0; group < 6; ++group)
          groups[group] = take(sizes[group]);
        return LoopOp::create(
            builder, reverse.getLoc(), task.getResultTypes(),
            FlatSymbolRefAttr::get(builder.getContext(), body.getName()),
            reverse.getCountAttr(), reverse.getReverseAttr(), groups[0],
            groups[1], groups[2],
            FlatSymbolRefAttr::get(builder.getContext(), advance->getName()),
            builder.getI64IntegerAttr(slots), groups[3], groups[4], groups[5]);
      },
      passed);
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, task.getNumResults()));
  pair.reverse = replace(task, kernel, passed, all);
  LoopOp loop = findLoop(pair.reverse);
  int64_t count = loop.getCount();
  pair.reverse.setCost(
      addCounts(multiplyCounts(getIterationCost(body), count),
                multiplyCounts(getIterationCost(*advance),
                               planning::fewestAdvances(count, slots))));
  pair.reverse.setWorkspace(getWorkspaceBytes(loop));
  return shortenForward();
}

//===----------------------------------------------------------------------===//
// Copies of the graph
//===----------------------------------------------------------------------===//

/// The checkpoints of a loop at a level.
static int64_t getSlots(int64_t count, unsigned level) {
  return std::max<int64_t>(count >> level, 1);
}

LoopSlots::LoopSlots(GraphOp graph)
    : graph(graph), module(graph->getParentOfType<ModuleOp>()) {
  if (!module)
    return;
  for (auto task : graph.getOps<TaskOp>())
    if (findPair(task))
      numLevels = std::max<unsigned>(numLevels,
                                     llvm::Log2_64(findLoop(task).getCount()));
}

llvm::Expected<GraphOp> LoopSlots::make(unsigned level) {
  GraphOp copy = graph.clone();
  graph->getBlock()->getOperations().insert(graph->getIterator(), copy);
  copies.push_back(copy);
  // A loop may be in several pairs; what a pair becomes is none.
  while (std::optional<LoopPair> pair = findFirstPair(copy)) {
    for (TaskOp task : {pair->forward, pair->reverse}) {
      symbols.insert(getKernel(task));
      symbols.insert(findBody(findLoop(task)));
    }
    int64_t count = findLoop(pair->reverse).getCount();
    if (llvm::Error error =
            PairRewriter(std::move(*pair), module, bodies, symbols)
                .run(getSlots(count, level)))
      return std::move(error);
  }
  return copy;
}

LoopSlots::~LoopSlots() {
  for (GraphOp copy : copies)
    copy.erase();
  for (bool erased = true; erased;) {
    erased = false;
    for (Operation *symbol : llvm::to_vector(symbols))
      if (SymbolTable::symbolKnownUseEmpty(symbol, module)) {
        symbols.remove(symbol);
        symbol->erase();
        erased = true;
      }
  }
}
