//===- SplitBatch.cpp - a batch that is done in parts ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that has rows of a batch is done by a loop for some of them at a time, up
// to where rows are added up; what they add up to is the sum of what the parts
// give. The derivative runs the loop again, so that activations are there for
// one part only.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "BatchParts.h"
#include "BatchRows.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace remat {
#define GEN_PASS_DEF_SPLITBATCHPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// The body of a loop
//===----------------------------------------------------------------------===//

namespace {
/// The function that a loop runs for the rows of each part.
class PartBody {
public:
  PartBody(func::FuncOp function, const BatchRows &rows, int64_t parts);

  /// An argument for what is carried.
  Value addCarried(Value init) {
    return addArgument(init, carried, init.getType());
  }
  /// Computes what `op` does for a part.
  void add(Operation *op, const RowDims &dims) {
    Operation *clone = clonePart(op, dims);
    mapping.map(op->getResults(), clone->getResults());
  }
  Value lookup(Value value) const { return mapping.lookup(value); }
  OpBuilder &getBuilder() { return builder; }
  /// Ends the function. `split` gives the slices of an argument.
  LoopOp finish(OpBuilder &outside, ValueRange next, ValueRange stacked,
                llvm::function_ref<Value(Value)> split);

private:
  using ArgumentList = SmallVector<std::pair<Value, BlockArgument>>;

  Value addArgument(Value value, ArgumentList &list, Type type) {
    list.emplace_back(value, body.front().addArgument(type, value.getLoc()));
    return list.back().second;
  }
  Value getWhole(Value value);
  Value getRows(Value value, unsigned dim);
  Value makeRows(Value value, unsigned dim);
  Value getNumber();
  Operation *clonePart(Operation *op, const RowDims &dims);
  Value createNeutral(linalg::LinalgOp op, unsigned result);
  void shiftIndices(Operation *op, linalg::LinalgOp clone, unsigned loop);

  func::FuncOp function;
  const BatchRows &rows;
  int64_t parts;
  func::FuncOp body;
  OpBuilder builder;
  Location loc;
  /// Of the function, and the arguments of the body for it.
  ArgumentList carried, invariants, sliced;
  IRMapping mapping;
  /// Rows of a part of what is the same for all parts.
  DenseMap<std::pair<Value, unsigned>, Value> made;
  /// Which part it is, if something asks for that.
  Value number;
};
} // namespace

PartBody::PartBody(func::FuncOp function, const BatchRows &rows, int64_t parts)
    : function(function), rows(rows), parts(parts),
      builder(function.getContext()), loc(function.getLoc()) {
  body =
      func::FuncOp::create(builder, loc, (function.getName() + "_rows").str(),
                           builder.getFunctionType({}, {}));
  body.setPrivate();
  SymbolTable(function->getParentOfType<ModuleOp>())
      .insert(body, std::next(Block::iterator(function)));
  builder.setInsertionPointToStart(body.addEntryBlock());
}

/// Whether each part makes the results of `op` for itself rather than read
/// them: what is cheap, and what is no tensor.
static bool isMadeAgain(Operation *op) {
  if (!isMemoryEffectFree(op))
    return false;
  if (!llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured ? structured.getNumReductionLoops() == 0
                    : !isa<ConvOp, LoopOp, ScatterOp>(op);
}

/// `value`, which has no rows, as it is.
Value PartBody::getWhole(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || !isMadeAgain(op)) {
    mapping.map(value, addArgument(value, invariants, value.getType()));
    return mapping.lookup(value);
  }
  for (Value read : getReadValues(op))
    getWhole(read);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// The rows of a part of `value`, which has them in dimension `dim`, or would.
Value PartBody::getRows(Value value, unsigned dim) {
  if (!rows.getDim(value)) {
    Value &known = made[{value, dim}];
    if (!known) {
      Value rows = makeRows(value, dim);
      // The map may have grown.
      return made[{value, dim}] = rows;
    }
    return known;
  }
  if (Value known = mapping.lookupOrNull(value))
    return known;
  mapping.map(value, addArgument(value, sliced,
                                 rows.getPartType(value.getType(), dim)));
  return mapping.lookup(value);
}

/// The rows of a part of `value`, which is free to have as many.
Value PartBody::makeRows(Value value, unsigned dim) {
  RankedTensorType type = rows.getPartType(value.getType(), dim);
  Operation *op = value.getDefiningOp();
  DenseElementsAttr elements;
  if (isa<tensor::EmptyOp>(op))
    return tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(),
                                   type.getElementType());
  if (matchPattern(value, m_Constant(&elements))) {
    // All parts are equal, and nothing is in front of the rows.
    auto part = elements.isSplat()
                    ? elements.resizeSplat(type)
                    : DenseElementsAttr::getFromRawBuffer(
                          type, elements.getRawData().take_front(
                                    elements.getRawData().size() / parts));
    return arith::ConstantOp::create(builder, op->getLoc(), type, part);
  }
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return tensor::SplatOp::create(builder, op->getLoc(),
                                   getWhole(splat.getInput()), type);
  RowDims dims = *relateRows(op, {/*isResult=*/true, number, dim});
  return clonePart(op, dims)->getResult(number);
}

