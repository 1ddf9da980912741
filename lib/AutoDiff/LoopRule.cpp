//===- LoopRule.cpp - derivatives of loops that stay loops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a loop is a loop. In reverse it runs from the last
// iteration to the first and carries the cotangents of what the loop carries
// and the sums of those of its invariants. What the derivative of an iteration
// reads is stacked by the loop itself (stackSaved), and computed again where it
// is not. Forwards the loop carries tangents beside what it carries.
//
//===----------------------------------------------------------------------===//

#include "LoopBodies.h"
#include "Rules.h"

#include "Emit.h"
#include "remat/AutoDiff/AutoDiff.h"
#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Tags.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace remat;

/// The numbers from `begin` on for which `isWanted` of the type holds.
static SmallVector<int64_t>
findTypes(TypeRange types, int64_t begin,
          llvm::function_ref<bool(unsigned)> isWanted) {
  SmallVector<int64_t> found;
  for (auto [number, type] : llvm::enumerate(types))
    if (isDifferentiableType(type) && isWanted(number))
      found.push_back(begin + number);
  return found;
}

//===----------------------------------------------------------------------===//
// In reverse
//===----------------------------------------------------------------------===//

namespace {
/// The derivative of one loop in reverse. `body` is that of the loop, or, if it
/// is hidden, one that returns more, which a loop runs that makes it again.
class ReverseLoop {
public:
  ReverseLoop(LoopOp loop, func::FuncOp body, ReverseContext &context)
      : loop(loop), body(body), context(context),
        numCarried(loop.getInits().size()) {}

  LogicalResult emit();

private:
  void findActive();
  func::FuncOp writeBody(func::FuncOp joint);
  LoopOp createAgain();
  SmallVector<Value> getStacks();
  Type getSumType(int64_t argument) {
    auto type = cast<RankedTensorType>(body.getArgumentTypes()[argument]);
    return type.clone(getAccumulatorType(type.getElementType()));
  }
  Value getCotangentOrZeros(Value value) {
    if (Value cotangent = context.cotangent(value))
      return cotangent;
    return createZeros(context.getBuilder(), context.getLoc(),
                       cast<RankedTensorType>(value.getType()));
  }

  LoopOp loop;
  func::FuncOp body;
  ReverseContext &context;
  int64_t numCarried;
  /// Numbers of the body's arguments that have derivatives: of what is carried,
  /// of invariants and of slices.
  SmallVector<int64_t> carried, invariants, slices;
  /// Numbers of the body's results that are stacked and have cotangents.
  SmallVector<int64_t> stacks;
};
} // namespace

void ReverseLoop::findActive() {
  carried =
      findTypes(loop.getInits().getTypes(), 0, [](unsigned) { return true; });
  invariants = findTypes(
      loop.getInvariants().getTypes(), numCarried, [&](unsigned number) {
        return context.isActive(loop.getInvariants()[number]);
      });
  slices =
      findTypes(loop.getSlices().getTypes(),
                numCarried + loop.getInvariants().size(), [&](unsigned number) {
                  return context.isActive(loop.getSlices()[number]);
                });
  stacks =
      findTypes(loop.getStacks().getTypes(), numCarried, [&](unsigned number) {
        return context.cotangent(loop.getStacks()[number]) != nullptr;
      });
}

/// The operations of a block that make `values`, in their order, up to what is
/// in `known`.
static SmallVector<Operation *> findMakers(ValueRange values,
                                           const IRMapping &known) {
  DenseSet<Operation *> makers;
  SmallVector<Value> stack(values);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || known.contains(value) || !makers.insert(op).second)
      continue;
    llvm::append_range(stack, getDependencies(op));
  }
  SmallVector<Operation *> sorted(makers.begin(), makers.end());
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// Clones `op`, which makes more than what `mapping` has. Of its results, those
/// are read as they are there.
static void cloneAgain(Operation *op, OpBuilder &builder, IRMapping &mapping) {
  SmallVector<std::pair<unsigned, Value>> known, kept;
  auto loop = dyn_cast<LoopOp>(op);
  for (OpResult result : op->getResults())
    if (Value stacked = mapping.lookupOrNull(result)) {
      unsigned number = result.getResultNumber();
      known.emplace_back(number, stacked);
      if (loop && number >= loop.getInits().size() && isKept(result))
        kept.emplace_back(number, stacked);
    }
  Operation *clone = builder.clone(*op, mapping);
  if (!kept.empty()) {
    clone = runAgain(cast<LoopOp>(clone), *getBody(loop), kept);
    mapping.map(op->getResults(), clone->getResults());
  }
  for (auto [number, stacked] : known)
    mapping.map(op->getResult(number), stacked);
}

