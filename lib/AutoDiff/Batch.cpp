//===- Batch.cpp - one computation for many values ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

#include "Emit.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

namespace {
class Batcher {
public:
  Batcher(OpBuilder &builder, int64_t size) : builder(builder), size(size) {}

  /// Emits `op`, batched if it depends on what is.
  LogicalResult emit(Operation &op) {
    Operation *end = &*builder.getInsertionPoint();
    Operation *before = end->getPrevNode();
    if (failed(emitOp(op)))
      return failure();
    // What is made of a backward operation is part of the same computation.
    StringRef phase = RematDialect::backwardAttrName;
    Attribute attr = op.getAttr(phase);
    for (; attr && end->getPrevNode() != before; end = end->getPrevNode())
      end->getPrevNode()->setAttr(phase, attr);
    return success();
  }
  /// `value` as one for all, and with the leading dimension.
  Value getPlain(Value value) { return plain.lookupOrDefault(value); }
  Value getBatched(Value value);

  void setPlain(Value value, Value by) { plain.map(value, by); }
  void setBatched(Value value, Value by) { batched[value] = by; }
  bool isBatched(Value value) const { return batched.contains(value); }

private:
  LogicalResult emitOp(Operation &op);
  LogicalResult emitStructured(linalg::LinalgOp op);
  LogicalResult emitGeneric(linalg::GenericOp op);
  LogicalResult emitScatter(ScatterOp op);
  LogicalResult emitTensorOp(Operation &op);
  LogicalResult emitPad(tensor::PadOp op);
  LogicalResult cloneBody(Block &from, Block &to, unsigned shift,
                          function_ref<Value(OpBuilder &)> getRow);
  RankedTensorType addDim(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape = {size};
    llvm::append_range(shape, tensor.getShape());
    return RankedTensorType::get(shape, tensor.getElementType());
  }
  AffineMap shift(AffineMap map, bool withDim) {
    map = map.shiftDims(1);
    return withDim
               ? map.insertResult(getAffineDimExpr(0, builder.getContext()), 0)
               : map;
  }
  SmallVector<OpFoldResult> prepend(ArrayRef<OpFoldResult> values,
                                    int64_t first) {
    SmallVector<OpFoldResult> result = {builder.getIndexAttr(first)};
    llvm::append_range(result, values);
    return result;
  }
  Value getInit(Value init);

  OpBuilder &builder;
  int64_t size;
  IRMapping plain;
  DenseMap<Value, Value> batched;
};
} // namespace

Value Batcher::getBatched(Value value) {
  if (Value known = batched.lookup(value))
    return known;
  auto type = cast<RankedTensorType>(value.getType());
  Location loc = value.getLoc();
  RankedTensorType wide = addDim(type);
  Value empty = tensor::EmptyOp::create(builder, loc, wide.getShape(),
                                        wide.getElementType());
  unsigned rank = wide.getRank();
  SmallVector<AffineMap> maps = {
      shift(builder.getMultiDimIdentityMap(type.getRank()), false),
      builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(wide), ValueRange(getPlain(value)),
             ValueRange(empty), maps, iterators,
             [](OpBuilder &nested, Location loc, ValueRange args) {
               linalg::YieldOp::create(nested, loc, args[0]);
             })
      .getResult(0);
}

/// What a batched operation starts from in place of `init`.
Value Batcher::getInit(Value init) {
  if (isBatched(init))
    return batched.lookup(init);
  RankedTensorType type = addDim(init.getType());
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (!fill && !init.getDefiningOp<tensor::EmptyOp>())
    return getBatched(init);
  Value empty = tensor::EmptyOp::create(builder, init.getLoc(), type.getShape(),
                                        type.getElementType());
  if (!fill)
    return empty;
  return linalg::FillOp::create(builder, init.getLoc(), getPlain(fill.value()),
                                empty)
      .getResult(0);
}

/// Copies the operations of a body. Its arguments are mapped already.
/// `linalg.index` counts `shift` loops more; elements of batched tensors are
/// read from the row that `getRow` tells.
LogicalResult Batcher::cloneBody(Block &from, Block &to, unsigned shift,
                                 function_ref<Value(OpBuilder &)> getRow) {
  OpBuilder nested(builder.getContext());
  nested.setInsertionPointToEnd(&to);
  for (Operation &op : from) {
    if (op.getNumRegions() != 0)
      return failure();
    if (auto extract = dyn_cast<tensor::ExtractOp>(op);
        extract && isBatched(extract.getTensor())) {
      SmallVector<Value> indices = {getRow(nested)};
      for (Value index : extract.getIndices())
        indices.push_back(getPlain(index));
      setPlain(extract, tensor::ExtractOp::create(
                            nested, op.getLoc(),
                            batched.lookup(extract.getTensor()), indices));
      continue;
    }
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return isBatched(value); }))
      return failure();
    Operation *clone = nested.clone(op, plain);
    if (auto index = dyn_cast<linalg::IndexOp>(clone))
      index.setDim(index.getDim() + shift);
  }
  return success();
}

