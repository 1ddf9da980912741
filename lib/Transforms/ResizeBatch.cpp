//===- ResizeBatch.cpp - a function of a batch of another size ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write sizes as numbers. Which of them have the batch as a factor is
// found by following it from the arguments through all operations, against
// their direction, too: what an operation writes into has the shape of what it
// writes.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/InterleavedRange.h"

namespace remat {
#define GEN_PASS_DEF_RESIZEBATCHPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// For each dimension of a value, by how much the positions of neighbours in
/// the batch differ in it, divided into what is before: the product of the
/// factors in front of the batch. Unset where the batch is no factor.
using BatchDims = SmallVector<std::optional<int64_t>>;

class Resizer {
public:
  /// Everything of floating point is differentiated by if `wrt` is empty.
  Resizer(func::FuncOp function, int64_t size, ArrayRef<int64_t> wrt)
      : function(function), newSize(size), wrt(wrt) {}
  LogicalResult run(ArrayRef<int64_t> given);

private:
  LogicalResult findBatch(ArrayRef<int64_t> given);
  bool isDifferentiated(int64_t argument);
  bool mayBeData(int64_t argument);
  bool mayHaveBatch(BlockArgument argument);
  void separateConstants();
  LogicalResult mark(Operation *op, Value value, unsigned dim, int64_t outer);
  LogicalResult follow(Operation *op);
  LogicalResult followLinalg(linalg::LinalgOp op);
  LogicalResult followGroups(Operation *op, Value wide, Value narrow,
                             ArrayRef<ReassociationIndices> groups);
  LogicalResult followConv(ConvOp op);
  LogicalResult followSameShape(Operation *op);
  LogicalResult followPad(tensor::PadOp op);
  LogicalResult followSlice(tensor::ExtractSliceOp op);
  LogicalResult followInsert(tensor::InsertSliceOp op);
  LogicalResult followConcat(tensor::ConcatOp op);
  LogicalResult followReads(linalg::GenericOp op,
                            SmallVectorImpl<std::optional<int64_t>> &loops);
  LogicalResult followScatter(ScatterOp op);
  LogicalResult followLoop(LoopOp op);
  LogicalResult followRegion(Operation *op);
  LogicalResult tie(Operation *op, Value a, Value b, unsigned dimOfA = 0,
                    unsigned dimOfB = 0);
  LogicalResult followBlock(Block &block);
  func::FuncOp findBody(LoopOp op);
  void findBodies(func::FuncOp around);
  bool isMarked(Value value) const {
    auto dims = marks.find(value);
    return dims != marks.end() &&
           llvm::any_of(dims->second, [](auto dim) { return dim.has_value(); });
  }
  std::optional<int64_t> getMark(Value value, unsigned dim) const {
    auto dims = marks.find(value);
    return dims == marks.end() ? std::nullopt : dims->second[dim];
  }
  SmallVector<int64_t> resize(Value value) const;
  void apply();
  void applyTo(Operation *op);

