//===- Epilogues.cpp - what a library makes of a product ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All in f32: operations of the body are matched by what the library computes,
// whatever their order.
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Epilogues.h"

#include "GeluForms.h"

#include "remat/Dialect/Remat/IR/LibraryMasks.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool remat::isRelu(Operation *op, Value value) {
  if (isa<arith::MaximumFOp>(op))
    return (op->getOperand(0) == value &&
            matchPattern(op->getOperand(1), m_AnyZeroFloat())) ||
           (op->getOperand(1) == value &&
            matchPattern(op->getOperand(0), m_AnyZeroFloat()));
  auto select = dyn_cast<arith::SelectOp>(op);
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  return compare && select.getTrueValue() == value &&
         matchPattern(select.getFalseValue(), m_AnyZeroFloat()) &&
         compare.getLhs() == value &&
         matchPattern(compare.getRhs(), m_AnyZeroFloat()) &&
         (compare.getPredicate() == arith::CmpFPredicate::UGT ||
          compare.getPredicate() == arith::CmpFPredicate::UGE);
}

/// The sum in f32 of an element of the product and one of the bias, which is
/// all that the body makes of both. Without a bias, that is the product.
static Value matchSum(BlockArgument product, BlockArgument bias) {
  if (!bias)
    return product.getType().isF32() ? product : Value();
  if (!product.hasOneUse() || !bias.hasOneUse())
    return {};
  auto sum = dyn_cast<arith::AddFOp>(*product.user_begin());
  Value added = bias;
  if (auto wider = dyn_cast<arith::ExtFOp>(*bias.user_begin())) {
    if (!wider->hasOneUse())
      return {};
    added = wider.getResult();
  }
  return sum && sum.getType().isF32() && *added.user_begin() == sum ? sum
                                                                    : Value();
}

static std::optional<Activation> matchActivation(Value value, Value sum) {
  if (value == sum)
    return Activation::None;
  Operation *op = value.getDefiningOp();
  if (op && isRelu(op, sum))
    return Activation::Relu;
  if (isGelu(value, sum))
    return Activation::Gelu;
  return std::nullopt;
}

/// What the body yields, before it is rounded to the type of the results.
static Value getUnrounded(linalg::GenericOp op, unsigned number) {
  Value value = op.getBody()->getTerminator()->getOperand(number);
  if (value.getType().isF32())
    return value;
  auto rounded = value.getDefiningOp<arith::TruncFOp>();
  return rounded && rounded.getIn().getType().isF32() ? rounded.getIn()
                                                      : Value();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether dimensions of `factor` are those of the rows, in their order and
/// next to each other, and that of a sum.
static bool hasRows(AffineMap factor, ArrayRef<AffineExpr> rows) {
  ArrayRef<AffineExpr> dims = factor.getResults();
  return dims.size() == rows.size() + 1 &&
         (dims.drop_back() == rows || dims.drop_front() == rows);
}

bool remat::isLibraryProduct(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op) || op->getNumOperands() != 3 ||
      op->getNumResults() != 1 || !isContractionBody(*op.getBlock()) ||
      !startsFromZeros(op))
    return false;
  for (Type type : op->getOperandTypes())
    if (!cast<ShapedType>(type).hasStaticShape() ||
        cast<ShapedType>(type).getNumElements() == 0)
      return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps[2].getNumResults() < 2 || op.getNumReductionLoops() != 1)
    return false;
  AffineExpr last = maps[2].getResults().back();
  ArrayRef<AffineExpr> rows = maps[2].getResults().drop_back();
  for (unsigned number : {0, 1}) {
    ArrayRef<AffineExpr> columns = maps[1 - number].getResults();
    if (hasRows(maps[number], rows) && columns.size() == 2 &&
        llvm::is_contained(columns, last) &&
        !llvm::is_contained(maps[number].getResults(), last) &&
        llvm::none_of(rows, [&](AffineExpr row) {
          return llvm::is_contained(columns, row);
        }))
      return true;
  }
  return false;
}

/// Whether results of this type fit the factors.
static bool hasTypes(linalg::LinalgOp product, Type result) {
  Type lhs = getElementTypeOrSelf(product->getOperand(0).getType());
  Type rhs = getElementTypeOrSelf(product->getOperand(1).getType());
  bool isNarrow = lhs.isF16() || lhs.isBF16();
  return lhs == rhs && (isNarrow || lhs.isF32()) &&
         (result.isF32() || (isNarrow && result == lhs));
}

