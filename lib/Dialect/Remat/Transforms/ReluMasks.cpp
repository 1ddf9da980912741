//===- ReluMasks.cpp - gradients of ReLUs by masks ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-form-epilogues`. What is made here is what
// `matchReluMask` and `matchReluGradient` know.
//
//===----------------------------------------------------------------------===//

#include "ReluMasks.h"

#include "KernelPool.h"
#include "ProductReaders.h"

#include "remat/Dialect/Remat/IR/LibraryMasks.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Epilogues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

using IteratorType = utils::IteratorType;

/// `type` with its last dimension as bytes of elements.
static RankedTensorType splitBytes(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= maskByteElements;
  shape.push_back(maskByteElements);
  return RankedTensorType::get(shape, type.getElementType());
}

/// How the dimensions of `splitBytes` are those of a tensor of `rank`.
static SmallVector<ReassociationIndices> getGroups(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < rank; ++dim)
    groups.push_back({dim});
  groups.back().push_back(rank);
  return groups;
}

/// The index of the last of `rank` dimensions as a number of bits.
static Value createBitNumber(OpBuilder &builder, Location loc, int64_t rank) {
  return arith::IndexCastOp::create(
      builder, loc, builder.getI8Type(),
      linalg::IndexOp::create(builder, loc, rank - 1));
}

/// Makes the mask of the result of `relu`, behind that.
static linalg::GenericOp createMask(linalg::GenericOp relu) {
  OpBuilder builder(relu->getContext());
  builder.setInsertionPointAfter(relu);
  Location loc = relu.getLoc();
  Value result = relu->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  RankedTensorType split = splitBytes(type);
  int64_t rank = split.getRank();
  Value bytes = tensor::ExpandShapeOp::create(builder, loc, split, result,
                                              getGroups(type.getRank()));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  Value empty = tensor::EmptyOp::create(
      builder, loc, split.getShape().drop_back(), builder.getI8Type());
  Value zeros = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  AffineMap kept = all.dropResult(rank - 1);
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.back() = IteratorType::reduction;
  auto mask = linalg::GenericOp::create(
      builder, loc, zeros.getType(), bytes, zeros, {all, kept}, iterators,
      [&](OpBuilder &b, Location inner, ValueRange values) {
        // A nan is above 0 here, as the result of a ReLU is nan there.
        Value isAbove = arith::CmpFOp::create(
            b, inner, arith::CmpFPredicate::UGT, values[0], none);
        Value bit =
            arith::ExtUIOp::create(b, inner, builder.getI8Type(), isAbove);
        bit = arith::ShLIOp::create(b, inner, bit,
                                    createBitNumber(b, inner, rank));
        Value bits = arith::OrIOp::create(b, inner, values[1], bit);
        linalg::YieldOp::create(b, inner, bits);
      });
  copyBackward(relu, mask);
  mask->setAttr(libraryMaskAttrName, builder.getUnitAttr());
  return mask;
}

/// Lets the gradient that `reader` makes read `mask`.
static void readMask(linalg::GenericOp reader, const ReluGradient &gradient,
                     Value mask) {
  OpBuilder builder(reader);
  Location loc = reader.getLoc();
  auto type = cast<RankedTensorType>(reader->getResult(0).getType());
  RankedTensorType split = splitBytes(type);
  int64_t rank = split.getRank();
  unsigned number = reader.getDpsInputs()[0] == gradient.made ? 1 : 0;
  Value product = tensor::ExpandShapeOp::create(builder, loc, split,
                                                reader.getDpsInputs()[number],
                                                getGroups(type.getRank()));
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  Value empty = tensor::EmptyOp::create(builder, loc, split.getShape(),
                                        split.getElementType());
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  auto masked = linalg::GenericOp::create(
      builder, loc, split, ValueRange{product, mask}, empty,
      {all, all.dropResult(rank - 1), all},
      SmallVector<IteratorType>(rank, IteratorType::parallel),
      [&](OpBuilder &b, Location inner, ValueRange values) {
        Value bit = arith::ShRUIOp::create(b, inner, values[1],
                                           createBitNumber(b, inner, rank));
        bit = arith::TruncIOp::create(b, inner, builder.getI1Type(), bit);
        Value kept = arith::SelectOp::create(b, inner, bit, values[0], none);
        linalg::YieldOp::create(b, inner, kept);
      });
  copyBackward(reader, masked);
  masked->setAttr(libraryMaskAttrName, builder.getUnitAttr());
  Value result = tensor::CollapseShapeOp::create(
      builder, loc, type, masked->getResult(0), getGroups(type.getRank()));
  reader->getResult(0).replaceAllUsesWith(result);
  reader.erase();
}

/// Whether `maker` alone reads `product`, in the same phase, so that a library
/// makes both in one call.
static bool isOneCall(linalg::LinalgOp product, linalg::GenericOp maker) {
  bool isOnly = true;
  forEachReader(product->getResult(0),
                [&](Operation *reader) { isOnly &= reader == maker; });
  return isOnly && product->getBlock() == maker->getBlock() &&
         !hasPolicy(product) && !hasPolicy(maker) &&
         product->getAttr(RematDialect::backwardAttrName) ==
             maker->getAttr(RematDialect::backwardAttrName);
}

/// The ReLU that a library can write the mask of, and whose gradient `reader`
/// makes; null if it is none.
static linalg::GenericOp findRelu(linalg::GenericOp reader,
                                  const ReluGradient &gradient) {
  auto relu = gradient.made.getDefiningOp<linalg::GenericOp>();
  if (gradient.isMask || !relu || relu->getBlock() != reader->getBlock() ||
      !isOneCall(gradient.contraction, reader))
    return {};
  std::optional<Epilogue> epilogue = matchEpilogue(relu);
  return epilogue && epilogue->activation == Activation::Relu &&
                 isOneCall(epilogue->contraction, relu)
             ? relu
             : linalg::GenericOp();
}

unsigned remat::maskRelus(Block &block) {
  unsigned count = 0;
  DenseMap<Operation *, Value> masks;
  for (auto op : llvm::to_vector(block.getOps<linalg::GenericOp>())) {
    std::optional<ReluGradient> gradient = matchReluGradient(op);
    linalg::GenericOp relu =
        gradient ? findRelu(op, *gradient) : linalg::GenericOp();
    if (!relu)
      continue;
    Value &mask = masks[relu];
    if (!mask)
      mask = createMask(relu)->getResult(0);
    readMask(op, *gradient, mask);
    ++count;
  }
  return count;
}