  func::FuncOp function;
  int64_t newSize, size = 0;
  ArrayRef<int64_t> wrt;
  SmallVector<int64_t> batch;
  llvm::DenseMap<Value, BatchDims> marks;
  /// The bodies of loops that the function runs.
  llvm::SetVector<func::FuncOp> bodies;
  /// Which loops of a scatter have the batch.
  llvm::DenseMap<Operation *, SmallVector<std::optional<int64_t>>> scattered;
  bool hasChanged = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// The arguments
//===----------------------------------------------------------------------===//

bool Resizer::isDifferentiated(int64_t argument) {
  return wrt.empty() ? isa<FloatType>(
                           getElementTypeOrSelf(function.getArgument(argument)))
                     : llvm::is_contained(wrt, argument);
}

/// Vectors of floats that nothing is differentiated by are rather statistics,
/// which have the size of channels.
bool Resizer::mayBeData(int64_t argument) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  return !isDifferentiated(argument) && !getDonatedResult(function, argument) &&
         (type.getRank() > 1 || !isa<FloatType>(type.getElementType()));
}

/// Whether an argument that has the batch is data. If nobody says what is
/// differentiated by, data of floats is differentiated, too: then it has the
/// batch in front.
bool Resizer::mayHaveBatch(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (!isDifferentiated(number) || llvm::is_contained(batch, number))
    return true;
  return wrt.empty() && getMark(argument, 0) == 1 &&
         llvm::count_if(marks.lookup(argument),
                        [](auto dim) { return dim.has_value(); }) == 1;
}

LogicalResult Resizer::findBatch(ArrayRef<int64_t> given) {
  auto getRows = [&](int64_t number) -> std::optional<int64_t> {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
    return type && type.getRank() > 0 ? std::optional(type.getDimSize(0))
                                      : std::nullopt;
  };
  int64_t count = function.getNumArguments();
  for (int64_t number : given)
    if (number < 0 || number >= count || !getRows(number))
      return function.emitOpError("has no argument #")
             << number << " with a first dimension for the batch";
  batch = llvm::to_vector(given);
  for (int64_t number = 0; number < count && given.empty(); ++number) {
    std::optional<int64_t> rows = getRows(number);
    if (rows && mayBeData(number) &&
        (batch.empty() || rows == getRows(batch.front())))
      batch.push_back(number);
  }
  if (batch.empty())
    return function.emitOpError(
        "has no batch: expected data, which nothing is differentiated by, with "
        "a first dimension and either a second one or integers");
  size = *getRows(batch.front());
  for (int64_t number : batch)
    if (getRows(number) != size)
      return function.emitOpError("argument #")
             << number << " has " << *getRows(number)
             << " rows, expected the batch of " << size;
  return success();
}

/// Equal constants of several readers have become one: the batch of one reader
/// is none of another's.
void Resizer::separateConstants() {
  SmallVector<Operation *> shared;
  auto collect = [&](Operation *op) {
    if (op->getNumResults() == 1 && !op->use_empty() &&
        isa<RankedTensorType>(op->getResult(0).getType()) &&
        isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(op))
      shared.push_back(op);
  };
  function.walk(collect);
  for (func::FuncOp body : bodies)
    body.walk(collect);
  // Readers first, which are copied together with what they read.
  for (Operation *op : llvm::reverse(shared)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::drop_begin(uses))
      use->set(OpBuilder(op).clone(*op)->getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Following the batch
//===----------------------------------------------------------------------===//

/// Notes that a dimension has the batch behind `outer` as a factor.
LogicalResult Resizer::mark(Operation *op, Value value, unsigned dim,
                            int64_t outer) {
  auto type = cast<RankedTensorType>(value.getType());
  BatchDims &dims =
      marks.try_emplace(value, BatchDims(type.getRank())).first->second;
  if (dims[dim] == outer)
    return success();
  if (dims[dim] || type.getDimSize(dim) % (outer * size) != 0)
    return op->emitOpError("has the batch of ")
           << size << " in dimension " << dim << " of " << type
           << " in a way that cannot be resized";
  dims[dim] = outer;
  hasChanged = true;
  return success();
}

LogicalResult Resizer::followLinalg(linalg::LinalgOp op) {
  SmallVector<std::optional<int64_t>> loops(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isMarked(operand.get()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, outer] : llvm::enumerate(marks.lookup(operand.get()))) {
      if (!outer)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim));
      if (!loop)
        return op.emitOpError("reads the batch at positions that are not those "
                              "of a loop, cannot resize it");
      loops[loop.getPosition()] = outer;
    }
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    if (failed(followReads(generic, loops)))
      return failure();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && loops[loop.getPosition()])
        if (failed(mark(op, operand.get(), dim, *loops[loop.getPosition()])))
          return failure();
  }
  // What is written has the shape of what it is written into.
  for (auto [init, result] : llvm::zip(op.getDpsInits(), op->getResults()))
    for (auto [from, to] : {std::pair(Value(init), Value(result)),
                            std::pair(Value(result), Value(init))})
      for (auto [dim, outer] : llvm::enumerate(marks.lookup(from)))
        if (outer && failed(mark(op, to, dim, *outer)))
          return failure();
  return success();
}