//===----------------------------------------------------------------------===//
// What is made of products
//===----------------------------------------------------------------------===//

/// Whether `op` is elementwise, and nothing but its inputs is read. All of its
/// results have one type.
static bool isElementwise(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op->getNumResults() == 0 ||
      op->hasAttr(rowsAttrName) || !op.hasPureTensorSemantics() ||
      !isMemoryEffectFree(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  for (OpOperand &init : op.getDpsInitsMutable())
    if (init.get().getType() != type ||
        !op.getMatchingIndexingMap(&init).isIdentity() ||
        !op.getMatchingBlockArgument(&init).use_empty())
      return false;
  return type.getRank() >= 2;
}

/// The product that input `number` is, element for element and in the same
/// rows, if it is one of those that have epilogues. If the result `hasBytes`,
/// its last two dimensions are the last of the product.
static linalg::LinalgOp findProduct(linalg::GenericOp op, unsigned number,
                                    bool hasBytes = false) {
  auto product =
      getViewRoot(op.getDpsInputs()[number]).getDefiningOp<linalg::LinalgOp>();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!product || !op.getIndexingMapsArray()[number].isIdentity() ||
      !isLibraryProduct(product) ||
      !getElementTypeOrSelf(product->getResult(0).getType()).isF32() ||
      !hasTypes(product, type.getElementType()))
    return {};
  int64_t columns =
      cast<ShapedType>(product->getResult(0).getType()).getShape().back();
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rowElements =
      hasBytes ? shape.back() * shape[shape.size() - 2] : shape.back();
  return rowElements == columns ? product : linalg::LinalgOp();
}

/// Whether input `number` is a vector along the last dimension, of the type of
/// the results.
static bool isBias(linalg::GenericOp op, unsigned number) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto type = dyn_cast<RankedTensorType>(op.getDpsInputs()[number].getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getRank() == 1 &&
         type.getElementType() == result.getElementType() &&
         type.getDimSize(0) == result.getShape().back() &&
         maps[number].getResults() == maps.back().getResults().take_back();
}

/// What `op` makes of its input `number` and the bias that the other is.
static std::optional<Epilogue> matchEpilogue(linalg::GenericOp op,
                                             unsigned number) {
  linalg::LinalgOp product = findProduct(op, number);
  bool hasBias = op.getNumDpsInputs() == 2;
  if (!product || (hasBias && !isBias(op, 1 - number)))
    return std::nullopt;
  Block *body = op.getBody();
  Value sum =
      matchSum(body->getArgument(number),
               hasBias ? body->getArgument(1 - number) : BlockArgument());
  Value made = sum ? getUnrounded(op, 0) : Value();
  std::optional<Activation> activation;
  if (made)
    activation = matchActivation(made, sum);
  if (!activation || (!hasBias && *activation == Activation::None))
    return std::nullopt;
  bool keepsSum = op->getNumResults() == 2;
  int64_t columns =
      cast<ShapedType>(op->getResult(0).getType()).getShape().back();
  if (keepsSum &&
      (*activation != Activation::Gelu || columns % keptRowElements != 0 ||
       getUnrounded(op, 1) != sum))
    return std::nullopt;
  return Epilogue{product, hasBias ? op.getDpsInputs()[1 - number] : Value(),
                  *activation, keepsSum};
}

std::optional<Epilogue> remat::matchEpilogue(linalg::GenericOp op) {
  if (op.getNumDpsInputs() < 1 || op.getNumDpsInputs() > 2 ||
      op->getNumResults() > 2 || !isElementwise(op))
    return std::nullopt;
  for (int64_t number = 0; number < op.getNumDpsInputs(); ++number)
    if (std::optional<Epilogue> epilogue = ::matchEpilogue(op, number))
      return epilogue;
  return std::nullopt;
}

