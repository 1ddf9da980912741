//===- Structured.h - questions about structured operations -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_STRUCTURED_H
#define REMAT_UTILS_STRUCTURED_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace remat {

/// What `getStaticLoopRanges` returns, in a tenth of its time: the size of each
/// loop is that of the first dimension which it alone indexes. The other way,
/// by the inverse of all indexing maps, makes a map and several expressions for
/// each question.
llvm::SmallVector<int64_t> getLoopSizes(mlir::linalg::LinalgOp op);

/// Operations in the body of `op`, the terminator aside.
int64_t getBodySize(mlir::linalg::GenericOp op);

/// Whether CPUs call a function of the C library for each element on which the
/// scalar `op` works: many of those of f64.
bool isCalledFunction(mlir::Operation *op);

/// Points of the loops of `op`; ShapedType::kDynamic if that is not known.
int64_t getNumPoints(mlir::linalg::LinalgOp op);

/// Whether reading `value` costs next to nothing beside `points` of loops: a
/// scalar, or a tensor of at most an eighth as many elements.
bool isSmall(mlir::Value value, int64_t points);

using LoopList = llvm::SmallVector<int64_t>;

/// The loops that walk the leading dimensions of a tensor, of which there are
/// `rows` points; nothing if no dimensions make up so many.
std::optional<LoopList>
getLeadingLoops(mlir::AffineMap map, mlir::RankedTensorType type, int64_t rows);

/// The operands of `op` and what its regions read from outside.
llvm::SetVector<mlir::Value> getReadValues(mlir::Operation *op);

/// The value that all elements of `tensor` have, if it is a constant or a fill
/// by one; null otherwise.
mlir::TypedAttr getSplatConstant(mlir::Value tensor);

/// Whether all elements of `tensor` are known to be (positive) zero.
bool isZeroTensor(mlir::Value tensor);

/// The widening that is the last thing done to the elements of `value`, or of
/// what it is a view of, by a linalg.generic without reductions and without a
/// policy; null if there is none.
mlir::arith::ExtFOp findWidening(mlir::Value value);

/// Whether all that a body makes of `element` is rounded to 16 bits before the
/// body yields it.
bool isRoundedInBody(mlir::Value element);

/// Whether `body`, of a structured operation with two inputs and one init,
/// computes `init + a * b` of floats, up to conversions of `a` and `b` between
/// floating-point types. Upstream's test of a contraction is more tolerant: it
/// takes any unary operation on an input, such as a negation, for a conversion.
bool isContractionBody(mlir::Block &body);

/// A permutation of the dimensions of a tensor: for each dimension of the
/// result that of `input`.
struct Permutation {
  mlir::Value input;
  llvm::SmallVector<int64_t> dims;
};
/// What `op` does if it is only that.
std::optional<Permutation> matchPermutation(mlir::Operation *op);

/// How the inputs of a body `acc + cast(lhs) * cast(rhs)` are cast.
struct ContractionBody {
  mlir::linalg::TypeFn cast;
};
/// Matches the body of a structured operation with two inputs and one init.
std::optional<ContractionBody> matchContractionBody(mlir::linalg::LinalgOp op);

/// Whether the contraction starts from zeros, of either sign.
bool startsFromZeros(mlir::linalg::LinalgOp contraction);

/// A contraction, starting from zeros, and what it is added to.
struct AddedContraction {
  mlir::linalg::LinalgOp contraction;
  mlir::Value before;
};

/// What `sum` adds if it adds a contraction to a tensor, element by element and
/// not row by row.
std::optional<AddedContraction>
matchAddedContraction(mlir::linalg::GenericOp sum);

} // namespace remat

#endif // REMAT_UTILS_STRUCTURED_H
