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
#include "PartBody.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/BufferTypes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_SPLITBATCHPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

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
    if (failed(findArguments()))
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

  LogicalResult findArguments();
  LogicalResult checkRepeatable();
  void makeEarly();
  void findActive();
  SmallVector<Output> findOutputs();
  void write(ArrayRef<Output> outputs);
  Value combine(OpBuilder &at, Value a, Value b, OpResult total);
  Value getStart(OpResult total);
  Value reduce(Value stack, OpResult total);
  Value joinRows(Value stack, OpResult value);

  BatchRows rows;
  SmallVector<int64_t> wrt;
  /// The numbers of the arguments by which the function is differentiated.
  DenseSet<int64_t> differentiated;
  OpBuilder builder;
  /// Depends on what the function is differentiated with respect to.
  DenseSet<Value> active;
  /// What each output is from now on.
  DenseMap<Value, Value> replaced;
};
} // namespace

/// The derivative of the loop runs it again.
LogicalResult BatchSplitter::checkRepeatable() {
  for (auto &[op, dims] : rows.getOps())
    if (runsOnce(op))
      return op->emitOpError("must run once for each part, expected none such "
                             "in a batch that is split");
  return success();
}

/// Makes what single rows need of all of them ahead of the parts.
void BatchSplitter::makeEarly() {
  SetVector<Operation *> slice;
  for (Value value : rows.getEarly()) {
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitUsesFromAbove = false;
    (void)getBackwardSlice(value, &slice, options);
  }
  OpBuilder first = OpBuilder::atBlockBegin(&function.front());
  IRMapping made;
  for (Operation *op : topologicalSort(slice))
    first.clone(*op, made);
  for (Value value : rows.getEarly())
    value.replaceAllUsesWith(made.lookup(value));
}

LogicalResult BatchSplitter::findArguments() {
  FailureOr<DenseSet<int64_t>> found = findDifferentiated(wrt);
  if (failed(found))
    return failure();
  differentiated = std::move(*found);
  return findBatch(differentiated);
}

void BatchSplitter::findActive() {
  for (int64_t number : differentiated)
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
                                        result.getType(), place->dim)));
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
          !rows.getPlace(result) &&
          cast<RankedTensorType>(result.getType()).getRank() > 0 &&
          parts * getBufferBytes(result) > largest / SplitTuning::littleShare;
      outputs.push_back(output);
    }
  return outputs;
}

/// Two elements of `total` in one, in the type that they have.
static Value combineElements(OpBuilder &builder, Location loc, OpResult total,
                             Value a, Value b) {
  auto op = dyn_cast<linalg::LinalgOp>(total.getOwner());
  if (!op)
    return createSum(builder, loc, a, b);
  Operation *clone = builder.clone(*findReducer(op, total.getResultNumber()));
  clone->setOperands({a, b});
  clone->getResult(0).setType(a.getType());
  return clone->getResult(0);
}

/// Two values of `total` in one.
Value BatchSplitter::combine(OpBuilder &at, Value a, Value b, OpResult total) {
  auto type = cast<RankedTensorType>(a.getType());
  Value both = createElementwise(
      at, loc, {a, b}, type,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value mine = convertFloats(nested, loc, args[1], type.getElementType());
        return combineElements(nested, loc, total, args[0], mine);
      });
  copyBackward(total.getOwner(), both.getDefiningOp());
  return both;
}

/// What `total` begins with, as wide as sums are kept.
Value BatchSplitter::getStart(OpResult total) {
  auto type = cast<RankedTensorType>(total.getType());
  Type wide = getSumElement(type.getElementType());
  Value start = findStart(total);
  return start ? convertFloats(builder, loc, start, wide)
               : createZeros(builder, loc, type.clone(wide));
}