/// Dimensions of `wide` are dimensions of `narrow` in groups.
LogicalResult Resizer::followGroups(Operation *op, Value wide, Value narrow,
                                    ArrayRef<ReassociationIndices> groups) {
  auto shape = cast<RankedTensorType>(wide.getType()).getShape();
  for (auto [number, group] : llvm::enumerate(groups)) {
    int64_t before = 1;
    for (int64_t dim : group) {
      if (std::optional<int64_t> outer = getMark(wide, dim))
        if (failed(mark(op, narrow, number, before * *outer)))
          return failure();
      std::optional<int64_t> joined = getMark(narrow, number);
      int64_t behind = before * shape[dim];
      if (joined && before <= *joined && *joined < behind)
        if (failed(mark(op, wide, dim, *joined / before)))
          return failure();
      before = behind;
    }
  }
  return success();
}

/// The input and the output of the convolution have the batch, whichever of its
/// factors is the result.
LogicalResult Resizer::followConv(ConvOp op) {
  bool isInputGrad = op.getKind() == ConvKind::InputGrad;
  Value x = isInputGrad ? op.getResult() : op.getLhs();
  Value y = isInputGrad                            ? op.getLhs()
            : op.getKind() == ConvKind::FilterGrad ? op.getRhs()
                                                   : op.getResult();
  unsigned input = op.getInputLayout()[0], output = op.getOutputLayout()[0];
  std::optional<int64_t> outer = getMark(x, input);
  if (!outer)
    outer = getMark(y, output);
  if (!outer)
    return success();
  return success(succeeded(mark(op, x, input, *outer)) &&
                 succeeded(mark(op, y, output, *outer)));
}

/// All tensors that the operation reads and makes have one shape.
LogicalResult Resizer::followSameShape(Operation *op) {
  SmallVector<Value> values = llvm::to_vector(op->getOperands());
  llvm::append_range(values, op->getResults());
  llvm::erase_if(values, [](Value value) {
    return !isa<RankedTensorType>(value.getType());
  });
  for (Value from : values)
    for (auto [dim, outer] : llvm::enumerate(BatchDims(marks.lookup(from))))
      for (Value to : values)
        if (outer && failed(mark(op, to, dim, *outer)))
          return failure();
  return success();
}

LogicalResult Resizer::followPad(tensor::PadOp op) {
  for (auto [from, to] :
       {std::pair(Value(op.getSource()), Value(op.getResult())),
        std::pair(Value(op.getResult()), Value(op.getSource()))})
    for (auto [dim, outer] : llvm::enumerate(BatchDims(marks.lookup(from)))) {
      if (!outer)
        continue;
      if (op.getStaticLow()[dim] != 0 || op.getStaticHigh()[dim] != 0)
        return op.emitOpError("pads the batch, cannot resize it");
      if (failed(mark(op, to, dim, *outer)))
        return failure();
    }
  return success();
}

LogicalResult Resizer::followSlice(tensor::ExtractSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  auto source = op.getSourceType();
  unsigned number = 0;
  for (unsigned dim = 0; dim < source.getRank(); ++dim) {
    std::optional<int64_t> outer = getMark(op.getSource(), dim);
    if (!outer && !dropped.test(dim))
      outer = getMark(op.getResult(), number);
    if (outer) {
      bool isWhole = !dropped.test(dim) && op.getStaticOffsets()[dim] == 0 &&
                     op.getStaticSizes()[dim] == source.getDimSize(dim) &&
                     op.getStaticStrides()[dim] == 1;
      if (!isWhole)
        return op.emitOpError("takes a part of the batch, cannot resize it");
      if (failed(mark(op, op.getSource(), dim, *outer)) ||
          failed(mark(op, op.getResult(), number, *outer)))
        return failure();
    }
    number += !dropped.test(dim);
  }
  return success();
}

