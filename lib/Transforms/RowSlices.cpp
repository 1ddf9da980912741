//===- RowSlices.cpp - a contraction and what reads it, in slices ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchRows.h"
#include "ElementwiseSums.h"
#include "RowSlicer.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

static void collapseToRank1(OpBuilder &builder, Location loc, Value &value) {
  auto type = cast<RankedTensorType>(value.getType());
  ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
  if (type.getRank() != 1)
    value = tensor::CollapseShapeOp::create(
        builder, loc, value, ArrayRef<ReassociationIndices>(all));
}

/// `value` as a tensor of shape `shape`, with as many elements.
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  collapseToRank1(builder, loc, value);
  if (shape.size() == 1)
    return value;
  ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(shape.size())));
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      ArrayRef<ReassociationIndices>(all));
}

SmallVector<int64_t> RowSlicer::getRowSizes(Operation *op) {
  SmallVector<int64_t> sizes = getLoopSizes(cast<linalg::LinalgOp>(op));
  return llvm::map_to_vector(members[op],
                             [&](int64_t loop) { return sizes[loop]; });
}

/// `count` rows from row `start` on, in dimensions of `sizes`; nothing if they
/// are no box.
static std::optional<Slab> getSlab(ArrayRef<int64_t> sizes, int64_t start,
                                   int64_t count) {
  Slab slab;
  while (!sizes.empty()) {
    int64_t inner = 1;
    for (int64_t size : sizes.drop_front())
      inner *= size;
    slab.offsets.push_back(start / inner);
    start %= inner;
    if (start == 0 && count % inner == 0) {
      slab.sizes.push_back(count / inner);
      count = inner;
    } else if (start + count <= inner) {
      slab.sizes.push_back(1);
    } else {
      return std::nullopt;
    }
    sizes = sizes.drop_front();
  }
  return slab;
}

/// The leading dimensions of a shape that make up the rows.
static ArrayRef<int64_t> getRowShape(ArrayRef<int64_t> shape, int64_t rows) {
  unsigned rank = 0;
  for (int64_t points = 1; points != rows; ++rank)
    points *= shape[rank];
  return shape.take_front(rank);
}

bool RowSlicer::chooseSlices() {
  // Wherever rows are taken apart: loops of members, and what they read.
  SetVector<ArrayAttr> shapes;
  auto add = [&](ArrayRef<int64_t> shape) {
    shapes.insert(builder.getI64ArrayAttr(shape));
  };
  for (Operation *op : llvm::make_first_range(members)) {
    add(getRowSizes(op));
    for (Value value : getReadValues(op)) {
      Operation *source = getSource(value);
      if (source && members.contains(source))
        add(getRowShape(cast<RankedTensorType>(value.getType()).getShape(),
                        rows));
    }
  }
  auto fits = [&] {
    for (int64_t slice = 0; slice < slices; ++slice)
      for (ArrayAttr shape : shapes) {
        auto sizes =
            llvm::map_to_vector(shape.getAsRange<IntegerAttr>(),
                                [](IntegerAttr size) { return size.getInt(); });
        int64_t start = getStart(slice);
        if (!getSlab(sizes, start, getStart(slice + 1) - start))
          return false;
      }
    return true;
  };
  // Long sums are more exact than short ones: rather larger slices than
  // smaller.
  int64_t wished =
      std::clamp<int64_t>(rows / sliceRows, 2, SliceTuning::maxSlices);
  for (slices = wished; slices >= 2; --slices)
    if (fits())
      return true;
  int64_t most = std::min(rows / scale(target.getMinSliceRows()),
                          SliceTuning::maxBatchSlices);
  for (slices = wished + 1; slices <= most; ++slices)
    if (fits())
      return true;
  return false;
}

static bool isNarrow(Value value) {
  Type element = getElementTypeOrSelf(value);
  return element.isF16() || element.isBF16();
}

/// Whether what is cut out and put together again, and the wider halves of sums
/// that add up in f32, are little beside what is never there as a whole: the
/// contraction, or in phases all that is wide.
bool RowSlicer::isWorthwhile() {
  int64_t copied = 0, spared = 0;
  for (Operation *op : llvm::make_first_range(members)) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    for (OpOperand *input : linalgOp.getDpsInputOperands()) {
      Operation *source = getSource(input->get());
      AffineMap map = linalgOp.getMatchingIndexingMap(input);
      if (!(source && members.contains(source)) &&
          llvm::any_of(members[op],
                       [&](int64_t loop) { return map.isFunctionOfDim(loop); }))
        copied += getBufferBytes(input->get());
    }
    for (Value result : op->getResults()) {
      if (!sums.contains(op))
        (isWide(result) ? spared : copied) += getBufferBytes(result);
      else if (isNarrow(result))
        copied += getBufferBytes(result);
    }
  }
  return 2 * copied <= (inPhases ? spared : wideBytes);
}