/// What changes no result of a reduction, to begin that of a part with.
Value PartBody::createNeutral(linalg::LinalgOp op, unsigned result) {
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  Value neutral = arith::ConstantOp::create(
      builder, op.getLoc(),
      *arith::getNeutralElement(findCombiner(op, result)));
  return linalg::FillOp::create(builder, op.getLoc(), neutral, empty)
      .getResult(0);
}

/// The number of the part.
Value PartBody::getNumber() {
  if (number)
    return number;
  auto type = RankedTensorType::get({parts}, builder.getI64Type());
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(parts));
  OpBuilder outside = OpBuilder::atBlockBegin(&function.front());
  auto all = arith::ConstantOp::create(
      outside, loc, type,
      DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
  number =
      addArgument(all, sliced, RankedTensorType::get({}, builder.getI64Type()));
  return number;
}

/// A body that asks for its row gets that of the whole, unless to find elements
/// of what a part has.
void PartBody::shiftIndices(Operation *op, linalg::LinalgOp clone,
                            unsigned loop) {
  SmallVector<tensor::ExtractOp> extracts;
  clone->walk([&](tensor::ExtractOp extract) { extracts.push_back(extract); });
  SmallPtrSet<OpOperand *, 4> local;
  unsigned next = 0;
  op->walk([&](tensor::ExtractOp extract) {
    tensor::ExtractOp mine = extracts[next++];
    if (std::optional<unsigned> dim = rows.getDim(extract.getTensor()))
      local.insert(&mine.getIndicesMutable()[*dim]);
  });
  int64_t count = getLoopSizes(clone)[loop];
  for (auto index :
       llvm::to_vector(clone.getBlock()->getOps<linalg::IndexOp>())) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : index->getUses())
      if (!local.contains(&use))
        uses.push_back(&use);
    if (index.getDim() != loop || uses.empty())
      continue;
    Value tensor = getNumber();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(index);
    Value part = arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        tensor::ExtractOp::create(builder, loc, tensor));
    Value before = arith::MulIOp::create(
        builder, loc, part,
        arith::ConstantIndexOp::create(builder, loc, count));
    Value whole = arith::AddIOp::create(builder, loc, index, before);
    for (OpOperand *use : uses)
      use->set(whole);
  }
}

Operation *PartBody::clonePart(Operation *op, const RowDims &dims) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  SmallVector<Value> operands;
  for (auto [operand, place] : llvm::zip(op->getOpOperands(), dims.operands)) {
    Value value = operand.get();
    if (place)
      operands.push_back(getRows(value, *place));
    else if (dims.isReduced && structured.isDpsInit(&operand))
      operands.push_back(createNeutral(
          structured, structured.getTiedOpResult(&operand).getResultNumber()));
    else
      operands.push_back(getWhole(value));
  }
  // What regions read from outside.
  IRMapping captured;
  for (Region &region : op->getRegions())
    visitUsedValuesDefinedAbove(region, [&](OpOperand *use) {
      Value value = use->get();
      std::optional<unsigned> dim = rows.getDim(value);
      captured.map(value, dim ? getRows(value, *dim) : getWhole(value));
    });
  Operation *clone = builder.clone(*op, captured);
  clone->setOperands(operands);
  for (auto [result, place] : llvm::zip(clone->getResults(), dims.results))
    if (place)
      result.setType(rows.getPartType(result.getType(), *place));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(clone)) {
    expand.setStaticOutputShape(expand.getResultType().getShape());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(clone)) {
    SmallVector<int64_t> sizes = llvm::to_vector(slice.getStaticSizes());
    sizes[*dims.operands[0]] /= parts;
    slice.setStaticSizes(sizes);
  } else if (structured) {
    OpBuilder::InsertionGuard guard(builder);
    shiftIndices(op, cast<linalg::LinalgOp>(clone), *dims.loop);
  }
  return clone;
}

