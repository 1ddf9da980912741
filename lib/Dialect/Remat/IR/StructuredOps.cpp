//===- StructuredOps.cpp - what bodies of structured ops compute ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/LoopSizes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace remat;

/// Looks through conversions between floating-point types.
static Value skipFloatCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool remat::isProductBody(Block &body) {
  Operation *terminator = body.getTerminator();
  if (body.getNumArguments() != 3 || terminator->getNumOperands() != 1)
    return false;
  BlockArgument accumulator = body.getArgument(2);
  auto sum = terminator->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return false;
  Value term = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = term.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  Value lhs = skipFloatCasts(product.getLhs());
  Value rhs = skipFloatCasts(product.getRhs());
  Value a = body.getArgument(0), b = body.getArgument(1);
  return (lhs == a && rhs == b) || (lhs == b && rhs == a);
}

SmallVector<int64_t> remat::getLoopSizes(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes(maps.front().getNumDims(), ShapedType::kDynamic);
  for (auto [type, map] : llvm::zip(op->getOperandTypes(), maps)) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      continue;
    for (auto [size, expr] : llvm::zip(shaped.getShape(), map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && sizes[loop.getPosition()] == ShapedType::kDynamic)
        sizes[loop.getPosition()] = size;
  }
  return sizes;
}

bool remat::isMatrixProductInRow(linalg::LinalgOp product,
                                 ArrayRef<int64_t> rows) {
  if (product->getNumOperands() != 3 ||
      product.getNumLoops() != rows.size() + 2)
    return false;
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  SmallVector<int64_t> sizes = getLoopSizes(product);
  unsigned pairs = 0;
  for (unsigned loop = 0; loop < product.getNumLoops(); ++loop) {
    if (llvm::is_contained(rows.drop_back(), static_cast<int64_t>(loop)))
      continue;
    unsigned readers = 0;
    for (auto [number, map] : llvm::enumerate(maps))
      readers |= map.isFunctionOfDim(loop) ? 1u << number : 0;
    bool isLongSum = !maps[2].isFunctionOfDim(loop) &&
                     static_cast<int64_t>(loop) != rows.back() &&
                     sizes[loop] > maxSumLength;
    if (llvm::popcount(readers) != 2 || isLongSum)
      return false;
    // A pair is known by the operand that is not in it.
    pairs |= 7u & ~readers;
  }
  return pairs == 7;
}
