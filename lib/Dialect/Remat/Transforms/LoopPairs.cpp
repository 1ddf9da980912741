//===- LoopPairs.cpp - loops and those that read their stacks -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a loop reads what iterations of the loop made. All of it in
// stacks is one extreme; a reverse loop that makes it again, from a few
// checkpoints of what the loop carries, needs none (`again` of remat.loop).
//
//===----------------------------------------------------------------------===//

#include "LoopPairs.h"

#include "GraphPlanning.h"
#include "LoopCosts.h"
#include "PairParts.h"
#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Planning/HostSlots.h"
#include "remat/Schedules/Revolve.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>

using namespace mlir;
using namespace remat;

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
    task.removeHostWorkspaceOffsetAttr();
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
               SetVector<Operation *> &symbols, ArrayRef<unsigned> kept = {})
      : pair(std::move(pair)), module(module), bodies(bodies), symbols(symbols),
        table(module), forward(findLoop(this->pair.forward)),
        reverse(findLoop(this->pair.reverse)), needed(this->pair, kept),
        suffix(kept.empty() ? "" : std::to_string(kept.size())) {}

  /// Without `slots`, no states are made again.
  llvm::Error run(std::optional<int64_t> slots,
                  const std::optional<HostLink> &link, int64_t fewest);

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
  createKernel(Location loc, StringRef name, ArrayRef<Passed> operands,
               TypeRange results, LoopOp old,
               llvm::function_ref<LoopOp(OpBuilder &, ValueRange)> createLoop,
               SmallVectorImpl<Value> &passed);
  TaskOp replace(TaskOp task, func::FuncOp kernel, ValueRange operands,
                 ArrayRef<unsigned> kept);
  llvm::Expected<GraphOp> makeAdvance();
  llvm::Error shortenForward();
  void cloneNeeded(Block &from, Block &to, IRMapping &mapping);
  llvm::Expected<GraphOp> makeReverseBody();
  /// Initial values, invariants and slices of the loop; states to begin at, and
  /// invariants and slices to make more of them; the number of trips, if any.
  using OperandGroups = std::array<SmallVector<Passed>, 7>;
  OperandGroups collectOperands(bool makesStates);

  LoopPair pair;
  ModuleOp module;
  MadeBodies &bodies;
  SetVector<Operation *> &symbols;
  SymbolTable table;
  LoopOp forward, reverse;
  NeededParts needed;
  /// Behind names of bodies, how many stacks stay, and behind those of kernels
  /// this or how many checkpoints there are: the names of one choice, which are
  /// in stored plans, do not depend on what was made for others.
  std::string suffix, choice;
};
} // namespace

/// The body of the forward loop that makes the states and nothing else. What
/// that asserts, the forward loop has found to hold.
llvm::Expected<GraphOp> PairRewriter::makeAdvance() {
  GraphOp body = findBody(forward);
  SmallVector<unsigned> parts = needed.states;
  llvm::append_range(parts, needed.ofStates.kept);
  GraphOp &advance = bodies[{body, nullptr, parts}];
  if (advance)
    return advance;
  IRMapping mapping;
  advance =
      insert(cast<GraphOp>(body->clone(mapping)), body.getName() + "_next");
  advance.removeArgAttrsAttr();
  advance.removeResAttrsAttr();
  Block &block = advance.getBody().front();
  Operation *terminator = block.getTerminator();
  terminator->setOperands(
      llvm::map_to_vector(needed.states, [&](unsigned number) {
        return terminator->getOperand(number);
      }));
  for (unsigned number : needed.ofStates.kept) {
    Value value = mapping.lookup(needed.getKept(number));
    value.replaceAllUsesWith(
        block.addArgument(value.getType(), value.getLoc()));
  }
  eraseUnused(block);
  BitVector dropped(block.getNumArguments(), true);
  dropped.reset(block.getNumArguments() - needed.ofStates.kept.size(),
                block.getNumArguments());
  unsigned numCarried = forward.getInits().size();
  for (unsigned number : needed.states)
    dropped.reset(number);
  for (unsigned number : needed.ofStates.invariants)
    dropped.reset(numCarried + number);
  for (unsigned number : needed.ofStates.slices)
    dropped.reset(numCarried + forward.getInvariants().size() + number);
  block.eraseArguments(dropped);
  updateType(advance);
  if (llvm::Error error = placeAgain(advance, module))
    return std::move(error);
  return advance;
}