LoopOp PartBody::finish(OpBuilder &outside, ValueRange next, ValueRange stacked,
                        llvm::function_ref<Value(Value)> split) {
  Block &block = body.front();
  SmallVector<Value> returned = llvm::to_vector(next);
  llvm::append_range(returned, stacked);
  func::ReturnOp::create(builder, loc, returned);
  // In the order of a loop's operands.
  unsigned numBefore = block.getNumArguments();
  for (ArgumentList *list : {&carried, &invariants, &sliced})
    for (auto &[value, old] : *list)
      old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
  block.eraseArguments(0, numBefore);
  body.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  SmallVector<Value> inits, same, slices;
  for (auto &[value, argument] : carried)
    inits.push_back(value);
  for (auto &[value, argument] : invariants)
    same.push_back(value);
  for (auto &[value, argument] : sliced)
    slices.push_back(split(value));
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  for (Value value : stacked) {
    auto tensor = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {parts};
    llvm::append_range(shape, tensor.getShape());
    types.push_back(tensor.clone(shape));
  }
  auto loop = LoopOp::create(outside, loc, types, body.getName(), parts,
                             /*reverse=*/false, inits, same, slices);
  loop.setAsserts(LoopOp::isAsserting(block));
  loop->setAttr(RematDialect::stacksNothingAttrName, outside.getUnitAttr());
  return loop;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {
/// A function that does its batch in parts.
class BatchSplitter : BatchParts {
public:
  BatchSplitter(func::FuncOp function, int64_t parts, ArrayRef<int64_t> batch,
                ArrayRef<int64_t> wrt)
      : BatchParts(function, parts, batch), rows(function, parts),
        wrt(wrt.begin(), wrt.end()), builder(function.getContext()) {}

  /// The rows of the batch.
  FailureOr<int64_t> countRows() {
    if (failed(findBatch(findDifferentiated())))
      return failure();
    return BatchParts::rows;
  }
  LogicalResult run();

private:
  /// What the function needs of the parts: their rows, or what they add up to.
  struct Output {
    OpResult value;
    /// Rather a sum that all parts add to than the sum of what each has.
    bool isCarried = false;
  };

  DenseSet<int64_t> findDifferentiated();
  LogicalResult checkRepeatable();
  void findActive();
  SmallVector<Output> findOutputs();
  void write(ArrayRef<Output> outputs);
  Value combine(OpBuilder &at, Value a, Value b, OpResult total);
  Value reduce(Value stack, OpResult total);
  Value joinRows(Value stack, OpResult value);

  BatchRows rows;
  SmallVector<int64_t> wrt;
  OpBuilder builder;
  /// Depends on what the function is differentiated with respect to.
  DenseSet<Value> active;
  /// What each output is from now on.
  DenseMap<Value, Value> replaced;
};
} // namespace

DenseSet<int64_t> BatchSplitter::findDifferentiated() {
  DenseSet<int64_t> numbers(wrt.begin(), wrt.end());
  if (wrt.empty())
    for (BlockArgument argument : function.getArguments())
      if (isa<FloatType, ComplexType>(getElementTypeOrSelf(argument.getType())))
        numbers.insert(argument.getArgNumber());
  return numbers;
}

/// The derivative of the loop runs it again.
LogicalResult BatchSplitter::checkRepeatable() {
  for (auto &[op, dims] : rows.getOps())
    if (runsOnce(op))
      return op->emitOpError("must run once for each part, expected none such "
                             "in a batch that is split");
  return success();
}

void BatchSplitter::findActive() {
  for (int64_t number : findDifferentiated())
    active.insert(function.getArgument(number));
  for (Operation &op : function.front().without_terminator())
    if (llvm::any_of(getReadValues(&op),
                     [&](Value value) { return active.contains(value); }))
      for (Value result : op.getResults())
        if (isa<FloatType, ComplexType>(getElementTypeOrSelf(result.getType())))
          active.insert(result);
}

/// The results that are read where there are no rows, or returned.
SmallVector<BatchSplitter::Output> BatchSplitter::findOutputs() {
  int64_t largest = 0;
  for (auto &[op, dims] : rows.getOps())
    for (auto [result, place] : llvm::zip(op->getResults(), dims.results))
      if (place)
        largest = std::max(largest, getBufferBytes(rows.getPartType(
                                        result.getType(), *place)));
  SmallVector<Output> outputs;
  for (auto &[op, dims] : rows.getOps())
    for (OpResult result : op->getResults()) {
      bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !rows.getOps().contains(
            function.front().findAncestorOpInBlock(*user));
      });
      if (!isRead)
        continue;
      Output output{result};
      // A loop that carries nothing can become one with its derivative.
      output.isCarried =
          !rows.getDim(result) &&
          cast<RankedTensorType>(result.getType()).getRank() > 0 &&
          parts * getBufferBytes(result) > largest / SplitTuning::littleShare;
      outputs.push_back(output);
    }
  return outputs;
}

