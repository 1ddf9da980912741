//===- OrderedFloats.h - floats as integers in their order ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `arith.maximumf` lets a NaN win and has 0 above -0. No processor's maximum of
// floats does both, so that each step of a reduction takes several instructions
// which wait for the one before. Integers in the order of the floats have a
// maximum in one instruction, and what makes them waits for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_ORDEREDFLOATS_H
#define REMAT_LIB_TARGET_CPU_ORDEREDFLOATS_H

#include "remat/Codegen/Reduction.h"

namespace remat::cpu {

/// Whether `accumulator` is a maximum or minimum of floats whose integers a
/// vector of the machine compares.
bool hasOrderedKey(const codegen::Accumulator &accumulator);

/// The integer of `value`: those of numbers are in the order of these, -0
/// before 0, and that of NaN is the one that `accumulator` keeps of all.
mlir::Value emitOrderedKey(mlir::OpBuilder &builder, mlir::Location loc,
                           const codegen::Accumulator &accumulator,
                           mlir::Value value);

/// The integer that `accumulator` keeps of two.
mlir::Value emitKeptKey(mlir::OpBuilder &builder, mlir::Location loc,
                        const codegen::Accumulator &accumulator,
                        mlir::Value lhs, mlir::Value rhs);

/// The float of an integer.
mlir::Value emitFromKey(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value key, mlir::Type type);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_ORDEREDFLOATS_H
