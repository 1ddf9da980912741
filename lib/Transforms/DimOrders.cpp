//===- DimOrders.cpp - orders of dimensions that belong together ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of two tensors belong together if the same loop walks both, and
// tensors if all of their dimensions do.
//
//===----------------------------------------------------------------------===//

#include "PermuteDims.h"

#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace remat;

static RankedTensorType getTensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

RankedTensorType remat::permuteType(RankedTensorType type,
                                    ArrayRef<int64_t> order) {
  return RankedTensorType::get(applyPermutation(type.getShape(), order),
                               type.getElementType(), type.getEncoding());
}

DimOrder remat::getChannelsLast(ArrayRef<int64_t> layout) {
  DimOrder order = {layout[0]};
  llvm::append_range(order, layout.drop_front(2));
  order.push_back(layout[1]);
  return order;
}

//===----------------------------------------------------------------------===//
// What can follow
//===----------------------------------------------------------------------===//

DenseElementsAttr remat::getSplat(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}

bool remat::isOrderFree(Value value) {
  return isa_and_present<tensor::EmptyOp, linalg::FillOp>(
             value.getDefiningOp()) ||
         getSplat(value);
}

/// Whether all loops of a contraction walk both factors.
static bool isDotProduct(linalg::LinalgOp op) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *factor) {
    return op.getMatchingIndexingMap(factor).isPermutation();
  });
}

static bool isStructured(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      isa<linalg::FillOp, linalg::ContractOp>(op))
    return false;
  // Contractions are for the library, which wants its operands as they are, but
  // for dot products: these are generated code.
  return linalgOp.getNumReductionLoops() == 0 ||
         !isContractionBody(op->getRegion(0).front()) || isDotProduct(linalgOp);
}

bool remat::canFollowOrder(Operation *op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return static_cast<bool>(pad.getConstantPaddingValue());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSourceType().getRank() == slice.getType().getRank();
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return slice.getSourceType().getRank() == slice.getType().getRank();
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return static_cast<bool>(scatter.getResult());
  return isa<ConvOp, TagOp, StopGradientOp, tensor::ConcatOp>(op) ||
         isStructured(op);
}

//===----------------------------------------------------------------------===//
// Ties
//===----------------------------------------------------------------------===//

namespace {
/// For each dimension of an operand or result, the loops that move in it.
struct Frame {
  Value value;
  SmallVector<llvm::SmallBitVector> loops;
};
} // namespace

static Frame makeFrame(Value value, AffineMap map) {
  Frame frame = {value, {}};
  for (AffineExpr expr : map.getResults()) {
    llvm::SmallBitVector loops(map.getNumDims());
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      if (expr.isFunctionOfDim(loop))
        loops.set(loop);
    frame.loops.push_back(loops);
  }
  return frame;
}

/// The coordinates that `value`, of a scatter's body, depends on.
static void addCoordinates(Value value, ScatterOp op,
                           llvm::SmallBitVector &loops) {
  Block *body = &op.getBody().front();
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(values[i])) {
      if (argument.getOwner() == body &&
          argument.getArgNumber() < op.getNumLoops())
        loops.set(argument.getArgNumber());
      continue;
    }
    Operation *source = values[i].getDefiningOp();
    if (source->getBlock() == body)
      values.insert_range(source->getOperands());
  }
}

/// Ties values whose dimensions are walked by the same loops.
static void tieFrames(ArrayRef<Frame> frames,
                      function_ref<void(Value, Value)> tie) {
  for (unsigned i = 0; i < frames.size(); ++i)
    for (unsigned j = i + 1; j < frames.size(); ++j)
      if (frames[i].loops.size() > 1 &&
          frames[i].loops.size() == frames[j].loops.size() &&
          llvm::all_of_zip(
              frames[i].loops, frames[j].loops,
              [](const llvm::SmallBitVector &a, const llvm::SmallBitVector &b) {
                return a.anyCommon(b);
              }))
        tie(frames[i].value, frames[j].value);
}