/// Two values of `total` in one.
Value BatchSplitter::combine(OpBuilder &at, Value a, Value b, OpResult total) {
  Operation *combiner = findCombiner(cast<linalg::LinalgOp>(total.getOwner()),
                                     total.getResultNumber());
  return createElementwise(
      at, loc, {a, b}, cast<RankedTensorType>(total.getType()),
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Operation *clone = nested.clone(*combiner);
        clone->setOperands({args[0], args[1]});
        return clone->getResult(0);
      });
}

/// What all parts add up to, beginning with what `total` does.
Value BatchSplitter::reduce(Value stack, OpResult total) {
  auto op = cast<linalg::LinalgOp>(total.getOwner());
  Operation *combiner = findCombiner(op, total.getResultNumber());
  unsigned rank = cast<RankedTensorType>(stack.getType()).getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  return linalg::GenericOp::create(
             builder, loc, total.getType(), stack,
             op.getDpsInitOperand(total.getResultNumber())->get(),
             ArrayRef<AffineMap>{all, all.dropResult(0)}, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Operation *clone = nested.clone(*combiner);
               clone->setOperands({args[1], args[0]});
               linalg::YieldOp::create(nested, loc, clone->getResult(0));
             })
      .getResult(0);
}

/// The rows of all parts, in the dimension of `value` that has them.
Value BatchSplitter::joinRows(Value stack, OpResult value) {
  auto type = cast<RankedTensorType>(value.getType());
  unsigned dim = *rows.getDim(value);
  auto stackType = cast<RankedTensorType>(stack.getType());
  if (dim != 0) {
    // The parts go from the front to the rows.
    SmallVector<int64_t> order, shape;
    for (unsigned i = 1; i <= dim; ++i)
      order.push_back(i);
    order.push_back(0);
    for (unsigned i = dim + 1; i < stackType.getRank(); ++i)
      order.push_back(i);
    for (int64_t from : order)
      shape.push_back(stackType.getDimSize(from));
    Value empty = tensor::EmptyOp::create(builder, loc, shape,
                                          stackType.getElementType());
    stack = linalg::TransposeOp::create(builder, loc, stack, empty, order)
                ->getResult(0);
  }
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i < dim)
      groups.push_back({i});
    else if (i == dim)
      groups.push_back({i, i + 1});
    else
      groups.push_back({i + 1});
  return tensor::CollapseShapeOp::create(builder, loc, type, stack, groups);
}

/// Writes the loop that makes `outputs`.
void BatchSplitter::write(ArrayRef<Output> outputs) {
  if (outputs.empty())
    return;
  DenseSet<Operation *> needed;
  SmallVector<Value> stack;
  for (const Output &output : outputs)
    stack.push_back(output.value);
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val().getDefiningOp();
    if (op && rows.getOps().contains(op) && needed.insert(op).second)
      llvm::append_range(stack, getReadValues(op));
  }
  PartBody body(function, rows, parts);
  for (auto &[op, dims] : rows.getOps())
    if (needed.contains(op))
      body.add(op, dims);
  SmallVector<Value> next, stacked;
  for (const Output &output : outputs) {
    Value mine = body.lookup(output.value);
    if (!output.isCarried) {
      stacked.push_back(mine);
      continue;
    }
    auto op = cast<linalg::LinalgOp>(output.value.getOwner());
    Value before = body.addCarried(
        op.getDpsInitOperand(output.value.getResultNumber())->get());
    next.push_back(combine(body.getBuilder(), before, mine, output.value));
  }
  LoopOp loop = body.finish(builder, next, stacked, [&](Value value) {
    return isa<BlockArgument>(value) ? split(builder, value) : value;
  });
  auto finals = loop.getFinals().begin(), stacks = loop.getStacks().begin();
  for (const Output &output : outputs)
    if (output.isCarried)
      replaced[output.value] = *finals++;
    else if (rows.getDim(output.value))
      replaced[output.value] = joinRows(*stacks++, output.value);
    else
      replaced[output.value] = reduce(*stacks++, output.value);
}

