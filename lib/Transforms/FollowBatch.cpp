//===- FollowBatch.cpp - which dimensions have the batch ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of one tensor of an operation, others have, too.
//
//===----------------------------------------------------------------------===//

#include "BatchResizer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace remat;

/// Notes that a dimension has the batch behind `outer` as a factor.
LogicalResult BatchResizer::mark(Operation *op, Value value, unsigned dim,
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

LogicalResult BatchResizer::followLinalg(linalg::LinalgOp op) {
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
LogicalResult
BatchResizer::followGroups(Operation *op, Value wide, Value narrow,
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
LogicalResult BatchResizer::followConv(ConvOp op) {
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
LogicalResult BatchResizer::followSameShape(Operation *op) {
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

LogicalResult BatchResizer::followPad(tensor::PadOp op) {
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

LogicalResult BatchResizer::followSlice(tensor::ExtractSliceOp op) {
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
BatchResizer::followReads(linalg::GenericOp op,
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
LogicalResult BatchResizer::followScatter(ScatterOp op) {
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
LogicalResult BatchResizer::tie(Operation *op, Value a, Value b,
                                unsigned dimOfA, unsigned dimOfB) {
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
func::FuncOp BatchResizer::findBody(LoopOp op) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op,
                                                            op.getBodyAttr());
}

/// The bodies of the loops in `around`, and of those in them.
void BatchResizer::findBodies(func::FuncOp around) {
  around.walk([&](LoopOp loop) {
    if (func::FuncOp body = findBody(loop); body && bodies.insert(body))
      findBodies(body);
  });
}

/// What the body gets and gives has the dimensions of what the loop does, but
/// for that of the iterations.
LogicalResult BatchResizer::followLoop(LoopOp op) {
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
LogicalResult BatchResizer::followRegion(Operation *op) {
  Block &block = op->getRegion(0).front();
  for (auto [result, yielded] :
       llvm::zip(op->getResults(), block.getTerminator()->getOperands()))
    if (failed(tie(op, result, yielded)))
      return failure();
  return followBlock(block);
}

LogicalResult BatchResizer::followInsert(tensor::InsertSliceOp op) {
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

LogicalResult BatchResizer::followConcat(tensor::ConcatOp op) {
  for (Value input : op.getInputs()) {
    if (getMark(input, op.getDim()) || getMark(op.getResult(), op.getDim()))
      return op.emitOpError("joins parts of the batch, cannot resize it");
    if (failed(tie(op, input, op.getResult())))
      return failure();
  }
  return success();
}

LogicalResult BatchResizer::follow(Operation *op) {
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

LogicalResult BatchResizer::followBlock(Block &block) {
  for (Operation &op : block)
    if (failed(follow(&op)))
      return failure();
  return success();
}