/// Whether `value`, computed in a body, depends on a coordinate.
static bool dependsOn(Value value, Block &body,
                      function_ref<bool(Value)> isCoordinate) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (unsigned number = 0; number < values.size(); ++number) {
    if (isCoordinate(values[number]))
      return true;
    Operation *op = values[number].getDefiningOp();
    if (op && op->getBlock() == &body)
      values.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Elements that a body reads for itself: where the position in the batch is
/// the number of a loop's iteration, the loop has the batch. Which row is read
/// may be data; a position that is computed from loops is not followed.
LogicalResult
Resizer::followReads(linalg::GenericOp op,
                     SmallVectorImpl<std::optional<int64_t>> &loops) {
  Block &body = *op.getBody();
  auto isCoordinate = [](Value value) {
    return value.getDefiningOp<linalg::IndexOp>() != nullptr;
  };
  for (auto extract : body.getOps<tensor::ExtractOp>())
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      std::optional<int64_t> outer = getMark(extract.getTensor(), dim);
      if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
        if (outer)
          loops[loop.getDim()] = outer;
        else if (std::optional<int64_t> batch = loops[loop.getDim()])
          if (failed(mark(op, extract.getTensor(), dim, *batch)))
            return failure();
      } else if (outer && dependsOn(index, body, isCoordinate)) {
        return op.emitOpError("computes positions in the batch, cannot resize "
                              "it");
      }
    }
  return success();
}

/// As with linalg; where an update goes to in the batch has to be a coordinate
/// of the point, or be read from data.
LogicalResult Resizer::followScatter(ScatterOp op) {
  SmallVector<std::optional<int64_t>> loops(op.getNumLoops());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [input, map] : llvm::zip(op.getInputs(), maps))
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      std::optional<int64_t> outer = getMark(input, dim);
      if (!outer)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        return op.emitOpError("reads the batch at positions that are not those "
                              "of a loop, cannot resize it");
      loops[loop.getPosition()] = outer;
    }
  Block &body = op.getBody().front();
  auto points = op.getPointArguments();
  OperandRange yielded = body.getTerminator()->getOperands();
  if (failed(tie(op, op.getInit(), op.getResult())))
    return failure();
  for (auto [dim, index] : llvm::enumerate(yielded.drop_back())) {
    auto point = dyn_cast<BlockArgument>(index);
    if (point && point.getArgNumber() < points.size()) {
      if (std::optional<int64_t> outer = getMark(op.getInit(), dim))
        loops[point.getArgNumber()] = outer;
      if (std::optional<int64_t> outer = loops[point.getArgNumber()])
        if (failed(mark(op, op.getInit(), dim, *outer)))
          return failure();
      continue;
    }
    auto isCoordinate = [&, dim = dim](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getOwner() == &body &&
             argument.getArgNumber() < points.size() &&
             (loops[argument.getArgNumber()] || getMark(op.getInit(), dim));
    };
    if (dependsOn(index, body, isCoordinate))
      return op.emitOpError("computes positions in the batch, cannot resize "
                            "it");
  }
  for (auto [input, map] : llvm::zip(op.getInputs(), maps))
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && loops[loop.getPosition()])
        if (failed(mark(op, input, dim, *loops[loop.getPosition()])))
          return failure();
  scattered[op] = std::move(loops);
  return success();
}

/// The dimensions of `a` from `dimOfA` on are those of `b` from `dimOfB` on.
LogicalResult Resizer::tie(Operation *op, Value a, Value b, unsigned dimOfA,
                           unsigned dimOfB) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  if (!type)
    return success();
  for (unsigned dim = dimOfA; dim < type.getRank(); ++dim) {
    unsigned other = dim - dimOfA + dimOfB;
    if (std::optional<int64_t> outer = getMark(a, dim))
      if (failed(mark(op, b, other, *outer)))
        return failure();
    if (std::optional<int64_t> outer = getMark(b, other))
      if (failed(mark(op, a, dim, *outer)))
        return failure();
  }
  return success();
}

/// The function that a loop runs in each iteration.
func::FuncOp Resizer::findBody(LoopOp op) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op,
                                                            op.getBodyAttr());
}

/// The bodies of the loops in `around`, and of those in them.
void Resizer::findBodies(func::FuncOp around) {
  around.walk([&](LoopOp loop) {
    if (func::FuncOp body = findBody(loop); body && bodies.insert(body))
      findBodies(body);
  });
}