/// Refuses to make again in `function`, which runs in the derivative of a loop,
/// what a policy says is made once.
static LogicalResult checkMadeOnce(func::FuncOp function, ModuleOp module) {
  for (Operation &op : function.front().without_terminator()) {
    // A view makes nothing.
    for (OpResult result : op.getResults())
      if (std::optional<Policy> policy = getAskedPolicy(result);
          policy && isMust(*policy) && isKept(result) &&
          getStored(result) == result)
        return op.emitError()
               << "makes a value that is "
               << (*policy == Policy::MustSave ? "MUST_SAVE"
                                               : "MUST_CPU_OFFLOAD")
               << " in the body of a loop, whose derivative makes it again; "
                  "expected a tensor that iterations can stack, no such "
                  "policy, or a loop that is unrolled (unroll-limit)";
    auto loop = dyn_cast<LoopOp>(op);
    auto body = loop ? module.lookupSymbol<func::FuncOp>(loop.getBody())
                     : func::FuncOp();
    if (body && failed(checkMadeOnce(body, module)))
      return failure();
  }
  return success();
}

/// The body in reverse: of the cotangents of what is carried and the sums of
/// those of invariants; of the invariants; and of all stacks, the slices and
/// the cotangents of stacked results. `joint` is the body with its derivative.
func::FuncOp ReverseLoop::writeBody(func::FuncOp joint) {
  SmallVector<Type> types, results;
  auto addTypes = [&](ArrayRef<int64_t> numbers, SmallVectorImpl<Type> &list) {
    for (int64_t number : numbers)
      list.push_back(body.getArgumentTypes()[number]);
  };
  addTypes(carried, types);
  for (int64_t number : invariants)
    types.push_back(getSumType(number));
  results = types;
  addTypes(slices, results);
  unsigned numSums = types.size();
  llvm::append_range(types, loop.getInvariants().getTypes());
  llvm::append_range(types, body.getResultTypes().drop_front(numCarried));
  llvm::append_range(
      types, body.getArgumentTypes().take_back(loop.getSlices().size()));
  for (int64_t number : stacks)
    types.push_back(body.getResultTypes()[number]);

  OpBuilder builder(body.getContext());
  auto written = func::FuncOp::create(builder, body.getLoc(), body.getName(),
                                      builder.getFunctionType(types, results));
  Block *entry = written.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  ArrayRef<BlockArgument> from = joint.getArguments(),
                          rest = entry->getArguments().drop_front(numSums);
  auto map = [&](ValueRange values) {
    for (Value value : values) {
      value = skipTags(value);
      // Of what is stacked twice, any will do; what is hidden is made again,
      // whatever the program stacks.
      bool isRepeated = isa<OpResult>(value) && isHidden(getStored(value));
      if (!isRepeated && !mapping.contains(value))
        mapping.map(value, rest.front());
      rest = rest.drop_front();
    }
  };
  ValueRange returned = joint.front().getTerminator()->getOperands();
  ArrayRef<BlockArgument> cotangents = from.drop_front(body.getNumArguments());
  map(from.slice(numCarried, loop.getInvariants().size()));
  map(returned.slice(numCarried, body.getNumResults() - numCarried));
  map(from.slice(body.getNumArguments() - loop.getSlices().size(),
                 loop.getSlices().size()));
  for (auto [cotangent, argument] :
       llvm::zip(cotangents.take_front(carried.size()), entry->getArguments()))
    mapping.map(cotangent, argument);
  map(cotangents.drop_front(carried.size()));
  ValueRange terms = returned.drop_front(body.getNumResults());
  for (Operation *op : findMakers(terms, mapping))
    cloneAgain(op, builder, mapping);
  SmallVector<Value> gradients = llvm::map_to_vector(
      terms, [&](Value value) { return mapping.lookupOrDefault(value); });
  for (unsigned i = carried.size(); i < numSums; ++i) {
    BlockArgument sum = entry->getArgument(i);
    Value term = createConversion(
        builder, body.getLoc(), gradients[i],
        cast<RankedTensorType>(sum.getType()).getElementType());
    Operation *last = term.getDefiningOp();
    gradients[i] = createSum(builder, body.getLoc(), sum, term);
    if (last)
      copyBackward(last, gradients[i].getDefiningOp());
  }
  func::ReturnOp::create(builder, body.getLoc(), gradients);
  // An iteration that is free of others is done with its derivative.
  if (!loop->hasAttr(RematDialect::stacksNothingAttrName) &&
      failed(checkMadeOnce(written, body->getParentOfType<ModuleOp>()))) {
    written.erase();
    return nullptr;
  }
  // What is asked of values of an iteration, their stacks or this function
  // comply with. Only who differentiates it reads it again.
  unsigned highest = getHighestLevel(written);
  for (auto tag : written.getOps<TagOp>())
    if (tag.getPolicy())
      tag.setLevel(highest + 1);
  insertBehind(body, written, "_reverse");
  // Sums are made where they lie.
  for (unsigned i = carried.size(); i < numSums; ++i)
    written.setArgAttr(i, RematDialect::donatedAttrName,
                       builder.getI64IntegerAttr(i));
  return written;
}

