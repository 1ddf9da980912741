//===- LayerMicrobatches.cpp - all parts of a batch, layer by layer -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All parts of a batch pass a layer before the next one begins, so that the
// derivative is done with the weights of one layer before it comes to those of
// the layer before: their gradients are complete, and can be used and dropped,
// while the others do not exist yet. What lies between layers exists for all
// parts; of what is inside of a layer, the derivative makes that of one part at
// a time again.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "Alternatives.h"
#include "BatchParts.h"
#include "LayerCuts.h"

#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/IR/IRMapping.h"

namespace remat {
#define GEN_PASS_DEF_LAYERMICROBATCHESPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// One layer of the function, of which a loop runs all parts.
struct Layer {
  /// Numbers of the function's results that are carried.
  SmallVector<unsigned> carried;
  /// What the loop stacks.
  SetVector<Value> stacked;
  /// Numbers of the function's arguments that are the same for all parts.
  SetVector<unsigned> invariants;
  /// What the loop slices: arguments, and what earlier layers stack.
  SetVector<Value> sliced;
  func::FuncOp body;
};

/// The function for one part, and the one that it becomes.
class LayerLoops : BatchParts {
public:
  LayerLoops(func::FuncOp function, int64_t parts, ArrayRef<int64_t> batch,
             ArrayRef<int64_t> wrt)
      : BatchParts(function, parts, batch), builder(function.getContext()),
        terminator(function.front().getTerminator()), wrt(wrt) {}

