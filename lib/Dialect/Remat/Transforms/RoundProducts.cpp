//===- RoundProducts.cpp - products that are written as they are read -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-round-products`. All reads of a product are
// looked at first; then either all of them are rewritten, or none.
//
//===----------------------------------------------------------------------===//

#include "ProductReaders.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Epilogues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace remat {
#define GEN_PASS_DEF_ROUNDPRODUCTSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// The readers of one product, and what they round.
class ProductRounder {
public:
  ProductRounder(linalg::LinalgOp product, bool onlySums)
      : product(product), onlySums(onlySums) {}

  /// Whether anything has been rewritten.
  bool run();

private:
  bool hasTypes();
  bool findRounded(OpOperand &read);
  bool findRounded(OpOperand &read, Value wide);
  bool isRounding(Operation *op) const;
  bool takeBias(OpOperand &read, Value element);
  bool findPlace();
  Value createProduct(OpBuilder &builder, Type element);
  Value createSum(OpBuilder &builder, Value wide);
  void replaceReads(Value narrow);

  linalg::LinalgOp product;
  /// Whether what a program rounds twice, before and behind a bias, may be
  /// rounded once.
  const bool onlySums;
  /// The type that is rounded to: that of the factors.
  Type narrowType;
  ProductReaders readers;
  /// Elements in bodies that are the rounded product, or its rounded sum with
  /// the bias.
  SmallVector<std::pair<OpOperand *, Value>> rounded;
  /// What all readers add before they round; null if none adds anything. Of a
  /// bias in f32 they add what it is in the narrow type.
  Value bias;
  bool isPlain = false;
  /// The first operation that reads the product.
  Operation *place = nullptr;
};

} // namespace

/// Factors of 16 bits, and a product in f32, or in their type if that rounding
/// may be left out.
bool ProductRounder::hasTypes() {
  narrowType = getElementTypeOrSelf(product->getOperand(0).getType());
  Type made = getElementTypeOrSelf(product->getResult(0).getType());
  return (narrowType.isF16() || narrowType.isBF16()) &&
         getElementTypeOrSelf(product->getOperand(1).getType()) == narrowType &&
         (made.isF32() || (onlySums && made == narrowType));
}

/// Whether `op` rounds to the narrow type, to nearest.
bool ProductRounder::isRounding(Operation *op) const {
  auto rounding = dyn_cast_or_null<arith::TruncFOp>(op);
  return rounding && rounding.getType() == narrowType &&
         !rounding.getRoundingmode();
}

/// Whether an element in a reader is one of the bias, which all readers add.
bool ProductRounder::takeBias(OpOperand &read, Value element) {
  auto reader = cast<linalg::GenericOp>(read.getOwner());
  // As autocast makes it of a parameter.
  if (isRounding(element.getDefiningOp()))
    element = element.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(element);
  if (!argument || argument.getOwner() != reader.getBody())
    return false;
  OpOperand &operand = reader->getOpOperand(argument.getArgNumber());
  Value root = getViewRoot(operand.get());
  auto vector = dyn_cast<RankedTensorType>(root.getType());
  auto made = cast<RankedTensorType>(product->getResult(0).getType());
  if (!vector || !reader.isDpsInput(&operand) || vector.getRank() != 1 ||
      vector.getElementType() != element.getType() ||
      (!element.getType().isF32() && element.getType() != narrowType) ||
      vector.getDimSize(0) != made.getShape().back() || (bias && bias != root))
    return false;
  // A row of the product may be seen as several dimensions, and the bias, too.
  ArrayRef<int64_t> shape =
      cast<ShapedType>(operand.get().getType()).getShape();
  ArrayRef<int64_t> seen = cast<ShapedType>(read.get().getType()).getShape();
  if (shape.size() > seen.size() || shape != seen.take_back(shape.size()) ||
      reader.getMatchingIndexingMap(&operand).getResults() !=
          reader.getMatchingIndexingMap(&read).getResults().take_back(
              shape.size()))
    return false;
  bias = root;
  return true;
}

/// The other operand of an addition.
static Value getOther(arith::AddFOp add, Value value) {
  return add.getLhs() == value ? add.getRhs() : add.getLhs();
}

/// Finds what a reader rounds of an element in f32: all that it makes of it.
bool ProductRounder::findRounded(OpOperand &read, Value wide) {
  for (Operation *user : wide.getUsers()) {
    if (wide == read.getOwner()->getRegion(0).getArgument(
                    read.getOperandNumber()) &&
        isRounding(user)) {
      isPlain = true;
      rounded.emplace_back(&read, user->getResult(0));
      continue;
    }
    auto sum = dyn_cast<arith::AddFOp>(user);
    auto wider = sum ? getOther(sum, wide).getDefiningOp<arith::ExtFOp>()
                     : arith::ExtFOp();
    if (!wider || wider.getIn().getType() != narrowType ||
        !takeBias(read, wider.getIn()))
      return false;
    for (Operation *last : sum->getUsers()) {
      if (!isRounding(last))
        return false;
      rounded.emplace_back(&read, last->getResult(0));
    }
  }
  return true;
}