LogicalResult Batcher::emitGeneric(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics())
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Value> inputs, inits;
  for (auto [number, input] : llvm::enumerate(op.getDpsInputs())) {
    maps[number] = shift(maps[number], isBatched(input));
    inputs.push_back(isBatched(input) ? batched.lookup(input)
                                      : getPlain(input));
  }
  for (auto [number, init] : llvm::enumerate(op.getDpsInits())) {
    AffineMap &map = maps[inputs.size() + number];
    map = shift(map, true);
    inits.push_back(getInit(init));
  }
  SmallVector<utils::IteratorType> iterators = {utils::IteratorType::parallel};
  llvm::append_range(iterators, op.getIteratorTypesArray());
  auto made = linalg::GenericOp::create(builder, op.getLoc(),
                                        ValueRange(inits).getTypes(), inputs,
                                        inits, maps, iterators);
  auto *block = new Block;
  made.getRegion().push_back(block);
  for (BlockArgument argument : op.getBody()->getArguments())
    setPlain(argument,
             block->addArgument(argument.getType(), argument.getLoc()));
  for (auto [from, to] : llvm::zip(op.getResults(), made.getResults()))
    setBatched(from, to);
  return cloneBody(*op.getBody(), *block, 1, [&](OpBuilder &nested) -> Value {
    return linalg::IndexOp::create(nested, op.getLoc(), 0);
  });
}

LogicalResult Batcher::emitStructured(linalg::LinalgOp op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    return emitGeneric(generic);
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation())) {
    if (isBatched(fill.value()))
      return failure();
    setBatched(fill.getResult(0), getInit(fill.getResult(0)));
    return success();
  }
  auto contract = dyn_cast<linalg::ContractOp>(op.getOperation());
  if (!contract)
    return failure();
  SmallVector<AffineMap> maps = contract.getIndexingMapsArray();
  SmallVector<Value> inputs;
  for (auto [number, input] : llvm::enumerate(contract.getInputs())) {
    maps[number] = shift(maps[number], isBatched(input));
    inputs.push_back(isBatched(input) ? batched.lookup(input)
                                      : getPlain(input));
  }
  maps.back() = shift(maps.back(), true);
  Value init = getInit(contract.getOutputs()[0]);
  auto made = linalg::ContractOp::create(
      builder, op.getLoc(), TypeRange(init.getType()), inputs, ValueRange(init),
      builder.getAffineMapArrayAttr(maps));
  made.setCast(contract.getCast());
  setBatched(op->getResult(0), made->getResult(0));
  return success();
}

LogicalResult Batcher::emitScatter(ScatterOp op) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    maps[number] = shift(maps[number], isBatched(input));
    inputs.push_back(isBatched(input) ? batched.lookup(input)
                                      : getPlain(input));
  }
  SmallVector<int64_t> sizes = {size};
  llvm::append_range(sizes, op.getSizes());
  Value init = getInit(op.getInit());
  auto made = ScatterOp::create(
      builder, op.getLoc(), TypeRange(init.getType()), inputs, init,
      builder.getAffineMapArrayAttr(maps), builder.getDenseI64ArrayAttr(sizes),
      op.getMaximumAttr());
  auto *block = new Block;
  made.getBody().push_back(block);
  Value row = block->addArgument(builder.getIndexType(), op.getLoc());
  Block &from = op.getBody().front();
  for (BlockArgument argument : from.getArguments())
    setPlain(argument,
             block->addArgument(argument.getType(), argument.getLoc()));
  setBatched(op.getResult(), made.getResult());
  if (failed(cloneBody(from, *block, 0, [&](OpBuilder &) { return row; })))
    return failure();
  block->getTerminator()->insertOperands(0, row);
  return success();
}

LogicalResult Batcher::emitPad(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  if (!padding || !op.getResultType().hasStaticShape())
    return failure();
  Value made = tensor::PadOp::create(
      builder, op.getLoc(), addDim(op.getResultType()),
      getBatched(op.getSource()), prepend(op.getMixedLowPad(), 0),
      prepend(op.getMixedHighPad(), 0), getPlain(padding));
  setBatched(op.getResult(), made);
  return success();
}