/// How often the derivative of `loop` in reverse runs, if that is not `count`.
static Value getExecuted(LoopOp loop, ReverseContext &context) {
  Value executed = loop.getExecuted();
  return executed ? context.primal(executed) : Value();
}

/// A loop that makes again what `body` returns behind what `loop` does. What it
/// must not make, it gets from that.
LoopOp ReverseLoop::createAgain() {
  SmallVector<Value> slices;
  for (Value slice : loop.getSlices())
    slices.push_back(context.primal(slice));
  for (unsigned number : readKept(body, loop,
                                  llvm::to_vector(llvm::seq<unsigned>(
                                      numCarried, loop.getNumResults()))))
    slices.push_back(getTagged(context.primal(loop.getResult(number))));
  SmallVector<Value> inits, primals;
  for (Value value : loop.getInits())
    inits.push_back(context.primal(value));
  for (Value value : loop.getInvariants())
    primals.push_back(context.primal(value));
  return LoopOp::create(
      context.getBuilder(), context.getLoc(),
      getLoopTypes(body, numCarried, loop.getCount()), body.getName(),
      loop.getCount(), loop.getReverse(), inits, primals, slices,
      loop.getTrips() ? context.primal(loop.getTrips()) : Value(),
      loop.getConditional());
}

/// All stacks of what `body` returns.
SmallVector<Value> ReverseLoop::getStacks() {
  SmallVector<Value> stacks;
  bool isLoopHidden = loop.getBody() != body.getName();
  SmallVector<bool> kept;
  for (Value value :
       body.front().getTerminator()->getOperands().drop_front(numCarried))
    kept.push_back(isKept(getStored(value)));
  LoopOp again = isLoopHidden ? createAgain() : loop;
  for (auto [stack, isKept] : llvm::zip(again.getStacks(), kept)) {
    unsigned number = stack.getResultNumber();
    bool isOfLoop = !isLoopHidden || (isKept && number < loop.getNumResults());
    stacks.push_back(
        isOfLoop ? getTagged(context.primal(loop.getResult(number))) : stack);
  }
  return stacks;
}