LogicalResult BatchSplitter::run() {
  if (failed(findBatch(findDifferentiated())) || failed(rows.follow(batch)) ||
      failed(checkRepeatable()))
    return failure();
  SmallVector<Output> outputs = findOutputs();
  if (outputs.empty())
    return function.emitOpError("returns nothing that depends on rows of the "
                                "batch");
  Operation *last = rows.getOps().back().first;
  Operation *behind = last->getNextNode();
  // What reads what all rows add up to comes after all of them.
  SmallVector<Operation *> later;
  for (Operation *op = rows.getOps().front().first; op != behind;
       op = op->getNextNode())
    if (!rows.getOps().contains(op) &&
        llvm::any_of(op->getResults(),
                     [&](Value value) { return rows.isOfTotals(value); }))
      later.push_back(op);
  builder.setInsertionPoint(behind);
  // What is not differentiated is done by a loop of its own: the derivative
  // may depend on it and so not become one with it.
  findActive();
  SmallVector<Output> differentiated, others;
  for (const Output &output : outputs)
    (active.contains(output.value) ? differentiated : others).push_back(output);
  write(others);
  write(differentiated);
  for (Operation *op : later)
    op->moveBefore(behind);
  for (auto [value, now] : replaced)
    value.replaceUsesWithIf(now, [&](OpOperand &use) {
      return !rows.getOps().contains(
          function.front().findAncestorOpInBlock(*use.getOwner()));
    });
  SmallVector<Operation *> old =
      llvm::to_vector(llvm::make_first_range(rows.getOps()));
  for (Operation *op : llvm::reverse(old))
    op->erase();
  function->setAttr(batchPartsAttrName, builder.getI64IntegerAttr(parts));
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Numbers of parts of so many rows to choose from: few, and far apart.
static SmallVector<int64_t> chooseParts(int64_t rows) {
  SmallVector<int64_t> divisors;
  for (int64_t parts = 2; parts <= rows; ++parts)
    if (rows % parts == 0)
      divisors.push_back(parts);
  if (divisors.size() <= SplitTuning::maxAlternatives)
    return divisors;
  // The middle one is the next to the root of the rows.
  int64_t middle = divisors.front();
  for (int64_t parts : ArrayRef(divisors).drop_back())
    if (std::abs(parts * parts - rows) < std::abs(middle * middle - rows))
      middle = parts;
  SmallVector<int64_t> chosen = {divisors.front(), middle, divisors.back()};
  chosen.erase(llvm::unique(chosen), chosen.end());
  return chosen;
}

namespace {
struct SplitBatch : remat::impl::SplitBatchPassBase<SplitBatch> {
  using SplitBatchPassBase::SplitBatchPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> target = findBatchFunction(
        getOperation(), function, std::max<int64_t>(parts, 1));
    if (failed(target))
      return signalPassFailure();
    if (parts == 0)
      return addAlternatives(*target);
    if (parts > 1 && failed(split(*target, parts)))
      signalPassFailure();
  }

private:
  LogicalResult split(func::FuncOp target, int64_t count) {
    return BatchSplitter(target, count, getNumbers(arguments), getNumbers(wrt))
        .run();
  }
  FailureOr<int64_t> countRows(func::FuncOp target) {
    return BatchSplitter(target, 1, getNumbers(arguments), getNumbers(wrt))
        .countRows();
  }
  static SmallVector<int64_t> getNumbers(ListOption<int64_t> &option) {
    return llvm::to_vector(llvm::iterator_range(option));
  }

  void addAlternatives(func::FuncOp target);
};
} // namespace

/// Adds to the chain of functions that may be planned instead of `target` some
/// that do its batch in parts. Says why if there are none.
void SplitBatch::addAlternatives(func::FuncOp target) {
  ModuleOp module = getOperation();
  SmallVector<int64_t> counts;
  std::optional<std::pair<Location, std::string>> reason;
  {
    ScopedDiagnosticHandler quiet(&getContext(), [&](Diagnostic &diagnostic) {
      if (!reason)
        reason.emplace(diagnostic.getLocation(), diagnostic.str());
      return success();
    });
    FailureOr<int64_t> rows = countRows(target);
    if (succeeded(rows))
      counts = chooseParts(*rows);
    func::FuncOp last = target;
    for (int64_t count : counts) {
      func::FuncOp copy = target.clone();
      copy->removeAttr(RematDialect::alternativeAttrName);
      copy.setName((target.getName() + "_split").str());
      copy.setPrivate();
      SymbolTable(module).insert(copy, std::next(Block::iterator(last)));
      if (failed(split(copy, count))) {
        copy.erase();
        break;
      }
      last->setAttr(RematDialect::alternativeAttrName,
                    FlatSymbolRefAttr::get(copy));
      last = copy;
    }
  }
  if (reason)
    mlir::emitRemark(reason->first)
        << "the batch is done as a whole: " << reason->second;
}