/// A kernel of one loop on `operands` that unstacks what that of `old` does, if
/// that is there; `passed` receives what tasks pass to it.
func::FuncOp PairRewriter::createKernel(
    Location loc, StringRef name, ArrayRef<Passed> operands, TypeRange results,
    LoopOp old, llvm::function_ref<LoopOp(OpBuilder &, ValueRange)> createLoop,
    SmallVectorImpl<Value> &passed) {
  SetVector<Value> distinct;
  for (const Passed &operand : operands)
    distinct.insert_range(operand.values);
  passed = llvm::to_vector(distinct.getArrayRef());
  OpBuilder builder(module.getContext());
  auto kernel = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(ValueRange(passed).getTypes(), results));
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  Block *block = kernel.addEntryBlock();
  builder.setInsertionPointToStart(block);
  DenseMap<Value, Value> argumentOf;
  for (auto [value, argument] : llvm::zip(distinct, block->getArguments()))
    argumentOf[value] = argument;
  SmallVector<Value> arguments;
  for (const Passed &operand : operands) {
    SmallVector<Value> values = llvm::map_to_vector(
        operand.values, [&](Value value) { return argumentOf.at(value); });
    arguments.push_back(
        operand.stack ? StackOp::create(builder, loc, operand.stack, values)
                      : values.front());
  }
  LoopOp loop = createLoop(builder, arguments);
  for (OpResult result : loop.getStacks())
    if (old && findUnstack(old.getResult(result.getResultNumber())))
      UnstackOp::create(builder, loc, getStackElementTypes(result.getType()),
                        result);
  func::ReturnOp::create(builder, loc, getBufferResults(loop));
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
      task.getWorkspace(), task.getHostWorkspace(), /*placement=*/{},
      /*workspace_offset=*/{}, /*host_workspace_offset=*/{},
      task.getLevelAttr(), task.getPolicyLevelAttr());
  for (auto [place, number] : llvm::enumerate(kept))
    task.getResult(number).replaceAllUsesWith(made.getResult(place));
  task.erase();
  return made;
}

/// Takes the stacks from the forward loop. One that made them for the reverse
/// loop alone is no more.
llvm::Error PairRewriter::shortenForward() {
  TaskOp task = pair.forward;
  if (task->use_empty() && !forward.getAsserts()) {
    task.erase();
    return llvm::Error::success();
  }
  SmallVector<unsigned> kept;
  for (OpResult result : task.getResults())
    if (!result.use_empty() ||
        result.getResultNumber() < forward.getInits().size())
      kept.push_back(result.getResultNumber());
  GraphOp body = findBody(forward);
  GraphOp &shorter = bodies[{body, body, kept}];
  if (!shorter) {
    shorter = insert(body.clone(), body.getName() + "_short" + suffix);
    shorter.removeResAttrsAttr();
    keepResults(shorter.getBody().front(), kept);
    updateType(shorter);
    if (llvm::Error error = placeAgain(shorter, module))
      return error;
  }
  SmallVector<Passed> operands;
  SmallVector<Value> passed;
  for (Value operand : forward->getOperands())
    operands.push_back(getAllPassed(task, operand));
  SmallVector<Type> types = llvm::map_to_vector(
      kept, [&](unsigned number) { return task.getResult(number).getType(); });
  unsigned numCarried = forward.getInits().size(),
           numInvariants = forward.getInvariants().size();
  func::FuncOp kernel = createKernel(
      task.getLoc(), (task.getKernel() + "_short" + choice).str(), operands,
      types,
      /*old=*/nullptr,
      [&](OpBuilder &builder, ValueRange arguments) {
        auto loop =
            LoopOp::create(builder, forward.getLoc(), types, shorter.getName(),
                           forward.getCount(), forward.getReverse(),
                           arguments.take_front(numCarried),
                           arguments.slice(numCarried, numInvariants),
                           arguments.slice(numCarried + numInvariants,
                                           forward.getSlices().size()),
                           forward.getTrips() ? arguments.back() : Value(),
                           forward.getConditional());
        loop.setAsserts(forward.getAsserts());
        return loop;
      },
      passed);
  task = replace(task, kernel, passed, kept);
  LoopOp loop = findLoop(task);
  task.setCost(multiplyCounts(getIterationCost(shorter), loop.getCount()));
  task.setWorkspace(getWorkspaceBytes(loop));
  return llvm::Error::success();
}

/// Clones what is needed of `from`, the body of the forward loop, to the
/// beginning of `to`, whose tasks get numbers behind those of `from`.
void PairRewriter::cloneNeeded(Block &from, Block &to, IRMapping &mapping) {
  int64_t numTasks = 0;
  OpBuilder builder(&to, to.begin());
  for (Operation &op : from.without_terminator()) {
    if (auto task = dyn_cast<TaskOp>(op))
      numTasks = std::max<int64_t>(numTasks, task.getId() + 1);
    if (!needed.ofStacks.ops.contains(&op))
      continue;
    // That this is made again is what was asked.
    Operation *clone = builder.clone(op, mapping);
    if (auto task = dyn_cast<TaskOp>(clone)) {
      task.removePoliciesAttr();
      task.removePolicyLevelAttr();
    }
  }
  for (Operation *op = &*builder.getInsertionPoint(); op;
       op = op->getNextNode())
    if (auto task = dyn_cast<TaskOp>(op)) {
      task.setId(task.getId() + numTasks);
      // It names tasks by their old numbers.
      task->removeAttr(absorptionsAttrName);
    }
}

