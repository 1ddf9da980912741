//===- Epilogues.h - what a library makes of a product ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library may add a bias to a product and apply an activation to the sum
// before it writes it, and do the same for their gradients. Task formation,
// which makes one kernel of a product and what is behind it, and code
// generation, which describes that kernel to the library, ask here what is of
// this kind.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_EPILOGUES_H
#define REMAT_UTILS_EPILOGUES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace remat {

enum class Activation { None, Relu, Gelu };

/// A product, what is added to each of its rows, and what is made of the sum.
struct Epilogue {
  mlir::linalg::LinalgOp contraction;
  /// Null for nothing.
  mlir::Value bias;
  Activation activation;
  /// Whether result 1 is the sum.
  bool keepsSum;
};

/// Elements of a row of the input of an activation, which is kept beside its
/// GELU, must be a multiple of this many, so that each row begins at a multiple
/// of 16 bytes.
constexpr int64_t keptRowElements = 8;

/// Whether the contraction is a product that epilogues can be made of, but for
/// its types: it starts from zeros and has no batch. Its last dimension is of
/// one factor, and all others are of the other, next to each other.
bool isLibraryProduct(mlir::linalg::LinalgOp op);

/// What `op` makes of a product, if it is nothing but that:
///
/// * It reads a contraction, seen through reshapes, and may read a vector along
///   the last dimension of both. The contraction has a result in f32, and the
///   form of `isLibraryProduct`.
/// * It adds both in f32. Result 0 is the sum, the maximum of that and 0, or
///   its GELU in the form with tanh; result 1 is the sum, beside a GELU.
///   Without a vector, the sum is the product, and result 0 is something else.
/// * Results and bias have one type: f32, or that of factors of 16 bits, to
///   which results are rounded once.
std::optional<Epilogue> matchEpilogue(mlir::linalg::GenericOp op);

/// A product and the input of the GELU whose gradient it is the last factor of.
struct GeluGradient {
  mlir::linalg::LinalgOp contraction;
  mlir::Value input;
};

/// The product that `op` multiplies, in f32, with the derivative of a GELU in
/// the form with tanh, and the input of that, if it does nothing else. Both are
/// f32 and as above.
std::optional<GeluGradient> matchGeluGradient(mlir::linalg::GenericOp op);

/// Elements of a row of a ReLU whose mask a library writes must be a multiple
/// of this many.
constexpr int64_t maskedRowElements = 128;

/// Elements whose bits are in one byte of a mask: that of element i of a row is
/// bit i % 8 of byte i / 8.
constexpr int64_t maskByteElements = 8;

/// The result of a ReLU whose mask `op` makes for the library
/// (LibraryMasks.h), if it does nothing else: it reads the result with its last
/// dimension as bytes of 8 elements, and sets the bits of those above 0.
mlir::Value matchReluMask(mlir::Operation *op);

/// A product whose elements are set to 0 where a ReLU did, as its gradient is.
struct ReluGradient {
  mlir::linalg::LinalgOp contraction;
  /// The result of the ReLU or, if `isMask`, its mask.
  mlir::Value made;
  bool isMask;
};

/// The product that `op` sets to 0, in f32, where the result of a ReLU is not
/// above 0, if it does nothing else. All are f32 and as above. Where it reads a
/// mask of the library, the last dimension of what it makes are the elements of
/// a byte.
std::optional<ReluGradient> matchReluGradient(mlir::linalg::GenericOp op);

/// Sums along all dimensions but the last, as the gradient of a bias is.
struct ColumnSums {
  mlir::Value summed;
  /// What adds up, in f32 and from zeros.
  mlir::linalg::LinalgOp sum;
};

/// The sums that `op` makes, if it does nothing else: it adds up, or rounds to
/// 16 bits what is made for nothing but that.
std::optional<ColumnSums> matchColumnSums(mlir::Operation *op);

/// The factor of `contraction` of which a library can also write `sums` of this
/// type: its last dimension is kept and all others are added up, and results
/// have that type.
std::optional<unsigned> findSummedFactor(mlir::linalg::LinalgOp contraction,
                                         const ColumnSums &sums,
                                         mlir::Type type);

/// Whether `op`, in the body of a linalg.generic, is the maximum of `value` and
/// 0, which keeps nan.
bool isRelu(mlir::Operation *op, mlir::Value value);

} // namespace remat

#endif // REMAT_UTILS_EPILOGUES_H