/// The part of `value` that the slice of `op` reads through `map`.
Value RowSlicer::getPart(Value value, AffineMap map, Operation *op,
                         const Slab &slab) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> sizes(type.getShape());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  bool any = false;
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    for (auto [j, loop] : llvm::enumerate(members[op]))
      if (expr == builder.getAffineDimExpr(loop)) {
        offsets[i] = builder.getIndexAttr(slab.offsets[j]);
        sizes[i] = slab.sizes[j];
        any = true;
      }
  if (!any)
    return value;
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat()) {
    RankedTensorType part = type.clone(sizes);
    return arith::ConstantOp::create(builder, op->getLoc(), part,
                                     elements.resizeSplat(part));
  }
  Operation *maker = value.getDefiningOp();
  if (isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(maker)) {
    Value part = tensor::EmptyOp::create(builder, op->getLoc(), sizes,
                                         type.getElementType());
    if (auto fill = dyn_cast<linalg::FillOp>(maker))
      part = linalg::FillOp::create(builder, op->getLoc(), fill.value(), part)
                 .getResult(0);
    return part;
  }
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      builder, op->getLoc(), value, offsets,
      getAsIndexOpFoldResult(builder.getContext(), sizes), strides);
}

/// What `slice` has made of `value`, a member's result in any shape; null if it
/// is none.
Value RowSlicer::getChunk(Value value, int64_t slice) {
  Value root = getRoot(value);
  auto made = parts.find(root);
  if (made == parts.end() || sums.contains(root.getDefiningOp()))
    return {};
  Value chunk = made->second[slice];
  int64_t count = getStart(slice + 1) - getStart(slice);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  ArrayRef<int64_t> rowShape = getRowShape(shape, rows);
  // Any slab of so many rows has this shape.
  SmallVector<int64_t> mine = getSlab(rowShape, 0, count)->sizes;
  llvm::append_range(mine, shape.drop_front(rowShape.size()));
  return reshape(builder, value.getLoc(), chunk, mine);
}

/// A body that asks for its row gets that of the whole, unless to find elements
/// of what is there a slice at a time.
void RowSlicer::shiftIndices(Operation *op, Operation *clone, int64_t slice,
                             const Slab &slab) {
  SmallPtrSet<OpOperand *, 4> local;
  builder.setInsertionPoint(clone);
  clone->walk([&](tensor::ExtractOp extract) {
    Value chunk = getChunk(extract.getTensor(), slice);
    if (!chunk)
      return;
    extract.getTensorMutable().assign(chunk);
    for (OpOperand &row :
         extract.getIndicesMutable().slice(0, slab.sizes.size()))
      local.insert(&row);
  });
  OpBuilder::InsertionGuard guard(builder);
  for (auto index :
       llvm::to_vector(clone->getRegion(0).front().getOps<linalg::IndexOp>()))
    for (auto [loop, offset] : llvm::zip(members[op], slab.offsets)) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : index->getUses())
        if (!local.contains(&use))
          uses.push_back(&use);
      if (static_cast<int64_t>(index.getDim()) != loop || offset == 0 ||
          uses.empty())
        continue;
      builder.setInsertionPointAfter(index);
      Value shift =
          arith::ConstantIndexOp::create(builder, op->getLoc(), offset);
      Value row = arith::AddIOp::create(builder, op->getLoc(), index, shift);
      for (OpOperand *use : uses)
        use->set(row);
    }
}

/// The product `op` of other operands, which adds up in f32.
Operation *RowSlicer::cloneWidened(Operation *op, ArrayRef<Value> operands) {
  auto product = cast<linalg::ContractOp>(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType())
                  .clone(builder.getF32Type());
  Value begin = operands.back();
  if (begin.getType() != type)
    begin = createZeros(builder, op->getLoc(), type);
  return linalg::ContractOp::create(builder, op->getLoc(), TypeRange{type},
                                    operands.drop_back(), begin,
                                    product.getIndexingMaps());
}

/// `sum` in the type that the program gives it, rounded once.
Value RowSlicer::narrow(Value sum, RankedTensorType type) {
  if (sum.getType() == type)
    return sum;
  return createElementwise(
      builder, sum.getLoc(), sum, type,
      [&](OpBuilder &body, Location loc, ValueRange elements) -> Value {
        return arith::TruncFOp::create(body, loc, type.getElementType(),
                                       elements.front());
      });
}