/// What the body gets and gives has the dimensions of what the loop does, but
/// for that of the iterations.
LogicalResult Resizer::followLoop(LoopOp op) {
  func::FuncOp body = findBody(op);
  if (!body || op.getAdvance())
    return op.emitOpError("runs what the batch cannot be followed into");
  Block &block = body.front();
  unsigned sliced = op.getInits().size() + op.getInvariants().size();
  for (auto [number, operand] : llvm::enumerate(op.getBodyOperands())) {
    bool isSlice = number >= sliced;
    if (isSlice && getMark(operand, 0))
      return op.emitOpError("has an iteration for each row of the batch, "
                            "cannot resize it");
    if (failed(tie(op, operand, block.getArgument(number), isSlice, 0)))
      return failure();
  }
  OperandRange made = block.getTerminator()->getOperands();
  unsigned carried = op.getInits().size();
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    bool isStack = number >= carried;
    if (isStack && getMark(result, 0))
      return op.emitOpError("has an iteration for each row of the batch, "
                            "cannot resize it");
    if (failed(tie(op, result, made[number], isStack, 0)) ||
        (!isStack && failed(tie(op, op.getInits()[number], result))))
      return failure();
  }
  return followBlock(block);
}

/// A region that yields what the operation gives.
LogicalResult Resizer::followRegion(Operation *op) {
  Block &block = op->getRegion(0).front();
  for (auto [result, yielded] :
       llvm::zip(op->getResults(), block.getTerminator()->getOperands()))
    if (failed(tie(op, result, yielded)))
      return failure();
  return followBlock(block);
}

LogicalResult Resizer::followInsert(tensor::InsertSliceOp op) {
  if (failed(tie(op, op.getDest(), op.getResult())))
    return failure();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  unsigned number = 0;
  for (unsigned dim = 0; dim < op.getDestType().getRank(); ++dim) {
    std::optional<int64_t> outer = getMark(op.getDest(), dim);
    if (!outer && !dropped.test(dim))
      outer = getMark(op.getSource(), number);
    if (outer) {
      bool isWhole =
          !dropped.test(dim) && op.getStaticOffsets()[dim] == 0 &&
          op.getStaticSizes()[dim] == op.getDestType().getDimSize(dim) &&
          op.getStaticStrides()[dim] == 1;
      if (!isWhole)
        return op.emitOpError("writes a part of the batch, cannot resize it");
      if (failed(mark(op, op.getDest(), dim, *outer)) ||
          failed(mark(op, op.getSource(), number, *outer)))
        return failure();
    }
    number += !dropped.test(dim);
  }
  return success();
}

LogicalResult Resizer::followConcat(tensor::ConcatOp op) {
  for (Value input : op.getInputs()) {
    if (getMark(input, op.getDim()) || getMark(op.getResult(), op.getDim()))
      return op.emitOpError("joins parts of the batch, cannot resize it");
    if (failed(tie(op, input, op.getResult())))
      return failure();
  }
  return success();
}

LogicalResult Resizer::follow(Operation *op) {
  if (isa<arith::ConstantOp, tensor::EmptyOp, func::ReturnOp, YieldOp,
          RandomOp>(op))
    return success();
  if (isa<CheckpointOp, ScopeOp>(op))
    return followRegion(op);
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return followScatter(scatter);
  if (auto loop = dyn_cast<LoopOp>(op))
    return followLoop(loop);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return followInsert(insert);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return followConcat(concat);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return followLinalg(linalgOp);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return followGroups(op, expand.getResult(), expand.getSrc(),
                        expand.getReassociationIndices());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return followGroups(op, collapse.getSrc(), collapse.getResult(),
                        collapse.getReassociationIndices());
  if (auto conv = dyn_cast<ConvOp>(op))
    return followConv(conv);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return followPad(pad);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return followSlice(slice);
  if (op->hasTrait<OpTrait::SameOperandsAndResultType>() ||
      op->hasTrait<OpTrait::SameOperandsAndResultShape>() || isa<TagOp>(op))
    return followSameShape(op);
  auto isBatch = [&](Value value) { return isMarked(value); };
  if (llvm::any_of(op->getOperands(), isBatch) ||
      llvm::any_of(op->getResults(), isBatch))
    return op->emitOpError("has a batch that cannot be resized: known are "
                           "operations of linalg, reshapes, slices, pads, "
                           "convolutions, scatters, loops and regions");
  return success();
}

