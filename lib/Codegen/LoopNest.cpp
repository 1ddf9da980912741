//===- LoopNest.cpp - a structured op as loops over flat buffers ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/LoopNest.h"

#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/ReductionOrder.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

bool BufferView::isWhole() const {
  return offset == 0 &&
         shape ==
             llvm::to_vector(cast<MemRefType>(root.getType()).getShape()) &&
         ArrayRef<int64_t>(strides) == ArrayRef(computeStrides(shape));
}

/// Views of one root are compared as boxes in the root's shape, if their
/// strides are multiples of the root's.
bool BufferView::isDisjoint(const BufferView &other) const {
  if (root != other.root)
    return true;
  auto type = cast<MemRefType>(root.getType());
  SmallVector<int64_t> rootStrides = computeStrides(type.getShape());
  // The closed interval that `view` covers in each dimension of the root.
  auto getBox = [&](const BufferView &view)
      -> std::optional<SmallVector<std::pair<int64_t, int64_t>>> {
    SmallVector<std::pair<int64_t, int64_t>> box;
    int64_t rest = view.offset;
    for (auto [dim, stride] : llvm::enumerate(rootStrides)) {
      int64_t low = stride == 0 ? 0 : rest / stride;
      rest -= low * stride;
      box.push_back({low, low});
    }
    for (auto [size, stride] : llvm::zip(view.shape, view.strides)) {
      if (size == 1)
        continue;
      bool found = false;
      for (auto [dim, rootStride] : llvm::enumerate(rootStrides)) {
        if (found || rootStride == 0 || stride % rootStride != 0)
          continue;
        found = true;
        box[dim].second += (size - 1) * (stride / rootStride);
      }
      if (!found)
        return std::nullopt;
    }
    for (auto [interval, size] : llvm::zip(box, type.getShape()))
      if (interval.second >= size)
        return std::nullopt;
    return box;
  };
  auto mine = getBox(*this), theirs = getBox(other);
  if (!mine || !theirs)
    return false;
  for (auto [a, b] : llvm::zip(*mine, *theirs))
    if (a.second < b.first || b.second < a.first)
      return true;
  return false;
}

FailureOr<BufferView> remat::codegen::resolveView(Value memref) {
  // A cast may forget the layout, so the type before it counts.
  while (auto cast = memref.getDefiningOp<memref::CastOp>())
    memref = cast.getSource();
  auto type = cast<MemRefType>(memref.getType());
  BufferView view;
  if (type.hasStaticShape() && type.getNumElements() == 0)
    view.strides.assign(type.getRank(), 0);
  else if (!type.hasStaticShape() ||
           failed(type.getStridesAndOffset(view.strides, view.offset)) ||
           ShapedType::isDynamic(view.offset) ||
           llvm::any_of(view.strides, ShapedType::isDynamic))
    return emitError(memref.getLoc(), "buffer of type ")
           << type << " has no static layout";
  view.shape.assign(type.getShape().begin(), type.getShape().end());
  view.root = memref;
  while (auto op = view.root.getDefiningOp<ViewLikeOpInterface>())
    view.root = op.getViewSource();
  return view;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Adds `factor * expr` to the linear form; false if it is not linear.
static bool addLinear(AffineExpr expr, int64_t factor,
                      MutableArrayRef<int64_t> coefficients, int64_t &offset) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    coefficients[dim.getPosition()] += factor;
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    offset += factor * constant.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, coefficients, offset) &&
           addLinear(binary.getRHS(), factor, coefficients, offset);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() != AffineExprKind::Mul || !scale)
    return false;
  return addLinear(binary.getLHS(), factor * scale.getValue(), coefficients,
                   offset);
}