void RowSlicer::clone(Operation *op, int64_t slice) {
  int64_t start = getStart(slice), count = getStart(slice + 1) - start;
  Slab slab = *getSlab(getRowSizes(op), start, count);
  auto linalgOp = cast<linalg::LinalgOp>(op);
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    Value begin;
    if (sums.contains(op) && linalgOp.isDpsInit(&operand)) {
      OpResult result = linalgOp.getTiedOpResult(&operand);
      begin = slice == 0 ? begins.lookup(result) : parts[result].back();
    }
    if (begin)
      value = begin;
    else if (Value chunk = getChunk(value, slice))
      value = chunk;
    else
      value =
          getPart(value, linalgOp.getMatchingIndexingMap(&operand), op, slab);
    operands.push_back(value);
  }
  if (sums.contains(op) && isNarrow(op->getResult(0))) {
    Operation *clone = cloneWidened(op, operands);
    parts[op->getResult(0)].push_back(clone->getResult(0));
    return;
  }
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (OpResult result : clone->getResults())
    result.setType(cast<linalg::LinalgOp>(clone)
                       .getDpsInitOperand(result.getResultNumber())
                       ->get()
                       .getType());
  shiftIndices(op, clone, slice, slab);
  builder.setInsertionPointAfter(clone);
  for (auto [result, part] : llvm::zip(op->getResults(), clone->getResults()))
    parts[result].push_back(part);
}

/// All rows of a member's result.
Value RowSlicer::concatenate(OpResult result) {
  ArrayRef<Value> pieces = parts[result];
  auto type = cast<RankedTensorType>(result.getType());
  if (sums.contains(result.getOwner()))
    return narrow(pieces.back(), type);
  ArrayRef<int64_t> rowShape = getRowShape(type.getShape(), rows);
  SmallVector<Value> flat;
  for (auto [slice, piece] : llvm::enumerate(pieces)) {
    SmallVector<int64_t> shape = {getStart(slice + 1) - getStart(slice)};
    llvm::append_range(shape, type.getShape().drop_front(rowShape.size()));
    flat.push_back(reshape(builder, result.getLoc(), piece, shape));
  }
  Value all = tensor::ConcatOp::create(builder, result.getLoc(), 0, flat);
  return reshape(builder, result.getLoc(), all, type.getShape());
}

static void eraseDeadAliases(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    eraseDeadAliases(user->getResult(0));
    user->erase();
  }
}

/// Where sums over the rows are only added to another value, they begin with
/// it: otherwise they would be there beside it until the last slice is done.
void RowSlicer::findBegins(const Phase &phase) {
  for (Operation *op : phase.sorted) {
    if (!sums.contains(op))
      continue;
    auto linalgOp = cast<linalg::LinalgOp>(op);
    for (OpResult sum : op->getResults()) {
      unsigned number = sum.getResultNumber();
      auto addition = sum.hasOneUse()
                          ? dyn_cast<linalg::GenericOp>(*sum.user_begin())
                          : linalg::GenericOp();
      Operation *combiner = findReducer(linalgOp, number);
      if (!addition || !isElementwiseSum(addition) || !combiner ||
          combiner->getName() != addition.getBody()->front().getName() ||
          addition->hasAttr(RematDialect::policyAttrName) || isNarrow(sum) ||
          !isZeroTensor(linalgOp.getDpsInitOperand(number)->get()))
        continue;
      Value other = addition->getOperand(addition->getOperand(0) == sum);
      Operation *maker = other.getDefiningOp();
      if (other == sum || isCallersSum(other) || additions.contains(addition) ||
          (maker && !maker->isBeforeInBlock(phase.sorted.front())))
        continue;
      begins[sum] = other;
      additions[addition] = sum;
    }
  }
}

/// Makes all slices of a phase behind the last of its members.
void RowSlicer::slice(Phase &phase) {
  builder.setInsertionPoint(phase.end);
  for (int64_t slice = 0; slice < slices; ++slice)
    for (Operation *op : phase.sorted)
      clone(op, slice);
}

/// Puts together what is read by others than members.
void RowSlicer::concatenateRead(const Phase &phase) {
  builder.setInsertionPoint(phase.end);
  for (Operation *op : phase.sorted)
    for (OpResult result : op->getResults()) {
      bool outside = false;
      forEachReader(result, [&](Operation *reader) {
        outside |= !members.contains(body.findAncestorOpInBlock(*reader));
      });
      if (outside)
        result.replaceAllUsesWith(concatenate(result));
    }
}

void RowSlicer::replace() {
  for (auto &[number, phase] : phases) {
    findBegins(phase);
    slice(phase);
  }
  // All slices are there: what is put together is for others.
  StringRef name = RematDialect::backwardAttrName;
  for (auto &[number, phase] : phases) {
    concatenateRead(phase);
    if (unsigned level = getHighestMark(phase)) {
      Attribute mark = getBackwardMark(builder.getContext(), level);
      for (Operation *op = phase.sorted.back()->getNextNode(); op != phase.end;
           op = op->getNextNode())
        op->setAttr(name, mark);
      for (Operation *op : forward)
        op->setAttr(name, mark);
    }
    for (Operation *op : phase.behind)
      op->moveBefore(phase.end);
  }
  for (auto &[addition, sum] : additions) {
    addition->getResult(0).replaceAllUsesWith(parts[sum].back());
    addition->erase();
  }
  for (auto &[number, phase] : llvm::reverse(phases))
    for (Operation *op : llvm::reverse(phase.sorted)) {
      for (Value result : op->getResults())
        eraseDeadAliases(result);
      op->erase();
    }
}