/// The body of the reverse loop, which makes for itself what was stacked.
/// Arguments: what is carried; its invariants and those of the forward loop
/// that it needs; the states; its slices but the stacks, those of the forward
/// loop that it has not, and the stacks of what must not be made again.
llvm::Expected<GraphOp> PairRewriter::makeReverseBody() {
  SmallVector<unsigned> parts;
  for (const LoopPair::Stack &stack : pair.stacks)
    llvm::append_values(parts, stack.slice, stack.result);
  llvm::append_range(parts, needed.ofStacks.kept);
  llvm::append_range(parts, needed.states);
  for (unsigned number : needed.ofStacks.slices)
    parts.push_back(findOwnSlice(pair, number).value_or(-1));
  GraphOp &body = bodies[{findBody(reverse), findBody(forward), parts}];
  if (body)
    return body;
  body =
      insert(findBody(reverse).clone(), reverse.getBody() + "_again" + suffix);
  Block &block = body.getBody().front();
  Block &other = findBody(forward).getBody().front();
  unsigned numBefore = block.getNumArguments(),
           firstSlice = numBefore - reverse.getSlices().size(),
           numCarried = forward.getInits().size(),
           numInvariants = forward.getInvariants().size();
  IRMapping mapping;
  DenseMap<unsigned, BlockArgument> moved;
  auto move = [&](unsigned number) {
    BlockArgument old = block.getArgument(number);
    moved[number] = block.addArgument(old.getType(), old.getLoc());
    old.replaceAllUsesWith(moved[number]);
  };
  auto add = [&](unsigned number) {
    BlockArgument theirs = other.getArgument(number);
    mapping.map(theirs, block.addArgument(theirs.getType(), theirs.getLoc()));
  };
  for (unsigned number = 0; number < firstSlice; ++number)
    move(number);
  for (unsigned number : needed.ofStacks.invariants)
    add(numCarried + number);
  for (unsigned number : needed.states)
    add(number);
  for (unsigned slice = 0; slice < reverse.getSlices().size(); ++slice)
    if (!isStack(pair, slice))
      move(firstSlice + slice);
  for (unsigned number : needed.ofStacks.slices)
    if (std::optional<unsigned> own = findOwnSlice(pair, number))
      mapping.map(other.getArgument(numCarried + numInvariants + number),
                  moved.at(firstSlice + *own));
    else
      add(numCarried + numInvariants + number);
  for (unsigned number : needed.ofStacks.kept) {
    Value theirs = needed.getKept(number);
    mapping.map(theirs, block.addArgument(theirs.getType(), theirs.getLoc()));
  }
  cloneNeeded(other, block, mapping);
  for (auto [stack, value] : llvm::zip(pair.stacks, needed.stacked))
    block.getArgument(firstSlice + stack.slice)
        .replaceAllUsesWith(mapping.lookup(value));
  block.eraseArguments(0, numBefore);
  // What is made again stands in front of all that writes over arguments.
  if (auto attrs = body.getArgAttrsAttr()) {
    SmallVector<Attribute> list(block.getNumArguments(),
                                DictionaryAttr::get(body.getContext()));
    for (auto [number, argument] : moved)
      list[argument.getArgNumber()] = attrs[number];
    body.setArgAttrsAttr(ArrayAttr::get(body.getContext(), list));
  }
  updateType(body);
  if (llvm::Error error = placeAgain(body, module))
    return std::move(error);
  return body;
}

/// The operands of the reverse loop, in groups as the operation has them, with
/// what it reads to make stacks again and, with `makesStates`, states.
PairRewriter::OperandGroups PairRewriter::collectOperands(bool makesStates) {
  OperandGroups groups;
  auto &[inits, invariants, slices, states, stateInvariants, stateSlices,
         trips] = groups;
  auto add = [](TaskOp from, ValueRange operands, SmallVector<Passed> &group) {
    for (Value operand : operands)
      group.push_back(getAllPassed(from, operand));
  };
  auto addForward = [&](OperandRange operands, ArrayRef<unsigned> numbers,
                        SmallVector<Passed> &group) {
    for (unsigned number : numbers)
      group.push_back(getAllPassed(pair.forward, operands[number]));
  };
  auto addKept = [&](ArrayRef<unsigned> numbers, SmallVector<Passed> &group) {
    for (unsigned number : numbers)
      group.push_back({{pair.forward.getResult(number)}, {}});
  };
  add(pair.reverse, reverse.getInits(), inits);
  add(pair.reverse, reverse.getInvariants(), invariants);
  addForward(forward.getInvariants(), needed.ofStacks.invariants, invariants);
  for (auto [slice, operand] : llvm::enumerate(reverse.getSlices()))
    if (!isStack(pair, slice))
      add(pair.reverse, operand, slices);
  for (unsigned number : needed.ofStacks.slices)
    if (!findOwnSlice(pair, number))
      addForward(forward.getSlices(), number, slices);
  addKept(needed.ofStacks.kept, slices);
  addForward(forward.getInits(), needed.states, states);
  if (makesStates) {
    addForward(forward.getInvariants(), needed.ofStates.invariants,
               stateInvariants);
    addForward(forward.getSlices(), needed.ofStates.slices, stateSlices);
    addKept(needed.ofStates.kept, stateSlices);
  }
  if (Value count = reverse.getTrips())
    add(pair.reverse, count, trips);
  return groups;
}