std::optional<GeluGradient> remat::matchGeluGradient(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      !isElementwise(op))
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.getElementType().isF32() ||
      type.getShape().back() % keptRowElements != 0)
    return std::nullopt;
  Block *body = op.getBody();
  for (unsigned number : {0, 1}) {
    linalg::LinalgOp product = findProduct(op, number);
    Value input = op.getDpsInputs()[1 - number];
    if (product && input.getType() == type &&
        op.getIndexingMapsArray()[1 - number].isIdentity() &&
        getViewRoot(input) != product->getResult(0) &&
        isGeluGradient(body->getTerminator()->getOperand(0),
                       body->getArgument(1 - number),
                       body->getArgument(number)))
      return GeluGradient{product, input};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Masks of ReLUs
//===----------------------------------------------------------------------===//

/// Whether `value` is the index of the last dimension as a number of bits.
static bool isBitNumber(Value value, unsigned rank) {
  auto cast = value.getDefiningOp<arith::IndexCastOp>();
  auto index =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  return index && index.getDim() == rank - 1;
}

/// Whether `value` compares `element` with 0, by one of the predicates.
static bool isComparison(Value value, Value element,
                         ArrayRef<arith::CmpFPredicate> predicates) {
  auto compare = value.getDefiningOp<arith::CmpFOp>();
  return compare && compare.getLhs() == element &&
         matchPattern(compare.getRhs(), m_AnyZeroFloat()) &&
         llvm::is_contained(predicates, compare.getPredicate());
}

Value remat::matchReluMask(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || !generic->hasAttr(libraryMaskAttrName) ||
      generic.getNumDpsInputs() != 1 || generic->getNumResults() != 1 ||
      generic->hasAttr(rowsAttrName) || !generic.hasPureTensorSemantics() ||
      !startsFromZeros(generic) || generic.getNumReductionLoops() != 1)
    return {};
  Value input = generic.getDpsInputs().front();
  auto type = dyn_cast<RankedTensorType>(input.getType());
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  if (!type || !type.getElementType().isF32() || type.getRank() < 3 ||
      type.getShape().back() != maskByteElements ||
      !getElementTypeOrSelf(generic->getResult(0).getType()).isInteger(8) ||
      !maps[0].isIdentity() ||
      maps[1].getResults() != maps[0].getResults().drop_back())
    return {};
  Block &body = *generic.getBody();
  Value mask = body.getArgument(1);
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::OrIOp>();
  if (!sum || !llvm::is_contained(sum->getOperands(), mask))
    return {};
  Value term = sum.getLhs() == mask ? sum.getRhs() : sum.getLhs();
  auto shift = term.getDefiningOp<arith::ShLIOp>();
  auto bit =
      shift ? shift.getLhs().getDefiningOp<arith::ExtUIOp>() : arith::ExtUIOp();
  bool isMask =
      bit && isBitNumber(shift.getRhs(), type.getRank()) &&
      isComparison(bit.getIn(), body.getArgument(0), arith::CmpFPredicate::UGT);
  return isMask ? input : Value();
}

/// Whether the body yields `gradient` where `made` is above 0, and else 0. What
/// it does where that is nan is all the same.
static bool selectsByResult(Block &body, Value gradient, Value made) {
  using arith::CmpFPredicate;
  auto select =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  if (!select)
    return false;
  bool isAbove = isComparison(select.getCondition(), made,
                              {CmpFPredicate::UGT, CmpFPredicate::OGT});
  bool isBelow = isComparison(select.getCondition(), made,
                              {CmpFPredicate::ULE, CmpFPredicate::OLE});
  Value kept = isAbove ? select.getTrueValue() : select.getFalseValue();
  Value dropped = isAbove ? select.getFalseValue() : select.getTrueValue();
  return (isAbove || isBelow) && kept == gradient &&
         matchPattern(dropped, m_AnyZeroFloat());
}

/// The same by a mask.
static bool selectsByBits(Block &body, Value gradient, Value mask,
                          unsigned rank) {
  auto select =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto bit = select ? select.getCondition().getDefiningOp<arith::TruncIOp>()
                    : arith::TruncIOp();
  auto shift =
      bit ? bit.getIn().getDefiningOp<arith::ShRUIOp>() : arith::ShRUIOp();
  return shift && select.getTrueValue() == gradient &&
         matchPattern(select.getFalseValue(), m_AnyZeroFloat()) &&
         shift.getLhs() == mask && isBitNumber(shift.getRhs(), rank);
}

