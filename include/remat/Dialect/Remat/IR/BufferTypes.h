//===- BufferTypes.h - types as bytes in memory -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_BUFFERTYPES_H
#define REMAT_DIALECT_REMAT_IR_BUFFERTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace remat {

/// Buffers start at multiples of this many bytes on every target; where bytes
/// are counted in a graph, sizes are rounded up to its target's alignment, a
/// multiple of this.
constexpr int64_t bufferAlignment = 64;

/// The bytes of one element in a buffer. An i1 takes a byte, an index eight, a
/// complex number two floats.
int64_t getElementBytes(mlir::Type elementType);

/// The largest buffer; a graph of many still adds up without overflow.
constexpr int64_t maxBufferBytes = int64_t(1) << 48;

/// Whether extents multiply to at most `maxBufferBytes`, with the bytes of an
/// element if they are known. Extents that are dynamic or 0 are left out, so
/// that a product of some extents is far from overflowing, too.
bool hasBufferSize(mlir::ShapedType type);

/// Whether values of the type can be buffers: a ranked tensor of static shape
/// without an encoding, of integers, floats, complex numbers or indices, that
/// `hasBufferSize`.
bool isBufferType(mlir::Type type);

/// The bytes that a value of a buffer type takes, rounded up to
/// `bufferAlignment`. An i1 takes a byte, an index eight. Zero for a tensor
/// without elements.
int64_t getBufferBytes(mlir::RankedTensorType type);

/// Bytes of a tensor's buffer.
int64_t getBufferBytes(mlir::Value value);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_BUFFERTYPES_H