/// What all parts add up to, beginning with what `total` does.
Value BatchSplitter::reduce(Value stack, OpResult total) {
  unsigned rank = cast<RankedTensorType>(stack.getType()).getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  Value start = getStart(total);
  return linalg::GenericOp::create(
             builder, loc, start.getType(), stack, start,
             ArrayRef<AffineMap>{all, all.dropResult(0)}, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Value mine =
                   convertFloats(nested, loc, args[0], args[1].getType());
               linalg::YieldOp::create(
                   nested, loc,
                   combineElements(nested, loc, total, args[1], mine));
             })
      .getResult(0);
}

/// Groups of dimensions for a reshape to or from `rank` of them, of which `dim`
/// is a group of `size`.
static SmallVector<ReassociationIndices> groupAt(int64_t rank, int64_t dim,
                                                 int64_t size) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t end = next + (i == dim ? size : 1);
    groups.push_back(llvm::to_vector<2>(llvm::seq(next, end)));
    next = end;
  }
  return groups;
}

/// The rows of all parts, in the dimension of `value` that has them.
Value BatchSplitter::joinRows(Value stack, OpResult value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto [dim, runs] = *rows.getPlace(value);
  if (runs != 1) {
    // Each run is a dimension of its own.
    auto stackType = cast<RankedTensorType>(stack.getType());
    SmallVector<int64_t> shape = llvm::to_vector(stackType.getShape());
    shape[dim + 1] /= runs;
    shape.insert(shape.begin() + dim + 1, runs);
    stack = tensor::ExpandShapeOp::create(
        builder, loc, stackType.clone(shape), stack,
        groupAt(stackType.getRank(), dim + 1, /*size=*/2));
  }
  unsigned inRun = runs == 1 ? dim : dim + 1;
  auto stackType = cast<RankedTensorType>(stack.getType());
  if (inRun != 0) {
    // The parts go from the front to the rows.
    SmallVector<int64_t> order, shape;
    for (unsigned i = 1; i <= inRun; ++i)
      order.push_back(i);
    order.push_back(0);
    for (unsigned i = inRun + 1; i < stackType.getRank(); ++i)
      order.push_back(i);
    for (int64_t from : order)
      shape.push_back(stackType.getDimSize(from));
    Value empty = tensor::EmptyOp::create(builder, loc, shape,
                                          stackType.getElementType());
    stack = linalg::TransposeOp::create(builder, loc, stack, empty, order)
                ->getResult(0);
  }
  return tensor::CollapseShapeOp::create(
      builder, loc, type, stack,
      groupAt(type.getRank(), dim, stackType.getRank() - type.getRank() + 1));
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
    Value before = body.addCarried(getStart(output.value));
    next.push_back(combine(body.getBuilder(), before, mine, output.value));
  }
  LoopOp loop = body.finish(builder, next, stacked, [&](Value value) {
    return isa<BlockArgument>(value) ? split(builder, value) : value;
  });
  auto finals = loop.getFinals().begin(), stacks = loop.getStacks().begin();
  for (const Output &output : outputs)
    if (rows.getPlace(output.value))
      replaced[output.value] = joinRows(*stacks++, output.value);
    else
      replaced[output.value] = convertFloats(
          builder, loc,
          output.isCarried ? *finals++ : reduce(*stacks++, output.value),
          getElementTypeOrSelf(output.value.getType()));
}

LogicalResult BatchSplitter::run() {
  if (failed(findArguments()) || failed(rows.follow(batch)) ||
      failed(checkRepeatable()))
    return failure();
  makeEarly();
  SmallVector<Output> outputs = findOutputs();
  if (outputs.empty())
    return function.emitOpError("returns nothing that depends on rows of the "
                                "batch");
  Operation *last = rows.getOps().back().first;
  Operation *behind = last->getNextNode();
  // What reads what all rows add up to comes after all of them, also if it is
  // an assertion, which has no results.
  auto isOfTotals = [&](Value value) { return rows.isOfTotals(value); };
  SmallVector<Operation *> later;
  for (Operation *op = rows.getOps().front().first; op != behind;
       op = op->getNextNode())
    if (!rows.getOps().contains(op) &&
        (llvm::any_of(op->getResults(), isOfTotals) ||
         llvm::any_of(getReadValues(op), isOfTotals)))
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