/// Finds all that a reader makes of the product. False if that is anything but
/// the product or its sum with the bias, both rounded to the narrow type.
bool ProductRounder::findRounded(OpOperand &read) {
  auto reader = cast<linalg::GenericOp>(read.getOwner());
  BlockArgument element = reader.getMatchingBlockArgument(&read);
  if (element.use_empty())
    return false;
  if (element.getType().isF32())
    return findRounded(read, element);
  for (Operation *user : element.getUsers()) {
    if (auto wider = dyn_cast<arith::ExtFOp>(user)) {
      if (!wider.getType().isF32() || !findRounded(read, wider.getResult()))
        return false;
      continue;
    }
    auto sum = dyn_cast<arith::AddFOp>(user);
    if (!sum || !takeBias(read, getOther(sum, element)))
      return false;
    rounded.emplace_back(&read, sum.getResult());
  }
  return true;
}

/// Finds where the sum can be made: in front of all readers, and behind the
/// bias.
bool ProductRounder::findPlace() {
  for (Operation *user : product->getUsers())
    if (!place || user->isBeforeInBlock(place))
      place = user;
  Operation *maker = bias ? bias.getDefiningOp() : nullptr;
  return place && (!maker || maker->getBlock() != place->getBlock() ||
                   maker->isBeforeInBlock(place));
}

/// The product with results of this type.
Value ProductRounder::createProduct(OpBuilder &builder, Type element) {
  auto made = cast<RankedTensorType>(product->getResult(0).getType());
  if (made.getElementType() == element)
    return product->getResult(0);
  Value zeros = createZeros(builder, product.getLoc(), made.clone(element));
  auto contraction = linalg::ContractOp::create(
      builder, product.getLoc(), TypeRange(zeros.getType()),
      ValueRange{product->getOperand(0), product->getOperand(1)},
      ValueRange(zeros), product.getIndexingMaps());
  copyBackward(product, contraction);
  return contraction->getResult(0);
}

/// The sum of the product in f32 and the bias, rounded.
Value ProductRounder::createSum(OpBuilder &builder, Value wide) {
  auto type = cast<RankedTensorType>(wide.getType()).clone(narrowType);
  Location loc = product.getLoc();
  Value added = bias;
  if (getElementTypeOrSelf(bias.getType()) != narrowType) {
    // On its own, as the library takes it.
    added = createElementwise(
        builder, loc, bias,
        cast<RankedTensorType>(bias.getType()).clone(narrowType),
        [&](OpBuilder &body, Location at, ValueRange elements) -> Value {
          return arith::TruncFOp::create(body, at, narrowType, elements[0]);
        });
    copyBackward(product, added.getDefiningOp());
  }
  MLIRContext *context = builder.getContext();
  int64_t rank = type.getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  AffineMap last =
      AffineMap::get(rank, 0, all.getResults().take_back(), context);
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  auto sum = linalg::GenericOp::create(
      builder, loc, type, ValueRange{wide, added}, init,
      ArrayRef<AffineMap>{all, last, all},
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &body, Location at, ValueRange elements) {
        Value wider =
            arith::ExtFOp::create(body, at, elements[0].getType(), elements[1]);
        Value added = arith::AddFOp::create(body, at, elements[0], wider);
        Value made = arith::TruncFOp::create(body, at, narrowType, added);
        linalg::YieldOp::create(body, at, made);
      });
  copyBackward(product, sum);
  return sum->getResult(0);
}

/// Lets readers read `narrow`, and views pass that on.
void ProductRounder::replaceReads(Value narrow) {
  for (auto [read, value] : rounded)
    value.replaceAllUsesWith(cast<linalg::GenericOp>(read->getOwner())
                                 .getMatchingBlockArgument(read));
  for (Operation *view : readers.views)
    view->getResult(0).setType(
        cast<RankedTensorType>(view->getResult(0).getType()).clone(narrowType));
  SetVector<Operation *> changed;
  for (OpOperand *read : readers.reads) {
    auto reader = cast<linalg::GenericOp>(read->getOwner());
    BlockArgument element = reader.getMatchingBlockArgument(read);
    // What only what has been replaced had, in the former type.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(*reader.getBody())))
      if (isOpTriviallyDead(&op))
        op.erase();
    element.setType(narrowType);
    changed.insert(reader);
  }
  product->getResult(0).replaceUsesWithIf(narrow, [&](OpOperand &use) {
    return use.getOwner() != narrow.getDefiningOp();
  });
  for (Operation *reader : changed)
    simplifyReader(cast<linalg::GenericOp>(reader));
}

bool ProductRounder::run() {
  if (!isLibraryProduct(product) || !hasTypes() || hasPolicy(product) ||
      !readers.collect(product->getResult(0), product->getBlock()) ||
      readers.reads.empty())
    return false;
  // What the library makes already.
  if (readers.reads.size() == 1 &&
      matchEpilogue(cast<linalg::GenericOp>(readers.reads[0]->getOwner())))
    return false;
  if (!llvm::all_of(readers.reads,
                    [&](OpOperand *read) { return findRounded(*read); }) ||
      isPlain == static_cast<bool>(bias) || !findPlace())
    return false;
  OpBuilder builder(place);
  Value narrow;
  if (bias)
    narrow = createSum(builder, createProduct(builder, builder.getF32Type()));
  else
    narrow = createProduct(builder, narrowType);
  replaceReads(narrow);
  if (product->use_empty())
    product->erase();
  return true;
}

namespace {
struct RoundProducts : remat::impl::RoundProductsPassBase<RoundProducts> {
  using RoundProductsPassBase::RoundProductsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !getTargetFacts(func).getBiases())
      return;
    for (Block &block : func.getBody())
      for (linalg::LinalgOp product : getProducts(block))
        if (ProductRounder(product, onlySums).run())
          ++numProducts;
  }
};
} // namespace