LogicalResult ReverseLoop::emit() {
  findActive();
  bool isReached = !stacks.empty();
  for (int64_t number : carried)
    isReached |= context.cotangent(loop.getResult(number)) != nullptr;
  DifferentiateOptions options;
  options.mode = DifferentiateOptions::Reverse;
  for (ArrayRef<int64_t> numbers :
       {ArrayRef(carried), ArrayRef(invariants), ArrayRef(slices)})
    llvm::append_range(options.wrt, numbers);
  options.results = carried;
  llvm::append_range(options.results, stacks);
  if (!isReached || options.wrt.empty())
    return success();
  if (loop.getCount() == 0)
    return loop.emitOpError(
        "runs as often as is known at run time only, and its derivative in "
        "reverse keeps what each iteration made: expected the most that it "
        "may run, by 'remat.max_trip_count' or the option 'max-trip-count'");
  TemporaryFunctions temporary(body->getParentOfType<ModuleOp>());
  if (isHidden(loop, body)) {
    body = copyBehind(body, "_again");
    returnSaved(body, numCarried);
  }
  func::FuncOp joint = copyBehind(body, "_joint");
  LogicalResult differentiated = differentiate(joint, options);
  func::FuncOp reverse;
  if (succeeded(differentiated))
    reverse = writeBody(joint);
  joint.erase();
  if (!reverse)
    return failure();

  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  SmallVector<Value> inits, sliced;
  for (int64_t number : carried)
    inits.push_back(getCotangentOrZeros(loop.getResult(number)));
  for (int64_t number : invariants)
    inits.push_back(
        createZeros(builder, loc, cast<RankedTensorType>(getSumType(number))));
  llvm::append_range(sliced, getStacks());
  for (Value slice : loop.getSlices())
    sliced.push_back(context.primal(slice));
  for (int64_t number : stacks)
    sliced.push_back(context.cotangent(loop.getResult(number)));
  SmallVector<Value> primals;
  for (Value value : loop.getInvariants())
    primals.push_back(context.primal(value));
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  for (int64_t number : slices)
    types.push_back(loop->getOperand(number).getType());
  // Where iterations are free of each other, sums are those of the order in
  // which they ran.
  bool staysInOrder = loop.getInits().empty() &&
                      loop->hasAttr(RematDialect::stacksNothingAttrName);
  auto made =
      LoopOp::create(builder, loc, types, reverse.getName(), loop.getCount(),
                     loop.getReverse() != !staysInOrder, inits, primals, sliced,
                     getExecuted(loop, context));
  auto gradients = made.getResults().begin();
  for (const SmallVector<int64_t> &numbers : {carried, invariants, slices})
    for (int64_t number : numbers)
      context.accumulate(loop->getOperand(number), *gradients++);
  return success();
}

//===----------------------------------------------------------------------===//
// Forwards
//===----------------------------------------------------------------------===//

/// Emits a loop of `body`, of which `forward` is the derivative, that carries
/// tangents. `wrt` are the operands that have them and `of` the results.
static LoopOp emitForwardLoop(LoopOp loop, func::FuncOp body,
                              func::FuncOp forward, ArrayRef<int64_t> wrt,
                              ArrayRef<int64_t> of, ForwardContext &context) {
  OpBuilder &builder = context.getBuilder();
  unsigned numCarried = loop.getInits().size(),
           numBefore = body.getNumArguments(),
           numSliced = numBefore - loop.getSlices().size();
  // Old numbers of arguments and results in their new order.
  SmallVector<unsigned> arguments, results;
  SmallVector<Value> groups[3];
  unsigned begins[] = {0, numCarried, numSliced, numBefore};
  for (unsigned group = 0; group < 3; ++group) {
    auto isIn = [&](int64_t number) {
      return number >= begins[group] && number < begins[group + 1];
    };
    for (unsigned number = begins[group]; number < begins[group + 1];
         ++number) {
      arguments.push_back(number);
      groups[group].push_back(context.primal(loop->getOperand(number)));
    }
    for (auto [place, number] : llvm::enumerate(wrt))
      if (isIn(number)) {
        arguments.push_back(numBefore + place);
        groups[group].push_back(
            context.tangentOrZero(loop->getOperand(number)));
      }
  }
  unsigned numResults = body.getNumResults();
  SmallVector<Type> types;
  auto addResults = [&](unsigned begin, unsigned end) {
    for (unsigned number = begin; number < end; ++number) {
      results.push_back(number);
      types.push_back(loop.getResultTypes()[number]);
    }
    for (auto [place, number] : llvm::enumerate(of))
      if (number >= begin && number < end) {
        results.push_back(numResults + place);
        types.push_back(loop.getResultTypes()[number]);
      }
  };
  addResults(0, numCarried);
  addResults(numCarried, numResults);

  Block &block = forward.front();
  Operation *terminator = block.getTerminator();
  unsigned numArguments = block.getNumArguments();
  for (unsigned number : arguments) {
    BlockArgument old = block.getArgument(number);
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
  }
  block.eraseArguments(0, numArguments);
  SmallVector<Value> returned = llvm::map_to_vector(
      results, [&](unsigned number) { return terminator->getOperand(number); });
  terminator->setOperands(returned);
  forward.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), terminator->getOperandTypes()));
  return LoopOp::create(
      builder, context.getLoc(), types, forward.getName(), loop.getCount(),
      loop.getReverse(), groups[0], groups[1], groups[2],
      loop.getTrips() ? context.primal(loop.getTrips()) : Value(),
      loop.getConditional());
}

