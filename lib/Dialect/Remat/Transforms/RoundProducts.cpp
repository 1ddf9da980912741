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
#include "remat/Utils/ConvolutionBias.h"
#include "remat/Utils/Epilogues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace remat {
#define GEN_PASS_DEF_ROUNDPRODUCTSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// The readers of one product, and what they round. The product may be a
/// convolution.
class ProductRounder {
public:
  ProductRounder(Operation *product, bool onlySums)
      : product(product), onlySums(onlySums) {}

  /// Whether anything has been rewritten.
  bool run();

private:
  bool isOfLibrary();
  bool isMadeAlready() const;
  bool hasTypes();
  bool findRounded(OpOperand &read);
  bool findRounded(OpOperand &read, Value wide);
  bool isRounding(Operation *op) const;
  bool takeBias(OpOperand &read, Value element);
  bool isAlongFeatures(OpOperand &operand, OpOperand &read) const;
  bool findPlace();
  Value createProduct(OpBuilder &builder, Type element);
  Value createSum(OpBuilder &builder, Value wide);
  void replaceReads(Value narrow);

  Operation *product;
  /// The dimension of the product that a bias is added along.
  unsigned featureDim = 0;
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

/// Whether the library adds a bias to such a product.
bool ProductRounder::isOfLibrary() {
  if (auto conv = dyn_cast<ConvOp>(product)) {
    if (!addsConvolutionBias(getTargetFacts(conv)) || !mayHaveBias(conv))
      return false;
    featureDim = getFeatureDim(conv);
    return true;
  }
  auto contraction = cast<linalg::LinalgOp>(product);
  if (!isLibraryProduct(contraction))
    return false;
  featureDim = cast<ShapedType>(product->getResult(0).getType()).getRank() - 1;
  return true;
}

/// Whether the library makes what reads the product.
bool ProductRounder::isMadeAlready() const {
  if (readers.reads.size() != 1)
    return false;
  auto reader = cast<linalg::GenericOp>(readers.reads[0]->getOwner());
  return isa<ConvOp>(product) ? matchConvolutionBias(reader).has_value()
                              : matchEpilogue(reader).has_value();
}

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

/// The dimension of a view of `type` that has the elements of dimension `dim`,
/// if there is one: it has as many, as far apart.
static std::optional<unsigned> findSeenDim(ShapedType type, unsigned dim,
                                           ShapedType view) {
  int64_t distance = 1;
  for (int64_t extent : type.getShape().drop_front(dim + 1))
    distance *= extent;
  int64_t inner = 1;
  for (unsigned seen = view.getRank(); seen-- > 0;) {
    if (inner == distance && view.getDimSize(seen) == type.getDimSize(dim))
      return seen;
    inner *= view.getDimSize(seen);
  }
  return std::nullopt;
}

/// Whether the reader goes along the vector `operand` as along the features of
/// the product, or along views of both.
bool ProductRounder::isAlongFeatures(OpOperand &operand,
                                     OpOperand &read) const {
  auto reader = cast<linalg::GenericOp>(read.getOwner());
  ArrayRef<AffineExpr> added =
      reader.getMatchingIndexingMap(&operand).getResults();
  ArrayRef<AffineExpr> seen = reader.getMatchingIndexingMap(&read).getResults();
  auto made = cast<ShapedType>(product->getResult(0).getType());
  if (featureDim + 1 != made.getRank()) {
    std::optional<unsigned> dim =
        findSeenDim(made, featureDim, cast<ShapedType>(read.get().getType()));
    return dim && added.size() == 1 && added[0] == seen[*dim];
  }
  // A row of the product may be seen as several dimensions, and the bias, too.
  ArrayRef<int64_t> shape =
      cast<ShapedType>(operand.get().getType()).getShape();
  ArrayRef<int64_t> whole = cast<ShapedType>(read.get().getType()).getShape();
  return shape.size() <= whole.size() &&
         shape == whole.take_back(shape.size()) &&
         added == seen.take_back(shape.size());
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
      vector.getDimSize(0) != made.getDimSize(featureDim) ||
      (bias && bias != root) || !isAlongFeatures(operand, read))
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
  if (isa<ConvOp>(product)) {
    Operation *wider = builder.clone(*product);
    wider->getResult(0).setType(made.clone(element));
    return wider->getResult(0);
  }
  Location loc = product->getLoc();
  Value zeros = createZeros(builder, loc, made.clone(element));
  auto contraction = linalg::ContractOp::create(
      builder, loc, TypeRange(zeros.getType()),
      ValueRange{product->getOperand(0), product->getOperand(1)},
      ValueRange(zeros), cast<linalg::LinalgOp>(product).getIndexingMaps());
  copyBackward(product, contraction);
  return contraction->getResult(0);
}

/// The sum of the product in f32 and the bias, rounded.
Value ProductRounder::createSum(OpBuilder &builder, Value wide) {
  auto type = cast<RankedTensorType>(wide.getType()).clone(narrowType);
  Location loc = product->getLoc();
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
  AffineMap features =
      AffineMap::get(rank, 0, all.getResult(featureDim), context);
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  auto sum = linalg::GenericOp::create(
      builder, loc, type, ValueRange{wide, added}, init,
      ArrayRef<AffineMap>{all, features, all},
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
  if (!isOfLibrary() || !hasTypes() || hasPolicy(product) ||
      !readers.collect(product->getResult(0), product->getBlock()) ||
      readers.reads.empty() || isMadeAlready())
    return false;
  if (!llvm::all_of(readers.reads,
                    [&](OpOperand *read) { return findRounded(*read); }) ||
      isPlain == static_cast<bool>(bias) || (isa<ConvOp>(product) && isPlain) ||
      !findPlace())
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
    for (Block &block : func.getBody()) {
      SmallVector<Operation *> products;
      for (linalg::LinalgOp product : getProducts(block))
        products.push_back(product);
      for (ConvOp conv : block.getOps<ConvOp>())
        products.push_back(conv);
      for (Operation *product : products)
        if (ProductRounder(product, onlySums).run())
          ++numProducts;
    }
  }
};
} // namespace
