//===- Codecs.h - how saved values are packed -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attribute `codec` of remat.scope and remat.tag: one codec, or several of
// which the first counts that takes a value.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_CODECS_H
#define REMAT_DIALECT_REMAT_IR_CODECS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"

namespace remat {

/// The codecs that remat has itself, from the most exact form to the smallest.
/// One rounds each element on its own, the others give the 64 elements of a
/// block a common scale.
enum class ElementCodec {
  /// Elements rounded to bf16, each by at most 2^-8 of itself.
  BF16,
  /// A byte for each element, by which it is a signed integer times the scale
  /// of its block, rounded by at most 1/254 of the block's largest magnitude.
  Int8,
  /// A byte in the format E4M3 (4 bits of exponent, 3 of mantissa) times the
  /// scale, rounded by at most 2^-4 of the element, or, below 1/28672 of the
  /// block's largest magnitude, by at most 1/458752 of that.
  FP8,
  /// Half a byte: an integer from -7 to 7, rounded by at most 1/14 of the
  /// block's largest magnitude.
  Int4
};

/// The names: bf16, int8, fp8, int4.
llvm::ArrayRef<llvm::StringRef> getElementCodecNames();
llvm::StringRef getElementCodecName(ElementCodec codec);
/// The codec of a name; nothing for a name that is not one of these.
std::optional<ElementCodec> parseElementCodec(llvm::StringRef name);

/// Checks the attribute `codec` of `op`; none is right.
mlir::LogicalResult verifyCodec(mlir::Operation *op, mlir::Attribute codec);

/// The pair of functions that `codec` is, or null.
mlir::ArrayAttr getCodecPair(mlir::Attribute codec);

/// The codecs that `codec` lists, or itself.
llvm::SmallVector<mlir::Attribute> getCodecs(mlir::Attribute codec);

/// Checks that `pair` names, seen from `op`, two functions with bodies of one
/// block, of which the second takes what the first makes of one tensor, and may
/// take a destination of the type of its only result.
mlir::LogicalResult checkCodecFunctions(mlir::Operation *op,
                                        mlir::ArrayAttr pair);

/// Whether `codec`, which is no list, takes values with elements of this type.
/// Functions are looked up from `op`; those that are not there take none.
bool takesElements(mlir::Operation *op, mlir::Attribute codec,
                   mlir::Type element);

/// Whether an operation that asks for `codec` is about values with elements of
/// this type. One without a codec that takes it is an error if they are
/// floating-point numbers, and left alone otherwise.
bool concernsElements(mlir::Operation *op, mlir::Attribute codec,
                      mlir::Type element);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_CODECS_H
