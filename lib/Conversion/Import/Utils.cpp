//===- Utils.cpp - what several import passes need ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Utils.h"

#include "remat/Dialect/Remat/IR/LoopSizes.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Backward locations
//===----------------------------------------------------------------------===//

Location import::getBackwardLoc(Location loc) {
  if (isBackwardLoc(loc))
    return loc;
  return NameLoc::get(
      StringAttr::get(loc.getContext(), RematDialect::backwardAttrName), loc);
}

bool import::isBackwardLoc(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name && name.getName() == RematDialect::backwardAttrName;
}

void import::backwardToLocations(Operation *root) {
  auto name =
      StringAttr::get(root->getContext(), RematDialect::backwardAttrName);
  root->walk([&](Operation *op) {
    if (!op->getDiscardableAttrDictionary().empty() &&
        op->removeDiscardableAttr(name))
      op->setLoc(getBackwardLoc(op->getLoc()));
  });
}

void import::backwardToAttributes(Operation *root) {
  root->walk([](Operation *op) {
    auto name = dyn_cast<NameLoc>(op->getLoc());
    if (!name || !isBackwardLoc(name))
      return;
    op->setLoc(name.getChildLoc());
    // Scalar operations in bodies belong to the operation around them.
    if (!op->getParentOfType<linalg::LinalgOp>() &&
        !op->hasTrait<OpTrait::ConstantLike>())
      op->setDiscardableAttr(RematDialect::backwardAttrName,
                             UnitAttr::get(op->getContext()));
  });
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

int64_t import::getBodySize(linalg::GenericOp op) {
  return llvm::range_size(op.getBody()->without_terminator());
}

int64_t import::getNumPoints(linalg::LinalgOp op) {
  int64_t points = 1;
  for (int64_t size : getLoopSizes(op)) {
    if (ShapedType::isDynamic(size))
      return size;
    points *= size;
  }
  return points;
}

bool import::isSmall(Value value, int64_t points) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type ||
         (type.hasStaticShape() && type.getNumElements() * 8 <= points);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

TypedAttr import::getSplatConstant(Value tensor) {
  // Views keep all elements.
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op))
      break;
    tensor = op->getOperand(0);
  }
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    Attribute value;
    if (!matchPattern(fill.value(), m_Constant(&value)))
      return {};
    return dyn_cast<TypedAttr>(value);
  }
  DenseElementsAttr elements;
  if (!matchPattern(tensor, m_Constant(&elements)) || !elements.isSplat())
    return {};
  return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

bool import::isZeroTensor(Value tensor) {
  TypedAttr value = getSplatConstant(tensor);
  if (auto real = dyn_cast_or_null<FloatAttr>(value))
    return real.getValue().isPosZero();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(value))
    return integer.getValue().isZero();
  return false;
}

/// A scalar zero of any element type.
static Value createZero(OpBuilder &builder, Location loc, Type type) {
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    Attribute zero = builder.getZeroAttr(complexType.getElementType());
    return complex::ConstantOp::create(builder, loc, complexType,
                                       builder.getArrayAttr({zero, zero}));
  }
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value import::createZeroTensor(OpBuilder &builder, Location loc,
                               RankedTensorType type) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  Value zero = createZero(builder, loc, type.getElementType());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

