//===- PairParts.cpp - what the reverse loop of a pair needs --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of what the forward loop of a pair stacks, the other one makes again what it
// may. The rest it reads, and what is made of that needs nothing before it.
//
//===----------------------------------------------------------------------===//

#include "PairParts.h"

#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;

bool remat::isMadeOnce(OpResult result) {
  auto task = cast<TaskOp>(result.getOwner());
  std::optional<Policy> policy = task.getResultPolicy(result.getResultNumber());
  return policy == Policy::MustSave || policy == Policy::MustCpuOffload;
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

/// Finds the operations that make `value`, and sets the arguments that they
/// read.
void NeededParts::findMakers(Value value, Makers &makers,
                             BitVector &arguments) {
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    if (auto kept = keptOf.find(next); kept != keptOf.end()) {
      if (!llvm::is_contained(makers.kept, kept->second))
        makers.kept.push_back(kept->second);
    } else if (auto argument = dyn_cast<BlockArgument>(next)) {
      arguments.set(argument.getArgNumber());
    } else if (makers.ops.insert(next.getDefiningOp()).second) {
      llvm::append_range(stack, next.getDefiningOp()->getOperands());
    }
  }
}

NeededParts::NeededParts(const LoopPair &pair, ArrayRef<unsigned> kept)
    : forward(findLoop(pair.forward)) {
  Block &body = findBody(forward).getBody().front();
  Operation *terminator = body.getTerminator();
  unsigned numCarried = forward.getInits().size(),
           numInvariants = forward.getInvariants().size();
  auto getMade = [&](unsigned number) {
    Value value = terminator->getOperand(number);
    Value copied = findCopied(value);
    return copied ? copied : value;
  };
  DenseSet<unsigned> isKept(kept.begin(), kept.end());
  for (unsigned number = numCarried; number < forward.getNumResults();
       ++number) {
    bool isOnce = isMadeOnce(pair.forward->getResult(number));
    if (isOnce)
      madeOnce.insert(getMade(number));
    if (isOnce || isKept.contains(number))
      keptOf.insert({getMade(number), number});
  }
  BitVector read(body.getNumArguments()), carried(body.getNumArguments());
  for (const LoopPair::Stack &stack : pair.stacks) {
    stacked.push_back(getMade(stack.result));
    findMakers(stacked.back(), ofStacks, read);
  }
  // What is carried is made of more that is carried.
  BitVector done(numCarried);
  for (unsigned number = 0; number < numCarried;) {
    bool isNeeded = read[number] || carried[number];
    if (!isNeeded || done[number]) {
      ++number;
      continue;
    }
    done.set(number);
    findMakers(terminator->getOperand(number), ofStates, carried);
    number = 0;
  }
  for (unsigned number : done.set_bits())
    states.push_back(number);
  for (auto [arguments, parts] :
       {std::pair(&carried, &ofStates), std::pair(&read, &ofStacks)})
    for (unsigned number : arguments->set_bits())
      if (number >= numCarried + numInvariants)
        parts->slices.push_back(number - numCarried - numInvariants);
      else if (number >= numCarried)
        parts->invariants.push_back(number - numCarried);
}

int64_t NeededParts::getCost() const {
  int64_t cost = 0;
  for (Operation *op : ofStacks.ops)
    if (auto task = dyn_cast<TaskOp>(op))
      cost = addCounts(cost, task.getCost());
  return cost;
}

bool NeededParts::isEnough() const {
  Operation *terminator = findBody(forward).getBody().front().getTerminator();
  // A body returns nothing that it is given.
  if (llvm::any_of(states, [&](unsigned number) {
        return keptOf.contains(terminator->getOperand(number));
      }))
    return false;
  return llvm::none_of(
      llvm::concat<Operation *const>(ofStates.ops, ofStacks.ops),
      [&](Operation *op) {
        // What a policy says of a loop's stacks, it says of this loop's.
        return isa<TaskOp>(op) &&
               llvm::any_of(op->getResults(), [&](OpResult result) {
                 return isMadeOnce(result) || madeOnce.contains(result);
               });
      });
}