AffineExpr remat::codegen::flattenMap(AffineMap map, ArrayRef<int64_t> strides,
                                      MutableArrayRef<int64_t> coefficients,
                                      int64_t &offset) {
  AffineExpr nonlinear;
  for (auto [result, stride] : llvm::zip(map.getResults(), strides)) {
    SmallVector<int64_t> trial(coefficients);
    int64_t trialOffset = offset;
    if (addLinear(result, stride, trial, trialOffset)) {
      llvm::copy(trial, coefficients.begin());
      offset = trialOffset;
      continue;
    }
    AffineExpr term = result * stride;
    nonlinear = nonlinear ? nonlinear + term : term;
  }
  return nonlinear;
}

/// Coefficients are by dimension of the op at first.
static FailureOr<Access> makeAccess(linalg::GenericOp op, OpOperand &operand) {
  Access access;
  access.elementType = getElementTypeOrSelf(operand.get());
  access.isRead = op.payloadUsesValueFromOperand(&operand);
  access.coefficients.assign(op.getNumLoops(), 0);
  if (!isa<MemRefType>(operand.get().getType())) {
    access.scalar = operand.get();
    return access;
  }
  FailureOr<BufferView> view = resolveView(operand.get());
  if (failed(view))
    return failure();
  access.root = view->root;
  access.offset = view->offset;
  access.nonlinear =
      flattenMap(op.getMatchingIndexingMap(&operand), view->strides,
                 access.coefficients, access.offset);
  return access;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

bool LoopNest::isEmpty() const {
  return llvm::any_of(loops, [](const Loop &loop) { return loop.size == 0; });
}

int64_t LoopNest::numPoints() const {
  int64_t points = 1;
  for (const Loop &loop : loops)
    points = multiplyCounts(points, loop.size);
  return points;
}

int64_t remat::codegen::getOpCost(Operation *op) {
  if (op->getNumRegions() != 0) {
    int64_t cost = 0;
    op->walk([&](Operation *inner) {
      if (inner != op)
        cost += getOpCost(inner);
    });
    return cost;
  }
  if (isCalledFunction(op))
    return ScalarTuning::calledFunctionCost;
  if (isa<arith::RemFOp>(op))
    return ScalarTuning::functionCost;
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp,
               math::FloorOp, math::CeilOp>(op)
               ? 1
           : isa<math::SqrtOp, math::RsqrtOp>(op) ? ScalarTuning::divisionCost
                                                  : ScalarTuning::functionCost;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
          arith::RemUIOp>(op))
    return ScalarTuning::divisionCost;
  if (isa<arith::ConstantOp, linalg::YieldOp, linalg::IndexOp>(op))
    return 0;
  return 1;
}

int64_t LoopNest::bodyCost() const {
  int64_t cost = 1;
  for (Operation &inner : *body)
    cost += getOpCost(&inner);
  return cost;
}

/// Sorts the loops so that strides fall, whatever order the op had; reductions
/// that are not free to be reordered follow each other as before.
static void sortLoops(LoopNest &nest) {
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, nest.loops.size()));
  auto weight = [&](unsigned loop) {
    int64_t sum = 0;
    for (const Access &access : llvm::concat<Access>(nest.inputs, nest.outputs))
      sum += std::abs(access.coefficients[loop]);
    return sum;
  };
  llvm::stable_sort(
      order, [&](unsigned a, unsigned b) { return weight(a) > weight(b); });
  if (nest.isOrdered)
    keepReductionOrder(
        order, [&](unsigned loop) { return nest.loops[loop].isReduction; });
  auto permute = [&](auto &list) {
    auto old = list;
    for (auto [to, from] : llvm::enumerate(order))
      list[to] = old[from];
  };
  permute(nest.loops);
  for (Access &access : llvm::concat<Access>(nest.inputs, nest.outputs))
    permute(access.coefficients);
}

static void eraseLoop(LoopNest &nest, unsigned loop) {
  nest.loops.erase(nest.loops.begin() + loop);
  for (Access &access : llvm::concat<Access>(nest.inputs, nest.outputs))
    access.coefficients.erase(access.coefficients.begin() + loop);
}