llvm::Error PairRewriter::run(std::optional<int64_t> slots,
                              const std::optional<HostLink> &link,
                              int64_t fewest) {
  GraphOp advance;
  if (slots)
    if (llvm::Error error = makeAdvance().moveInto(advance))
      return error;
  llvm::Expected<GraphOp> body = makeReverseBody();
  if (!body)
    return body.takeError();
  std::optional<planning::HostSchedule> host;
  if (slots && link)
    host = planHostSlots(*body, advance, reverse.getCount(), *slots, *link);
  if (link && !host)
    slots = std::max(*slots, fewest);
  choice = slots ? "_slots" + std::to_string(*slots) : "_thin" + suffix;
  if (host)
    choice += "_host" + std::to_string(host->hostSlots) + "_period" +
              std::to_string(host->period);
  TaskOp task = pair.reverse;
  OperandGroups operands = collectOperands(slots.has_value());
  SmallVector<Passed> flat;
  for (const SmallVector<Passed> &group : operands)
    llvm::append_range(flat, group);
  SmallVector<Value> passed;
  func::FuncOp kernel = createKernel(
      task.getLoc(), (task.getKernel() + choice).str(), flat,
      task.getResultTypes(), reverse,
      [&](OpBuilder &builder, ValueRange arguments) {
        std::array<ValueRange, std::tuple_size_v<OperandGroups>> groups;
        for (auto [group, values] : llvm::zip(groups, operands)) {
          group = arguments.take_front(values.size());
          arguments = arguments.drop_front(values.size());
        }
        auto &[inits, invariants, slices, states, stateInvariants, stateSlices,
               trips] = groups;
        return LoopOp::create(
            builder, reverse.getLoc(), reverse.getResultTypes(),
            FlatSymbolRefAttr::get(builder.getContext(), body->getName()),
            reverse.getCountAttr(), /*conditional=*/UnitAttr(),
            reverse.getReverseAttr(), inits, invariants, slices,
            slots ? FlatSymbolRefAttr::get(advance.getSymNameAttr())
                  : FlatSymbolRefAttr(),
            slots ? builder.getI64IntegerAttr(*slots) : IntegerAttr(),
            host ? builder.getI64IntegerAttr(host->hostSlots) : IntegerAttr(),
            host ? builder.getI64IntegerAttr(host->period) : IntegerAttr(),
            states, stateInvariants, stateSlices,
            trips.empty() ? Value() : trips.front(),
            /*asserts=*/UnitAttr(), /*inner_policy=*/PolicyAttr());
      },
      passed);
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, task.getNumResults()));
  pair.reverse = replace(task, kernel, passed, all);
  LoopOp loop = findLoop(pair.reverse);
  int64_t count = loop.getCount();
  int64_t cost = multiplyCounts(getIterationCost(*body), count);
  if (host)
    cost = host->time;
  else if (slots)
    cost = addCounts(cost, multiplyCounts(getIterationCost(advance),
                                          fewestAdvances(count, *slots)));
  pair.reverse.setCost(cost);
  pair.reverse.setWorkspace(getWorkspaceBytes(loop));
  pair.reverse.setHostWorkspace(getHostWorkspaceBytes(loop));
  return shortenForward();
}

llvm::Error remat::keepCheckpoints(LoopPair pair, int64_t slots,
                                   const std::optional<HostLink> &link,
                                   int64_t fewest, ModuleOp module,
                                   MadeBodies &bodies,
                                   SetVector<Operation *> &symbols) {
  return PairRewriter(std::move(pair), module, bodies, symbols)
      .run(slots, link, fewest);
}

llvm::Error remat::keepStacks(LoopPair pair, ArrayRef<unsigned> kept,
                              ModuleOp module, MadeBodies &bodies,
                              SetVector<Operation *> &symbols) {
  return PairRewriter(std::move(pair), module, bodies, symbols, kept)
      .run(/*slots=*/std::nullopt, /*link=*/std::nullopt, /*fewest=*/0);
}