void remat::forEachTie(Operation *op, function_ref<void(Value, Value)> tie) {
  auto tieUnlessFree = [&](Value a, Value b) {
    if (a != b && !isOrderFree(a) && !isOrderFree(b))
      tie(a, b);
  };
  SmallVector<Frame> frames;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (getTensorType(operand.get()) && !isOrderFree(operand.get()))
        frames.push_back(makeFrame(operand.get(),
                                   linalgOp.getMatchingIndexingMap(&operand)));
    for (OpOperand &init : linalgOp.getDpsInitsMutable()) {
      OpResult result = linalgOp.getTiedOpResult(&init);
      frames.push_back(
          makeFrame(result, linalgOp.getMatchingIndexingMap(&init)));
      tieUnlessFree(init.get(), result);
    }
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    for (auto [input, map] :
         llvm::zip(scatter.getInputs(), scatter.getIndexingMapsArray()))
      if (!isOrderFree(input))
        frames.push_back(makeFrame(input, map));
    Frame result = {scatter.getResult(), {}};
    for (Value index :
         scatter.getBody().front().getTerminator()->getOperands().drop_back()) {
      result.loops.emplace_back(scatter.getNumLoops());
      addCoordinates(index, scatter, result.loops.back());
    }
    frames.push_back(result);
    tieUnlessFree(scatter.getInit(), scatter.getResult());
  } else if (!isa<ConvOp>(op)) {
    // Slices and the like: all of the same rank.
    Value result = op->getResult(0);
    for (Value operand : op->getOperands())
      if (getTensorType(operand))
        tieUnlessFree(operand, result);
  }
  tieFrames(frames, tieUnlessFree);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The dimensions of a tensor that are not 1, in the given order.
static DimOrder dropUnits(RankedTensorType type, ArrayRef<int64_t> order) {
  return llvm::filter_to_vector(
      order, [&](int64_t dim) { return type.getDimSize(dim) != 1; });
}

bool remat::isSameOrder(RankedTensorType type, ArrayRef<int64_t> a,
                        ArrayRef<int64_t> b) {
  return dropUnits(type, a) == dropUnits(type, b);
}

std::optional<DimOrder> remat::orderThroughView(Operation *view, Value known,
                                                ArrayRef<int64_t> order) {
  auto expand = dyn_cast<tensor::ExpandShapeOp>(view);
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(view);
  if (!expand && !collapse)
    return std::nullopt;
  SmallVector<ReassociationIndices> groups =
      expand ? expand.getReassociationIndices()
             : collapse.getReassociationIndices();
  Value large = expand ? view->getResult(0) : view->getOperand(0);
  DimOrder other;
  if (known != large) {
    for (int64_t dim : order)
      llvm::append_range(other, groups[dim]);
    return other;
  }
  // Dimensions that are one in the smaller tensor must stay side by side.
  RankedTensorType type = getTensorType(large);
  DimOrder units = dropUnits(type, order);
  SmallVector<std::pair<int64_t, int64_t>> places;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    int64_t place = -1;
    DimOrder parts = dropUnits(type, group);
    for (auto [i, part] : llvm::enumerate(parts)) {
      int64_t at = llvm::find(units, part) - units.begin();
      if (i != 0 && at != place + static_cast<int64_t>(i))
        return std::nullopt;
      if (i == 0)
        place = at;
    }
    places.push_back({place, static_cast<int64_t>(dim)});
  }
  llvm::sort(places);
  for (auto [place, dim] : places)
    other.push_back(dim);
  return other;
}

std::optional<SmallVector<ReassociationIndices>>
remat::getNewGroups(Operation *view, const DimOrders &orders) {
  Value sides[] = {view->getOperand(0), view->getResult(0)};
  RankedTensorType types[2];
  for (unsigned i = 0; i < 2; ++i) {
    auto found = orders.find(sides[i]);
    if (found == orders.end())
      return std::nullopt;
    types[i] = permuteType(getTensorType(sides[i]), found->second);
  }
  return getReassociationIndicesForReshape(types[0], types[1]);
}

bool remat::followsOrders(Operation *op, const DimOrders &orders) {
  auto isIn = [&](Value value) { return orders.contains(value); };
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return getNewGroups(op, orders).has_value();
  return canFollowOrder(op) && (llvm::any_of(op->getOperands(), isIn) ||
                                llvm::any_of(op->getResults(), isIn));
}