  /// Finds the layers, which leaves the function as it is. Says why there are
  /// none if `explains`.
  LogicalResult findLayers(bool explains);
  void rewrite();

private:
  LogicalResult checkRepeatable(bool explains);
  void findWork();
  LayerBytes measure();
  void findWeights();
  void addWeights(Value value, SetVector<unsigned> &weights);
  bool isCarried(BlockArgument argument) const {
    return llvm::is_contained(donors, argument);
  }
  /// The place of what makes `value`, if that is an operation of a layer.
  std::optional<unsigned> findPlace(Value value) const {
    auto found = places.find(value.getDefiningOp());
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
  unsigned getLayer(unsigned place) const {
    return llvm::upper_bound(cuts, place) - cuts.begin();
  }
  unsigned getOwner(unsigned result);
  void assignResults();
  SmallVector<Operation *> collectOps(unsigned number);
  void writeBody(unsigned number);
  Value takeMean(Value stack, RankedTensorType type);

  OpBuilder builder;
  Operation *terminator;
  ArrayRef<int64_t> wrt;
  DenseSet<unsigned> weights;
  /// The operations of layers, in order, and their places in it. All others
  /// are the same for all parts, or views of the batch, and are where they are
  /// read.
  SmallVector<Operation *> work;
  DenseMap<Operation *, unsigned> places;
  DenseMap<Operation *, SetVector<unsigned>> outside;
  SmallVector<unsigned> cuts;
  std::vector<Layer> layers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// The derivative of a layer runs it again.
LogicalResult LayerLoops::checkRepeatable(bool explains) {
  for (Operation &op : function.front().without_terminator()) {
    WalkResult walk = op.walk([](Operation *inner) {
      bool isHook = isa<GradientHookOp>(inner);
      return isHook || runsOnce(inner) ? WalkResult::interrupt()
                                       : WalkResult::advance();
    });
    if (!walk.wasInterrupted())
      continue;
    if (explains)
      op.emitOpError("must run once for each part, expected none such for "
                     "parts that pass layer after layer");
    return failure();
  }
  return success();
}

/// Finds the operations that differ from part to part.
void LayerLoops::findWork() {
  DenseSet<Value> differing;
  for (BlockArgument argument : function.getArguments())
    if (isSliced(argument.getArgNumber()) || isCarried(argument))
      differing.insert(argument);
  for (Operation &op : function.front().without_terminator()) {
    auto read = getReadValues(&op);
    bool differs = llvm::any_of(
        read, [&](Value value) { return differing.contains(value); });
    if (differs)
      differing.insert_range(op.getResults());
    // A view of the batch is one of a slice.
    bool isSlice = false;
    if (isViewOp(&op)) {
      auto root = dyn_cast<BlockArgument>(getViewRoot(op.getResult(0)));
      isSlice = root && isBatch(root.getArgNumber());
    }
    bool isEffect = op.getNumResults() == 0 || !isMemoryEffectFree(&op);
    if (isEffect || (differs && !isSlice)) {
      places[&op] = work.size();
      work.push_back(&op);
    }
  }
}

/// Finds the weights that each operation outside of layers is made of.
void LayerLoops::findWeights() {
  for (Operation &op : function.front().without_terminator()) {
    if (places.contains(&op))
      continue;
    SetVector<unsigned> read;
    for (Value value : getReadValues(&op))
      addWeights(value, read);
    outside[&op] = std::move(read);
  }
}

/// Adds the weights that `value` is made of by what is in no layer.
void LayerLoops::addWeights(Value value, SetVector<unsigned> &found) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (weights.contains(argument.getArgNumber()))
      found.insert(argument.getArgNumber());
    return;
  }
  auto made = outside.find(value.getDefiningOp());
  if (made != outside.end())
    found.insert_range(made->second);
}

LayerBytes LayerLoops::measure() {
  LayerBytes bytes;
  bytes.parts = parts;
  bytes.ops.resize(work.size());
  bytes.gradients.resize(function.getNumArguments());
  for (unsigned weight : weights) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[weight]);
    bytes.gradients[weight] =
        getBufferBytes(type.clone(getSumElement(type.getElementType())));
  }
  // By how much the bytes before an operation are more than those before the
  // one before it, and of how many values there can be no stacks.
  SmallVector<int64_t> more(work.size() + 1), unstacked(work.size() + 1);
  auto cross = [&](unsigned from, unsigned to, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    SmallVector<int64_t> &counts = tensor ? more : unstacked;
    int64_t amount = tensor ? getBufferBytes(tensor) : 1;
    counts[from + 1] += amount;
    if (to + 1 < counts.size())
      counts[to + 1] -= amount;
  };
  /// The last reader of what an operation makes; the places that read what is
  /// carried.
  DenseMap<Value, unsigned> lastReader;
  std::map<unsigned, std::pair<unsigned, unsigned>> ranges;
  auto extend = [&](unsigned argument, unsigned place) {
    auto [range, isNew] = ranges.try_emplace(argument, place, place);
    range->second.first = std::min(range->second.first, place);
    range->second.second = std::max(range->second.second, place);
  };
  for (auto [place, op] : llvm::enumerate(work)) {
    SetVector<unsigned> read;
    for (Value value : getReadValues(op)) {
      addWeights(value, read);
      if (findPlace(value))
        lastReader[value] = place;
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == &function.front() &&
          isCarried(argument))
        extend(argument.getArgNumber(), place);
    }
    bytes.ops[place].weights = read.takeVector();
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes.ops[place].made += getBufferBytes(tensor);
  }
  for (auto [number, donor] : llvm::enumerate(donors))
    if (donor)
      if (auto place = findPlace(terminator->getOperand(number)))
        extend(donor.getArgNumber(), *place);
  for (auto [value, last] : lastReader)
    cross(*findPlace(value), last, value.getType());
  // What is carried is of one layer.
  for (const auto &[argument, range] : ranges)
    cross(range.first, range.second, builder.getNoneType());
  int64_t crossing = 0, missing = 0;
  for (auto [place, op] : llvm::enumerate(bytes.ops)) {
    crossing += more[place];
    missing += unstacked[place];
    if (missing == 0)
      op.crossing = crossing;
  }
  return bytes;
}

LogicalResult LayerLoops::findLayers(bool explains) {
  FailureOr<DenseSet<int64_t>> differentiated = findDifferentiated(wrt);
  if (failed(differentiated) || failed(findBatch(*differentiated)) ||
      failed(classifyResults()) || failed(checkRepeatable(explains)))
    return failure();
  weights.insert(differentiated->begin(), differentiated->end());
  findWork();
  findWeights();
  cuts = chooseLayerCuts(measure());
  if (!cuts.empty())
    return success();
  if (explains)
    function.emitOpError("has no place between two operations where all parts "
                         "of a batch can wait: expected layers");
  return failure();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The layer that makes a result, or the last one if none does.
unsigned LayerLoops::getOwner(unsigned result) {
  Value value = terminator->getOperand(result);
  if (auto place = findPlace(value))
    return getLayer(*place);
  BlockArgument donor = donors[result];
  // What is carried may be returned as it came, too: by the layer that has it.
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && !donor && isCarried(argument))
    return getOwner(llvm::find(donors, argument) - donors.begin());
  if (donor)
    for (auto [place, op] : llvm::enumerate(work))
      if (getReadValues(op).contains(donor))
        return getLayer(place);
  return cuts.size();
}