static LogicalResult emitForward(LoopOp loop, func::FuncOp body,
                                 ForwardContext &context) {
  unsigned numCarried = loop.getInits().size();
  SmallVector<int64_t> wrt =
      findTypes(loop->getOperandTypes(), 0, [&](unsigned number) {
        return number < numCarried || context.tangent(loop->getOperand(number));
      });
  SmallVector<int64_t> of =
      findTypes(loop->getResultTypes(), 0, [](unsigned) { return true; });
  if (of.empty() || llvm::none_of(wrt, [&](int64_t number) {
        return context.tangent(loop->getOperand(number)) != nullptr;
      }))
    return success();
  DifferentiateOptions options;
  options.mode = DifferentiateOptions::Forward;
  options.wrt = wrt;
  options.results = of;
  func::FuncOp forward = copyBehind(body, "_tangent");
  if (failed(differentiate(forward, options))) {
    forward.erase();
    return failure();
  }
  forward.removeArgAttrsAttr();
  forward.removeResAttrsAttr();
  LoopOp made = emitForwardLoop(loop, body, forward, wrt, of, context);
  made.setInnerPolicyAttr(loop.getInnerPolicyAttr());
  // A tangent stands behind what it is the tangent of, group by group.
  auto results = made.getResults().begin();
  for (auto [begin, end] : {std::pair(0u, numCarried),
                            std::pair(numCarried, loop.getNumResults())}) {
    results += end - begin;
    for (int64_t number : of)
      if (number >= begin && number < end)
        context.addTangent(loop.getResult(number), *results++);
  }
  return success();
}

/// The loop that carries tangents beside what `loop` carries; null if there is
/// none. `getTangent` gives the tangent of a value.
static LoopOp findForwardLoop(LoopOp loop,
                              llvm::function_ref<Value(Value)> getTangent) {
  unsigned numCarried = loop.getInits().size();
  for (Value result : loop.getResults()) {
    Value tangent =
        isDifferentiableType(result.getType()) ? getTangent(result) : Value();
    auto made = tangent ? tangent.getDefiningOp<LoopOp>() : LoopOp();
    if (made && made->getBlock() == loop->getBlock() &&
        made.getInits().take_front(numCarried) == loop.getInits() &&
        made.getInits().size() > numCarried)
      return made;
  }
  return nullptr;
}

void remat::replaceByForwardLoop(LoopOp loop,
                                 llvm::function_ref<Value(Value)> getTangent) {
  LoopOp made = findForwardLoop(loop, getTangent);
  bool isReadBefore =
      made && llvm::any_of(loop->getUsers(), [&](Operation *user) {
        Operation *reader = loop->getBlock()->findAncestorOpInBlock(*user);
        return !made->isBeforeInBlock(reader);
      });
  if (!made || isReadBefore)
    return;
  loop.getFinals().replaceAllUsesWith(
      made.getFinals().take_front(loop.getInits().size()));
  loop.getStacks().replaceAllUsesWith(
      made.getStacks().take_front(loop.getStacks().size()));
  made.setAsserts(loop.getAsserts());
  loop.setAsserts(false);
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

namespace {
struct LoopModel : DerivativeRule<LoopModel, LoopOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    auto loop = cast<LoopOp>(op);
    FailureOr<func::FuncOp> body = getBody(loop);
    if (failed(body))
      return failure();
    return ReverseLoop(loop, *body, context).emit();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto loop = cast<LoopOp>(op);
    FailureOr<func::FuncOp> body = getBody(loop);
    if (failed(body))
      return failure();
    return emitForward(loop, *body, context);
  }
  /// Rules write functions, so that asking would leave some behind.
  SmallVector<Value> getNeededPrimals(Operation *op, const Activity &) const {
    auto loop = cast<LoopOp>(op);
    SetVector<Value> needed;
    needed.insert_range(loop.getInvariants());
    needed.insert_range(loop.getSlices());
    needed.insert_range(loop.getStacks());
    if (Value executed = loop.getExecuted())
      needed.insert(executed);
    if (FailureOr<func::FuncOp> body = getBody(loop);
        succeeded(body) && isHidden(loop, *body))
      needed.insert_range(loop.getInits());
    return needed.takeVector();
  }
};
} // namespace

void remat::registerLoopRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    attachRules<LoopModel>(context);
  });
}