std::optional<ReluGradient> remat::matchReluGradient(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      !isElementwise(op))
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.getElementType().isF32())
    return std::nullopt;
  Block &body = *op.getBody();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned number : {0, 1}) {
    Value made = op.getDpsInputs()[1 - number];
    Value element = body.getArgument(1 - number);
    bool isMask =
        element.getType().isInteger(8) && op->hasAttr(libraryMaskAttrName);
    if (isMask ? type.getRank() < 3 ||
                     type.getShape().back() != maskByteElements ||
                     maps[1 - number].getResults() !=
                         maps[2].getResults().drop_back()
               : made.getType() != type || !maps[1 - number].isIdentity())
      continue;
    linalg::LinalgOp product = findProduct(op, number, isMask);
    if (!product || getViewRoot(made) == product->getResult(0) ||
        cast<ShapedType>(product->getResult(0).getType()).getShape().back() %
                maskedRowElements !=
            0)
      continue;
    Value gradient = body.getArgument(number);
    if (isMask ? selectsByBits(body, gradient, element, type.getRank())
               : selectsByResult(body, gradient, element))
      return ReluGradient{product, made, isMask};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Whether all that `body` does is to add its first argument to its second, as
/// f32.
static bool addsUp(Block &body) {
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  Value total = body.getArgument(1);
  if (!add || !llvm::is_contained(add->getOperands(), total))
    return false;
  Value term = add.getLhs() == total ? add.getRhs() : add.getLhs();
  auto wider = term.getDefiningOp<arith::ExtFOp>();
  size_t numOps = wider ? 3 : 2;
  return (wider ? wider.getIn() : term) == body.getArgument(0) &&
         body.getOperations().size() == numOps;
}

/// What an operation adds up; null if it does anything else.
static Value findSummed(linalg::LinalgOp sum) {
  if (sum.getNumDpsInputs() != 1 || sum->getNumResults() != 1 ||
      sum->hasAttr(rowsAttrName) || !sum.hasPureTensorSemantics() ||
      !startsFromZeros(sum) || !addsUp(*sum.getBlock()))
    return {};
  auto type = dyn_cast<RankedTensorType>(sum->getResult(0).getType());
  SmallVector<AffineMap> maps = sum.getIndexingMapsArray();
  bool isOfColumns = type && type.getRank() == 1 &&
                     type.getElementType().isF32() && maps[0].isPermutation() &&
                     maps[0].getNumResults() >= 2 &&
                     maps[1].getResults() == maps[0].getResults().take_back();
  return isOfColumns ? sum->getOperand(0) : Value();
}

/// What an operation rounds to 16 bits and nothing else reads; null if it does
/// anything else.
static Value findRounded(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op->hasAttr(rowsAttrName) || !op.hasPureTensorSemantics() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  Block &body = *op.getBody();
  auto rounded =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::TruncFOp>();
  bool isAll = rounded && rounded.getIn() == body.getArgument(0) &&
               body.getOperations().size() == 2;
  return isAll && op->getOperand(0).hasOneUse() ? op->getOperand(0) : Value();
}

std::optional<ColumnSums> remat::matchColumnSums(Operation *op) {
  auto sum = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (auto rounding = dyn_cast_or_null<linalg::GenericOp>(op))
    if (Value rounded = findRounded(rounding))
      sum = rounded.getDefiningOp<linalg::LinalgOp>();
  Value summed = sum ? findSummed(sum) : Value();
  if (!summed)
    return std::nullopt;
  return ColumnSums{summed, sum};
}

std::optional<unsigned> remat::findSummedFactor(linalg::LinalgOp contraction,
                                                const ColumnSums &sums,
                                                Type type) {
  if (!linalg::isaContractionOpInterface(contraction) ||
      contraction->getNumOperands() != 3 || contraction->getNumResults() != 1 ||
      !isContractionBody(*contraction.getBlock()) ||
      !startsFromZeros(contraction) || !contraction.hasPureTensorSemantics() ||
      getElementTypeOrSelf(contraction->getResult(0).getType()) != type ||
      !hasTypes(contraction, type))
    return std::nullopt;
  auto summedType = cast<RankedTensorType>(sums.summed.getType());
  SmallVector<AffineMap> maps = contraction.getIndexingMapsArray();
  for (unsigned number : {0, 1}) {
    Value factor = contraction->getOperand(number);
    auto factorType = dyn_cast<RankedTensorType>(factor.getType());
    if (!factorType || getViewRoot(factor) != getViewRoot(sums.summed) ||
        factorType.getShape().back() != summedType.getShape().back())
      continue;
    // There is no batch.
    ArrayRef<AffineExpr> dims = maps[number].getResults();
    ArrayRef<AffineExpr> made = maps[2].getResults();
    if (dims.size() == contraction.getNumReductionLoops() + 1 &&
        made.size() >= 2 && llvm::is_contained(made, dims.back()) &&
        llvm::none_of(dims.drop_back(), [&](AffineExpr dim) {
          return llvm::is_contained(made, dim);
        }))
      return number;
  }
  return std::nullopt;
}