/// Joins a loop with the next inner one where every access allows.
static void joinLoops(LoopNest &nest) {
  for (unsigned outer = 0; outer + 1 < nest.loops.size();) {
    Loop &a = nest.loops[outer], &b = nest.loops[outer + 1];
    bool joins = a.isReduction == b.isReduction && !a.pinned && !b.pinned;
    for (const Access &access : llvm::concat<Access>(nest.inputs, nest.outputs))
      joins = joins && access.coefficients[outer] ==
                           access.coefficients[outer + 1] * b.size;
    if (!joins) {
      ++outer;
      continue;
    }
    b.size *= a.size;
    b.dims.insert(b.dims.begin(), a.dims.begin(), a.dims.end());
    eraseLoop(nest, outer);
  }
}

/// Whether all points write different elements, up to reduction loops that the
/// output does not depend on at all.
static bool isInjective(linalg::GenericOp op, AffineMap map) {
  if (!map.isProjectedPermutation())
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [dim, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if (type == utils::IteratorType::parallel && sizes[dim] != 1 &&
        !map.isFunctionOfDim(dim))
      return false;
  return true;
}

/// Whether `map` is of some reduction loops but not of all: elements are then
/// added to again and again, but in memory, as there are several.
static bool addsInMemory(linalg::GenericOp op, AffineMap map) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  bool depends = false, repeats = false;
  for (auto [dim, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction && sizes[dim] != 1)
      (map.isFunctionOfDim(dim) ? depends : repeats) = true;
  return depends && repeats;
}

Loop *LoopNest::findLoop(unsigned dim) {
  for (Loop &loop : loops)
    if (loop.dims.size() == 1 && loop.dims[0] == dim)
      return &loop;
  return nullptr;
}

FailureOr<LoopNest> remat::codegen::makeLoopNest(linalg::GenericOp op,
                                                 ArrayRef<int64_t> kept) {
  LoopNest nest;
  nest.op = op;
  nest.body = op.getBody();
  nest.isOrdered = hasOrderedReductions(op);
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (auto [dim, size] : llvm::enumerate(op.getStaticLoopRanges())) {
    if (ShapedType::isDynamic(size))
      return op.emitOpError("has a dynamic size in dimension ") << dim;
    nest.loops.push_back({size,
                          iterators[dim] == utils::IteratorType::reduction,
                          {static_cast<unsigned>(dim)}});
  }
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Access> access = makeAccess(op, operand);
    if (failed(access))
      return failure();
    if (access->nonlinear)
      access->nonlinear.walk([&](AffineExpr expr) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          nest.loops[dim.getPosition()].pinned = true;
      });
    (op.isDpsInput(&operand) ? nest.inputs : nest.outputs)
        .push_back(std::move(*access));
  }
  auto inits = op->getAttrOfType<ArrayAttr>(RematDialect::initsAttrName);
  for (unsigned i = 0, e = op.getNumDpsInits(); i < e; ++i) {
    nest.inits.push_back(inits ? dyn_cast<TypedAttr>(inits[i]) : TypedAttr());
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
    if (!isInjective(op, map) || (nest.inits[i] && addsInMemory(op, map)))
      nest.sequential = true;
  }
  for (int64_t dim : kept)
    nest.loops[dim].pinned = true;
  op.getBody()->walk(
      [&](linalg::IndexOp index) { nest.loops[index.getDim()].pinned = true; });
  if (nest.isEmpty())
    return nest;
  for (unsigned loop = nest.loops.size(); loop-- > 0;)
    if (nest.loops[loop].size == 1 && !nest.loops[loop].pinned)
      eraseLoop(nest, loop);
  if (nest.sequential)
    return nest;
  sortLoops(nest);
  joinLoops(nest);
  return nest;
}

LogicalResult remat::codegen::generalizeOps(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      linalg::makeMemRefCopyOp(rewriter, op->getLoc(), copy.getSource(),
                               copy.getTarget());
      rewriter.eraseOp(op);
    } else if (isa<linalg::FillOp, linalg::CopyOp>(op)) {
      if (failed(
              linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(op))))
        return op->emitOpError("cannot be written as a linalg.generic");
    }
  }
  return success();
}