void LayerLoops::assignResults() {
  layers.resize(cuts.size() + 1);
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    Layer &owner = layers[getOwner(number)];
    if (kind == PartResult::Carried)
      owner.carried.push_back(number);
    else
      owner.stacked.insert(terminator->getOperand(number));
  }
}

/// The operations of a layer and all others that it reads, in order. Takes down
/// what else it reads.
SmallVector<Operation *> LayerLoops::collectOps(unsigned number) {
  Layer &layer = layers[number];
  unsigned begin = number == 0 ? 0 : cuts[number - 1],
           end = number == cuts.size() ? work.size() : cuts[number];
  SetVector<Operation *> ops;
  SmallVector<Value> stack;
  auto add = [&](Operation *op) {
    if (ops.insert(op))
      llvm::append_range(stack, getReadValues(op));
  };
  for (Operation *op : ArrayRef(work).slice(begin, end - begin))
    add(op);
  llvm::append_range(stack, layer.stacked);
  for (unsigned result : layer.carried)
    stack.push_back(terminator->getOperand(result));
  SetVector<Value> fromBefore;
  BitVector read(function.getNumArguments());
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &function.front() && !isCarried(argument))
        read.set(argument.getArgNumber());
      continue;
    }
    std::optional<unsigned> place = findPlace(value);
    if (place && *place < begin)
      fromBefore.insert(value);
    else
      add(value.getDefiningOp());
  }
  for (unsigned argument : read.set_bits())
    if (isSliced(argument))
      layer.sliced.insert(function.getArgument(argument));
    else
      layer.invariants.insert(argument);
  SmallVector<Value> earlier = fromBefore.takeVector();
  llvm::sort(earlier, [&](Value a, Value b) {
    return std::pair(*findPlace(a), cast<OpResult>(a).getResultNumber()) <
           std::pair(*findPlace(b), cast<OpResult>(b).getResultNumber());
  });
  for (Value value : earlier) {
    layer.sliced.insert(value);
    layers[getLayer(*findPlace(value))].stacked.insert(value);
  }
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// The body of the loop over a layer, which stacks what later layers read:
/// their bodies are written before.
void LayerLoops::writeBody(unsigned number) {
  SmallVector<Operation *> ops = collectOps(number);
  Layer &layer = layers[number];
  SmallVector<Value> arguments;
  for (unsigned result : layer.carried)
    arguments.push_back(donors[result]);
  for (unsigned argument : layer.invariants)
    arguments.push_back(function.getArgument(argument));
  llvm::append_range(arguments, layer.sliced);
  SmallVector<Value> returned;
  for (unsigned result : layer.carried)
    returned.push_back(terminator->getOperand(result));
  llvm::append_range(returned, layer.stacked);
  OpBuilder::InsertionGuard guard(builder);
  layer.body = func::FuncOp::create(
      builder, loc, (function.getName() + "_layer").str(),
      builder.getFunctionType(ValueRange(arguments).getTypes(),
                              ValueRange(returned).getTypes()));
  layer.body.setPrivate();
  SymbolTable(function->getParentOfType<ModuleOp>())
      .insert(layer.body, std::next(Block::iterator(function)));
  Block *block = layer.body.addEntryBlock();
  IRMapping mapping;
  mapping.map(arguments, block->getArguments());
  builder.setInsertionPointToStart(block);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  func::ReturnOp::create(builder, loc,
                         llvm::map_to_vector(returned, [&](Value value) {
                           return mapping.lookup(value);
                         }));
}

/// The mean of what all parts give, tensors of `type`.
Value LayerLoops::takeMean(Value stack, RankedTensorType type) {
  Type element = getSumElement(type.getElementType());
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank() + 1);
  SmallVector<utils::IteratorType> iterators(type.getRank() + 1,
                                             utils::IteratorType::parallel);
  iterators.front() = utils::IteratorType::reduction;
  auto sum = linalg::GenericOp::create(
      builder, loc, type.clone(element), stack,
      createZeros(builder, loc, type.clone(element)),
      ArrayRef<AffineMap>{
          all, AffineMap::getMinorIdentityMap(
                   type.getRank() + 1, type.getRank(), builder.getContext())},
      iterators, [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value term = createShare(nested, loc, args[0], element);
        linalg::YieldOp::create(nested, loc,
                                createSum(nested, loc, args[1], term));
      });
  return convertFloats(builder, loc, sum.getResult(0), type.getElementType());
}

