//===- Utils.h - what several import passes need --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_IMPORT_UTILS_H
#define REMAT_CONVERSION_IMPORT_UTILS_H

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

#include "remat/Conversion/Import/Passes.h"

namespace remat::import {

/// On a remat.tag: the location of an operation that overwrites the value, or a
/// unit where a value only must not be fused away.
constexpr llvm::StringLiteral overwrittenAttrName = "overwritten";

/// On a remat.overwritten: the number of the buffer.
constexpr llvm::StringLiteral bufferAttrName = "buffer";

/// The location that marks an operation as part of the backward computation:
/// one named `remat.backward` around `loc`. Passes keep locations where they
/// drop attributes.
mlir::Location getBackwardLoc(mlir::Location loc);

/// Whether `loc` was made by `getBackwardLoc`.
bool isBackwardLoc(mlir::Location loc);

/// Moves the attribute `remat.backward` of all operations in `root` into their
/// locations.
void backwardToLocations(mlir::Operation *root);

/// The inverse of `backwardToLocations`.
void backwardToAttributes(mlir::Operation *root);

/// The value that all elements of `tensor` have, if it is a constant or a fill
/// by one; null otherwise.
mlir::TypedAttr getSplatConstant(mlir::Value tensor);

/// Whether all elements of `tensor` are known to be (positive) zero.
bool isZeroTensor(mlir::Value tensor);

/// A tensor of `type` filled with zeros.
mlir::Value createZeroTensor(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::RankedTensorType type);

/// The elementwise sum of two tensors of equal type.
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value lhs, mlir::Value rhs);

/// Operations in the body of `op`, the terminator aside.
int64_t getBodySize(mlir::linalg::GenericOp op);

/// Points of the loops of `op`; ShapedType::kDynamic if that is not known.
int64_t getNumPoints(mlir::linalg::LinalgOp op);

/// Whether reading `value` costs next to nothing beside `points` of loops: a
/// scalar, or a tensor of at most an eighth as many elements.
bool isSmall(mlir::Value value, int64_t points);

/// Reads inputs with equal constant elements as scalar constants, merges equal
/// inputs, drops unused ones and unused results. Returns what is left of
/// `generic`: null if nothing.
mlir::linalg::GenericOp simplifyGeneric(mlir::RewriterBase &rewriter,
                                        mlir::linalg::GenericOp generic);

/// Where all of an init is overwritten and nothing accumulated, makes the init
/// an empty tensor. If the body reads it, it becomes an input.
void normalizeInits(mlir::RewriterBase &rewriter,
                    mlir::linalg::GenericOp generic);

/// If `op` only permutes the dimensions of a tensor, its input and for each
/// dimension of the result the dimension of the input.
struct Permutation {
  mlir::Value input;
  llvm::SmallVector<int64_t> dims;
};
std::optional<Permutation> matchPermutation(mlir::Operation *op);

/// How the inputs of a body `acc + cast(lhs) * cast(rhs)` are cast.
struct ProductBody {
  mlir::linalg::TypeFn cast;
};
/// Matches the body of a structured operation with two inputs and one init.
std::optional<ProductBody> matchProductBody(mlir::linalg::LinalgOp op);

} // namespace remat::import

#endif // REMAT_CONVERSION_IMPORT_UTILS_H