Value import::createSum(OpBuilder &builder, Location loc, Value lhs,
                        Value rhs) {
  auto type = cast<RankedTensorType>(lhs.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps(3, map);
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto body = [](OpBuilder &b, Location loc, ValueRange args) {
    Type type = args[0].getType();
    Value sum;
    if (isa<ComplexType>(type))
      sum = complex::AddOp::create(b, loc, args[0], args[1]);
    else if (type.isInteger(1))
      sum = arith::OrIOp::create(b, loc, args[0], args[1]);
    else if (isa<FloatType>(type))
      sum = arith::AddFOp::create(b, loc, args[0], args[1]);
    else
      sum = arith::AddIOp::create(b, loc, args[0], args[1]);
    linalg::YieldOp::create(b, loc, sum);
  };
  return linalg::GenericOp::create(builder, loc, TypeRange{type},
                                   ValueRange{lhs, rhs}, ValueRange{empty},
                                   maps, iterators, body)
      .getResult(0);
}

void import::normalizeInits(RewriterBase &rewriter, linalg::GenericOp generic) {
  if (generic.getNumParallelLoops() != generic.getNumLoops())
    return;
  SmallVector<Value> inputs = llvm::to_vector(generic.getInputs());
  SmallVector<Value> inits = llvm::to_vector(generic.getOutputs());
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Block *body = generic.getBody();
  bool changed = false;
  for (auto [number, init] : llvm::enumerate(inits)) {
    unsigned position = inputs.size();
    BlockArgument argument = body->getArgument(position + number);
    AffineMap map = maps[position + number];
    auto type = dyn_cast<RankedTensorType>(init.getType());
    if (!type || !map.isPermutation() ||
        (argument.use_empty() && init.getDefiningOp<tensor::EmptyOp>()))
      continue;
    if (!argument.use_empty()) {
      BlockArgument input =
          body->insertArgument(position, argument.getType(), generic.getLoc());
      body->getArgument(position + 1 + number).replaceAllUsesWith(input);
      maps.insert(maps.begin() + position, map);
      inputs.push_back(init);
    }
    rewriter.setInsertionPoint(generic);
    init = tensor::EmptyOp::create(rewriter, generic.getLoc(), type.getShape(),
                                   type.getElementType());
    changed = true;
  }
  if (!changed)
    return;
  generic.getInputsMutable().assign(inputs);
  generic.getOutputsMutable().assign(inits);
  generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
}

/// Makes results that nothing uses yield their own init, if no result that is
/// used depends on that init. They can be dropped then, with what computed
/// them: PyTorch's maximum, for one, also computes where it is.
static void yieldInitsOfDeadResults(RewriterBase &rewriter,
                                    linalg::GenericOp generic) {
  if (generic.getNumResults() < 2 || !generic.hasPureTensorSemantics())
    return;
  Block *body = generic.getBody();
  Operation *yield = body->getTerminator();
  // What the used results and effects are computed from.
  llvm::DenseSet<Value> live;
  SmallVector<Value> worklist;
  auto visit = [&](ValueRange values) {
    for (Value value : values)
      if (live.insert(value).second)
        worklist.push_back(value);
  };
  for (OpResult result : generic->getResults())
    if (!result.use_empty())
      visit(yield->getOperand(result.getResultNumber()));
  for (Operation &op : body->without_terminator())
    if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
      op.walk([&](Operation *inner) { visit(inner->getOperands()); });
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp())
      if (op->getBlock() == body)
        visit(op->getOperands());
  for (OpResult result : generic->getResults()) {
    unsigned number = result.getResultNumber();
    BlockArgument argument = generic.getRegionOutputArgs()[number];
    if (result.use_empty() && !live.contains(argument))
      rewriter.modifyOpInPlace(yield,
                               [&] { yield->setOperand(number, argument); });
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

linalg::GenericOp import::simplifyGeneric(RewriterBase &rewriter,
                                          linalg::GenericOp generic) {
  normalizeInits(rewriter, generic);
  for (auto [argument, input] :
       llvm::zip(generic.getRegionInputArgs(), generic.getInputs())) {
    if (argument.use_empty())
      continue;
    TypedAttr value = getSplatConstant(input);
    if (!value || value.getType() != argument.getType())
      continue;
    rewriter.setInsertionPoint(generic);
    Value scalar = arith::ConstantOp::create(rewriter, generic.getLoc(), value);
    rewriter.replaceAllUsesWith(argument, scalar);
  }
  if (isOpTriviallyDead(generic)) {
    rewriter.eraseOp(generic);
    return {};
  }
  yieldInitsOfDeadResults(rewriter, generic);
  rewriter.setInsertionPoint(generic);
  FailureOr<linalg::GenericOp> simplified =
      linalg::deduplicateOperandsAndRemoveDeadResults(rewriter, generic,
                                                      /*removeOutputs=*/true);
  return failed(simplified) ? generic : *simplified;
}

//===----------------------------------------------------------------------===//
// Matchers
//===----------------------------------------------------------------------===//

std::optional<import::Permutation> import::matchPermutation(Operation *op) {
  if (auto transpose = dyn_cast_or_null<linalg::TransposeOp>(op))
    return Permutation{transpose.getInput(),
                       llvm::to_vector(transpose.getPermutation())};
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic->getNumResults() != 1)
    return {};
  Block *body = generic.getBody();
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  if (yield.getOperand(0) != body->getArgument(0) ||
      llvm::range_size(body->without_terminator()) != 0)
    return {};
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  if (!maps[0].isPermutation() || !maps[1].isPermutation())
    return {};
  // Result dimension i runs over loop maps[1](i), which indexes one dimension
  // of the input.
  AffineMap inputOfLoop = inversePermutation(maps[0]);
  SmallVector<int64_t> dims;
  for (unsigned i = 0, e = maps[1].getNumResults(); i < e; ++i)
    dims.push_back(inputOfLoop.getDimPosition(maps[1].getDimPosition(i)));
  return Permutation{generic.getDpsInputOperand(0)->get(), dims};
}

/// Looks through one cast of a block argument. `castFn` is set if the cast is
/// of integers.
static BlockArgument lookThroughCast(Value value,
                                     std::optional<linalg::TypeFn> &castFn) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument;
  Operation *op = value.getDefiningOp();
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
           arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return {};
  if (isa<arith::ExtUIOp, arith::UIToFPOp>(op))
    castFn = linalg::TypeFn::cast_unsigned;
  else if (isa<arith::ExtSIOp, arith::SIToFPOp>(op))
    castFn = linalg::TypeFn::cast_signed;
  return dyn_cast<BlockArgument>(op->getOperand(0));
}