void LayerLoops::rewrite() {
  assignResults();
  for (unsigned number = layers.size(); number-- > 0;)
    writeBody(number);
  SmallVector<Operation *> old;
  for (Operation &op : function.front().without_terminator())
    old.push_back(&op);
  SmallVector<Type> resultTypes = llvm::to_vector(function.getResultTypes());
  SmallVector<Type> argumentTypes =
      llvm::to_vector(function.getArgumentTypes());
  widenBatch();
  builder.setInsertionPoint(terminator);
  // Of what a part has, that of all parts. What no layer makes may be stacked
  // by the last one, and is none of these.
  DenseMap<Value, Value> slices, results;
  for (int64_t number : llvm::concat<int64_t>(batch, keys))
    slices[function.getArgument(number)] = getSlices(builder, number);
  SmallVector<Value> returned(kinds.size());
  for (Layer &layer : layers) {
    SmallVector<Value> inits, invariants, sliced;
    SmallVector<Type> types;
    for (unsigned result : layer.carried)
      inits.push_back(donors[result]);
    for (unsigned argument : layer.invariants)
      invariants.push_back(function.getArgument(argument));
    for (Value value : layer.sliced)
      sliced.push_back(slices.lookup(value));
    llvm::append_range(types, ValueRange(inits).getTypes());
    for (auto type : layer.body.getResultTypes().drop_front(inits.size()))
      types.push_back(addParts(cast<RankedTensorType>(type)));
    auto loop = LoopOp::create(builder, loc, types, layer.body.getName(), parts,
                               /*reverse=*/false, inits, invariants, sliced);
    loop.setAsserts(LoopOp::isAsserting(layer.body.front()));
    loop->setAttr(RematDialect::stacksNothingAttrName, builder.getUnitAttr());
    for (auto [result, value] : llvm::zip(layer.carried, loop.getFinals()))
      returned[result] = value;
    for (auto [value, stack] : llvm::zip(layer.stacked, loop.getStacks())) {
      results[value] = stack;
      slices.try_emplace(value, stack);
    }
  }
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    if (kind == PartResult::Carried)
      continue;
    Value stack = results.lookup(terminator->getOperand(number));
    auto type = cast<RankedTensorType>(resultTypes[number]);
    returned[number] = kind == PartResult::Mean
                           ? takeMean(stack, type)
                           : join(builder, stack, type, kind);
  }
  finish(old, returned);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LayerMicrobatches
    : remat::impl::LayerMicrobatchesPassBase<LayerMicrobatches> {
  using LayerMicrobatchesPassBase::LayerMicrobatchesPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> target =
        findBatchFunction(getOperation(), function, parts);
    if (failed(target))
      return signalPassFailure();
    SmallVector<int64_t> numbers =
        llvm::to_vector(llvm::iterator_range(arguments));
    SmallVector<int64_t> inputs = llvm::to_vector(llvm::iterator_range(wrt));
    // What is no reason to fail is not reported.
    std::optional<ScopedDiagnosticHandler> quiet;
    if (alternative) {
      quiet.emplace(&getContext(), [](Diagnostic &) { return success(); });
      if (failed(LayerLoops(*target, parts, numbers, inputs).findLayers(false)))
        return;
      target = addAlternative(*target, "_layers");
    }
    auto rewrite = [&](func::FuncOp function) {
      LayerLoops loops(function, parts, numbers, inputs);
      if (failed(loops.findLayers(/*explains=*/true)))
        return failure();
      loops.rewrite();
      function->setAttr(RematDialect::microbatchOrderAttrName,
                        StringAttr::get(&getContext(), "layers"));
      return success();
    };
    if (failed(rewrite(*target)))
      return signalPassFailure();
    // Those of the function as it was have their parts one after the other.
    if (alternative)
      return;
    for (FunctionOpInterface other : findAlternatives(*target))
      if (failed(rewrite(cast<func::FuncOp>(other.getOperation()))))
        return signalPassFailure();
  }
};
} // namespace