LogicalResult Resizer::followBlock(Block &block) {
  for (Operation &op : block)
    if (failed(follow(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The other size
//===----------------------------------------------------------------------===//

SmallVector<int64_t> Resizer::resize(Value value) const {
  auto shape =
      llvm::to_vector(cast<RankedTensorType>(value.getType()).getShape());
  for (auto [dim, outer] : llvm::enumerate(marks.lookup(value)))
    if (outer)
      shape[dim] = shape[dim] / size * newSize;
  return shape;
}

/// What an operation says of shapes beside the types.
void Resizer::applyTo(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    // What is in it matters to nobody: the function is planned and not run.
    auto type = cast<RankedTensorType>(constant.getType());
    auto elements = cast<ElementsAttr>(constant.getValue());
    Attribute first = type.getNumElements() > 0
                          ? *elements.getValues<Attribute>().begin()
                          : Builder(op).getZeroAttr(type.getElementType());
    auto resized = type.clone(resize(constant.getResult()));
    constant.setValueAttr(DenseElementsAttr::get(resized, first));
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    expand.setStaticOutputShape(resize(expand.getResult()));
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<int64_t> sizes = llvm::to_vector(slice.getStaticSizes());
    SmallVector<int64_t> source = resize(slice.getSource());
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (getMark(slice.getSource(), dim))
        sizes[dim] = source[dim];
    slice.setStaticSizes(sizes);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    SmallVector<int64_t> sizes = llvm::to_vector(insert.getStaticSizes());
    SmallVector<int64_t> dest = resize(insert.getDest());
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (getMark(insert.getDest(), dim))
        sizes[dim] = dest[dim];
    insert.setStaticSizes(sizes);
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    SmallVector<int64_t> sizes = llvm::to_vector(scatter.getSizes());
    for (auto [length, outer] : llvm::zip(sizes, scattered.lookup(op)))
      if (outer)
        length = length / size * newSize;
    scatter.setSizes(sizes);
  }
}

/// The type of a function is that of its block.
static void updateType(func::FuncOp function) {
  Block &block = function.front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
}

void Resizer::apply() {
  auto change = [&](Operation *op) {
    if (llvm::any_of(op->getOperands(),
                     [&](Value value) { return isMarked(value); }) ||
        llvm::any_of(op->getResults(),
                     [&](Value value) { return isMarked(value); }))
      applyTo(op);
  };
  function.walk(change);
  for (func::FuncOp body : bodies)
    body.walk(change);
  for (auto &[value, dims] : marks) {
    auto type = cast<RankedTensorType>(value.getType());
    Value(value).setType(type.clone(resize(value)));
  }
  updateType(function);
  for (func::FuncOp body : bodies)
    updateType(body);
}

LogicalResult Resizer::run(ArrayRef<int64_t> given) {
  if (newSize < 1)
    return function.emitOpError("cannot have a batch of ")
           << newSize << ", expected 1 or more";
  if (failed(findBatch(given)))
    return failure();
  findBodies(function);
  separateConstants();
  for (int64_t number : batch)
    if (failed(mark(function, function.getArgument(number), 0, 1)))
      return failure();
  do {
    hasChanged = false;
    if (failed(followBlock(function.front())))
      return failure();
  } while (hasChanged);
  // Other data may have the batch, too, where it meets what has it.
  for (BlockArgument argument : function.getArguments())
    if (isMarked(argument) && !mayHaveBatch(argument))
      return function.emitOpError("argument #")
             << argument.getArgNumber() << ", a " << argument.getType()
             << ", has the size of the batch, " << size
             << ", in one of its dimensions, but is differentiated by; "
                "expected the batch in arguments #"
             << llvm::interleaved(batch) << " and other data only";
  apply();
  return success();
}

namespace {
struct ResizeBatch : remat::impl::ResizeBatchPassBase<ResizeBatch> {
  using ResizeBatchPassBase::ResizeBatchPassBase;

  void runOnOperation() override {
    auto entry = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!entry || entry.isExternal() || !entry.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '")
          << function << "' of one block to resize the batch of";
      return signalPassFailure();
    }
    SmallVector<int64_t> given(arguments.begin(), arguments.end()),
        differentiated(wrt.begin(), wrt.end());
    if (failed(Resizer(entry, size, differentiated).run(given)))
      signalPassFailure();
  }
};
} // namespace