std::optional<import::ProductBody>
import::matchProductBody(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return {};
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  Operation *add = yielded.getDefiningOp();
  bool isBool = yielded.getType().isInteger(1);
  if (!add || add->getBlock() != body ||
      !(isBool ? isa<arith::OrIOp>(add)
               : isa<arith::AddFOp, arith::AddIOp, complex::AddOp>(add)))
    return {};
  Value accumulator = body->getArgument(2);
  if (!llvm::is_contained(add->getOperands(), accumulator))
    return {};
  Value product = add->getOperand(add->getOperand(0) == accumulator ? 1 : 0);
  Operation *mul = product.getDefiningOp();
  if (!mul || mul->getBlock() != body ||
      !(isBool ? isa<arith::AndIOp>(mul)
               : isa<arith::MulFOp, arith::MulIOp, complex::MulOp>(mul)))
    return {};
  std::optional<linalg::TypeFn> lhsCast, rhsCast;
  BlockArgument lhs = lookThroughCast(mul->getOperand(0), lhsCast);
  BlockArgument rhs = lookThroughCast(mul->getOperand(1), rhsCast);
  if (!lhs || !rhs || lhs.getOwner() != body || rhs.getOwner() != body)
    return {};
  if (lhs.getArgNumber() + rhs.getArgNumber() != 1)
    return {};
  if (lhsCast && rhsCast && *lhsCast != *rhsCast)
    return {};
  // A product that is used twice, or anything else in the body, is not seen
  // here; the callers rebuild the operation from this description.
  unsigned numOps = llvm::range_size(body->without_terminator());
  unsigned numCasts = !isa<BlockArgument>(mul->getOperand(0)) +
                      !isa<BlockArgument>(mul->getOperand(1));
  if (numOps != 2 + numCasts)
    return {};
  return ProductBody{lhsCast   ? *lhsCast
                     : rhsCast ? *rhsCast
                               : linalg::TypeFn::cast_signed};
}
