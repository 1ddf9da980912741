//===- IndexBounds.cpp - do indexing maps stay in tensors? ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's verifier of structured operations looks at the first and at the
// last point only. A map with a remainder or with dimensions of different signs
// may leave a tensor between them.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/IndexBounds.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace remat;

/// Points that are looked at one by one.
static constexpr int64_t maxPoints = 1 << 16;

namespace {
/// The least and the greatest value of an expression.
struct IndexRange {
  int64_t low;
  int64_t high;
};
} // namespace

//===----------------------------------------------------------------------===//
// All points at once
//===----------------------------------------------------------------------===//

static std::optional<IndexRange> add(IndexRange a, IndexRange b) {
  IndexRange sum;
  if (llvm::AddOverflow(a.low, b.low, sum.low) ||
      llvm::AddOverflow(a.high, b.high, sum.high))
    return std::nullopt;
  return sum;
}

static std::optional<IndexRange> multiply(IndexRange a, IndexRange b) {
  IndexRange product{INT64_MAX, INT64_MIN};
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t corner;
      if (llvm::MulOverflow(x, y, corner))
        return std::nullopt;
      product.low = std::min(product.low, corner);
      product.high = std::max(product.high, corner);
    }
  return product;
}

/// The quotient or remainder by a constant.
static std::optional<IndexRange> divide(AffineExprKind kind, IndexRange a,
                                        IndexRange b) {
  int64_t divisor = b.low;
  if (b.low != b.high || divisor <= 0)
    return std::nullopt;
  if (kind == AffineExprKind::FloorDiv)
    return IndexRange{llvm::divideFloorSigned(a.low, divisor),
                      llvm::divideFloorSigned(a.high, divisor)};
  if (kind == AffineExprKind::CeilDiv)
    return IndexRange{llvm::divideCeilSigned(a.low, divisor),
                      llvm::divideCeilSigned(a.high, divisor)};
  if (llvm::divideFloorSigned(a.low, divisor) !=
      llvm::divideFloorSigned(a.high, divisor))
    return IndexRange{0, divisor - 1};
  return IndexRange{llvm::mod(a.low, divisor), llvm::mod(a.high, divisor)};
}

/// `ranges` are those of the dimensions.
static std::optional<IndexRange> evaluate(AffineExpr expr,
                                          ArrayRef<IndexRange> ranges) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return IndexRange{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ranges[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<IndexRange> a = evaluate(binary.getLHS(), ranges),
                            b = evaluate(binary.getRHS(), ranges);
  if (!a || !b)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(*a, *b);
  case AffineExprKind::Mul:
    return multiply(*a, *b);
  default:
    return divide(expr.getKind(), *a, *b);
  }
}

//===----------------------------------------------------------------------===//
// Point by point
//===----------------------------------------------------------------------===//

/// The range of `expr` over all points of the dimensions that it has, if these
/// are few. Dimensions that occur twice make the range of all points at once
/// too large.
static std::optional<IndexRange> evaluatePoints(AffineExpr expr,
                                                ArrayRef<int64_t> sizes) {
  SmallVector<unsigned> dims;
  int64_t points = 1;
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    if (!expr.isFunctionOfDim(dim))
      continue;
    dims.push_back(dim);
    if (llvm::MulOverflow(points, sizes[dim], points) || points > maxPoints)
      return std::nullopt;
  }
  IndexRange total{INT64_MAX, INT64_MIN};
  SmallVector<IndexRange> point(sizes.size(), IndexRange{0, 0});
  for (int64_t number = 0; number < points; ++number) {
    int64_t rest = number;
    for (unsigned dim : dims) {
      point[dim].low = point[dim].high = rest % sizes[dim];
      rest /= sizes[dim];
    }
    std::optional<IndexRange> value = evaluate(expr, point);
    if (!value)
      return std::nullopt;
    total.low = std::min(total.low, value->low);
    total.high = std::max(total.high, value->high);
  }
  return total;
}

/// A range that holds all values of `expr`: the smallest such range if that of
/// all points at once would not do.
static std::optional<IndexRange>
getRange(AffineExpr expr, ArrayRef<int64_t> sizes, int64_t size) {
  SmallVector<IndexRange> ranges;
  for (int64_t extent : sizes)
    ranges.push_back({0, extent - 1});
  std::optional<IndexRange> range = evaluate(expr, ranges);
  if (range && range->low >= 0 && range->high < size)
    return range;
  std::optional<IndexRange> exact = evaluatePoints(expr, sizes);
  return exact ? exact : range;
}

LogicalResult remat::verifyIndexingMap(Operation *op, const Twine &what,
                                       AffineMap map, ArrayRef<int64_t> shape,
                                       ArrayRef<int64_t> sizes) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t size = shape[dim];
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (ShapedType::isDynamic(size))
      continue;
    if (loop && sizes[loop.getPosition()] != size &&
        !ShapedType::isDynamic(sizes[loop.getPosition()]))
      return op->emitOpError()
             << what << " has size " << size << " in dimension " << dim
             << ", expected the size " << sizes[loop.getPosition()]
             << " of loop " << loop.getPosition();
    // There are no points if a loop has none.
    if (loop || llvm::any_of(sizes, [](int64_t extent) {
          return extent == 0 || ShapedType::isDynamic(extent);
        }))
      continue;
    std::optional<IndexRange> range = getRange(expr, sizes, size);
    if (range && range->low >= 0 && range->high < size)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << expr;
    InFlightDiagnostic diag =
        op->emitOpError() << what << " has size " << size << " in dimension "
                          << dim << ", but is accessed at '" << text << "'";
    if (range)
      diag << ", from " << range->low << " to " << range->high;
    return diag;
  }
  return success();
}
