//===- PartBody.cpp - what a loop does with a part of a batch -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartBody.h"

#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/ReductionOrder.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace remat;

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

/// The rows of a part of `value`, which has them at `place`, or would.
Value PartBody::getRows(Value value, RowPlace place) {
  if (!rows.getPlace(value)) {
    std::tuple key(value, place.dim, place.runs);
    if (Value known = made.lookup(key))
      return known;
    Value part = makeRows(value, place);
    made[key] = part;
    return part;
  }
  if (Value known = mapping.lookupOrNull(value))
    return known;
  mapping.map(value, addArgument(value, sliced,
                                 rows.getPartType(value.getType(), place.dim)));
  return mapping.lookup(value);
}

/// The rows of a part of `value`, which is free to have as many.
Value PartBody::makeRows(Value value, RowPlace place) {
  RankedTensorType type = rows.getPartType(value.getType(), place.dim);
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
  RowDims dims = *relateRows(op, {/*isResult=*/true, number, place});
  return clonePart(op, dims)->getResult(number);
}

/// What changes no result of a reduction, to begin that of a part with.
Value PartBody::createNeutral(OpResult total) {
  auto type = cast<RankedTensorType>(total.getType());
  auto op = dyn_cast<linalg::LinalgOp>(total.getOwner());
  Operation *combiner = op ? findReducer(op, total.getResultNumber()) : nullptr;
  if (!op || isa<complex::AddOp>(combiner))
    return createZeros(builder, total.getLoc(), type);
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  // Of sums 0.0, which passes that look for a sum's beginning know.
  TypedAttr neutral = isa<arith::AddFOp>(combiner)
                          ? builder.getZeroAttr(type.getElementType())
                          : *getNeutralElement(combiner);
  Value start = arith::ConstantOp::create(builder, op.getLoc(), neutral);
  return linalg::FillOp::create(builder, op.getLoc(), start, empty)
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
                            const RowDims &dims) {
  SmallVector<tensor::ExtractOp> extracts =
      collectOps<tensor::ExtractOp>(clone);
  SmallPtrSet<OpOperand *, 4> local;
  unsigned next = 0;
  op->walk([&](tensor::ExtractOp extract) {
    tensor::ExtractOp mine = extracts[next++];
    if (std::optional<RowPlace> place = rows.getPlace(extract.getTensor()))
      local.insert(&mine.getIndicesMutable()[place->dim]);
  });
  // Rows of a part in each run.
  int64_t count = getLoopSizes(clone)[*dims.loop] / dims.runs;
  for (auto index :
       llvm::to_vector(clone.getBlock()->getOps<linalg::IndexOp>())) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : index->getUses())
      if (!local.contains(&use))
        uses.push_back(&use);
    if (index.getDim() != *dims.loop || uses.empty())
      continue;
    Value tensor = getNumber();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(index);
    Value part = arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        tensor::ExtractOp::create(builder, loc, tensor));
    Value size = arith::ConstantIndexOp::create(builder, loc, count);
    Value before = arith::MulIOp::create(builder, loc, part, size);
    Value whole = arith::AddIOp::create(builder, loc, index, before);
    if (dims.runs != 1) {
      // What other parts have of the runs in front.
      Value run = arith::DivUIOp::create(builder, loc, index, size);
      Value others =
          arith::ConstantIndexOp::create(builder, loc, count * (parts - 1));
      whole = arith::AddIOp::create(
          builder, loc, whole,
          arith::MulIOp::create(builder, loc, run, others));
    }
    for (OpOperand *use : uses)
      use->set(whole);
  }
}

Operation *PartBody::clonePart(Operation *op, const RowDims &dims) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  SmallVector<Value> operands;
  for (auto [operand, place] : llvm::zip(op->getOpOperands(), dims.operands)) {
    Value value = operand.get();
    if (place)
      operands.push_back(getRows(value, *place));
    else if (dims.isReduced && destination && destination.isDpsInit(&operand))
      operands.push_back(createNeutral(destination.getTiedOpResult(&operand)));
    else
      operands.push_back(getWhole(value));
  }
  // What regions read from outside.
  IRMapping captured;
  for (Region &region : op->getRegions())
    visitUsedValuesDefinedAbove(region, [&](OpOperand *use) {
      Value value = use->get();
      std::optional<RowPlace> place = rows.getPlace(value);
      captured.map(value, place ? getRows(value, *place) : getWhole(value));
    });
  Operation *clone = builder.clone(*op, captured);
  clone->setOperands(operands);
  for (auto [result, place] : llvm::zip(clone->getResults(), dims.results))
    if (place)
      result.setType(rows.getPartType(result.getType(), place->dim));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(clone)) {
    expand.setStaticOutputShape(expand.getResultType().getShape());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(clone)) {
    SmallVector<int64_t> sizes = llvm::to_vector(slice.getStaticSizes());
    sizes[dims.operands[0]->dim] /= parts;
    slice.setStaticSizes(sizes);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(clone)) {
    SmallVector<int64_t> sizes = llvm::to_vector(insert.getStaticSizes());
    sizes[dims.results[0]->dim] /= parts;
    insert.setStaticSizes(sizes);
  } else if (auto scatter = dyn_cast<ScatterOp>(clone)) {
    SmallVector<int64_t> sizes = llvm::to_vector(scatter.getSizes());
    sizes[*dims.loop] /= parts;
    scatter.setSizes(sizes);
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(clone)) {
    OpBuilder::InsertionGuard guard(builder);
    shiftIndices(op, structured, dims);
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