/// Operations that move elements, and elementwise ones.
LogicalResult Batcher::emitTensorOp(Operation &op) {
  Location loc = op.getLoc();
  if (op.getNumResults() != 1 || !isa<RankedTensorType>(op.getResultTypes()[0]))
    return failure();
  RankedTensorType type = addDim(op.getResultTypes()[0]);
  auto reassociate = [](ArrayRef<ReassociationIndices> groups) {
    SmallVector<ReassociationIndices> result = {{0}};
    for (const ReassociationIndices &group : groups) {
      result.emplace_back();
      for (int64_t dim : group)
        result.back().push_back(dim + 1);
    }
    return result;
  };
  Value made;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    SmallVector<ReassociationIndices> groups =
        reassociate(expand.getReassociationIndices());
    // Dimensions that come of none belong to the new one.
    if (expand.getSrcType().getRank() == 0)
      for (int64_t dim = 1; dim < type.getRank(); ++dim)
        groups[0].push_back(dim);
    made = tensor::ExpandShapeOp::create(builder, loc, type,
                                         getBatched(expand.getSrc()), groups);
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    SmallVector<ReassociationIndices> groups =
        reassociate(collapse.getReassociationIndices());
    if (type.getRank() == 1)
      for (int64_t dim = 1; dim <= collapse.getSrcType().getRank(); ++dim)
        groups[0].push_back(dim);
    made = tensor::CollapseShapeOp::create(
        builder, loc, type, getBatched(collapse.getSrc()), groups);
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (!slice.getOffsets().empty() || !slice.getSizes().empty())
      return failure();
    made = tensor::ExtractSliceOp::create(builder, loc, type,
                                          getBatched(slice.getSource()),
                                          prepend(slice.getMixedOffsets(), 0),
                                          prepend(slice.getMixedSizes(), size),
                                          prepend(slice.getMixedStrides(), 1));
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    if (!insert.getOffsets().empty() || !insert.getSizes().empty())
      return failure();
    made = tensor::InsertSliceOp::create(
        builder, loc, getBatched(insert.getSource()), getInit(insert.getDest()),
        prepend(insert.getMixedOffsets(), 0),
        prepend(insert.getMixedSizes(), size),
        prepend(insert.getMixedStrides(), 1));
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    SmallVector<Value> inputs;
    for (Value input : concat.getInputs())
      inputs.push_back(getBatched(input));
    made = tensor::ConcatOp::create(builder, loc, concat.getDim() + 1, inputs);
  } else if (op.hasTrait<OpTrait::Elementwise>() ||
             isa<TagOp, StopGradientOp>(op)) {
    OperationState state(loc, op.getName());
    for (Value operand : op.getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        return failure();
      state.operands.push_back(getBatched(operand));
    }
    state.attributes = op.getAttrs();
    state.types.push_back(type);
    made = builder.create(state)->getResult(0);
  } else {
    return failure();
  }
  setBatched(op.getResult(0), made);
  return success();
}

LogicalResult Batcher::emitOp(Operation &op) {
  llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), used);
  if (llvm::none_of(used, [&](Value value) { return isBatched(value); })) {
    builder.clone(op, plain);
    return success();
  }
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return emitStructured(structured);
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return emitScatter(scatter);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return emitPad(pad);
  return emitTensorOp(op);
}

/// Writes named operations that depend on the arguments from `first` on as
/// generic ones.
static void generalize(func::FuncOp function, unsigned first) {
  DenseSet<Value> batched;
  for (BlockArgument argument : function.getArguments().drop_front(first))
    batched.insert(argument);
  IRRewriter rewriter(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), used);
    if (llvm::none_of(used,
                      [&](Value value) { return batched.contains(value); }))
      continue;
    auto named = dyn_cast<linalg::LinalgOp>(op);
    Operation *made = &op;
    if (named &&
        !isa<linalg::GenericOp, linalg::ContractOp, linalg::FillOp>(op)) {
      rewriter.setInsertionPoint(&op);
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, named);
      if (succeeded(generic))
        made = *generic;
    }
    batched.insert(made->result_begin(), made->result_end());
  }
}

FailureOr<SmallVector<Value>>
remat::inlineBatched(OpBuilder &builder, func::FuncOp function,
                     ValueRange arguments, unsigned firstBatched,
                     unsigned firstBatchedResult, int64_t size) {
  generalize(function, firstBatched);
  Batcher batcher(builder, size);
  for (auto [number, argument] : llvm::enumerate(function.getArguments()))
    if (number < firstBatched)
      batcher.setPlain(argument, arguments[number]);
    else
      batcher.setBatched(argument, arguments[number]);
  Operation *end = &*builder.getInsertionPoint();
  Operation *before = end->getPrevNode();
  SmallVector<Value> results;
  auto run = [&]() -> LogicalResult {
    for (Operation &op : function.front().without_terminator())
      if (failed(batcher.emit(op)))
        return failure();
    Operation *terminator = function.front().getTerminator();
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      if (number < firstBatchedResult && batcher.isBatched(value))
        return failure();
      results.push_back(number < firstBatchedResult
                            ? batcher.getPlain(value)
                            : batcher.getBatched(value));
    }
    return success();
  };
  if (succeeded(run()))
    return results;
  // What was made is used by nothing but what was made after it.
  while (end->getPrevNode() != before)
    end->getPrevNode()->erase();
  return failure();
}
