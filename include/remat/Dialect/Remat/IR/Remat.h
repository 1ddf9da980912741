//===- Remat.h - operations, attributes and types of the dialect -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ face of the remat dialect. The ops themselves are documented in the
// .td files beside this one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REMAT_H
#define REMAT_DIALECT_REMAT_IR_REMAT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "remat/Dialect/Remat/IR/RematDialect.h.inc"
#include "remat/Dialect/Remat/IR/RematEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematTypes.h.inc"

#define GET_OP_CLASSES
#include "remat/Dialect/Remat/IR/RematOps.h.inc"

namespace remat {

/// Buffers start at multiples of this many bytes, and sizes are rounded up to
/// it wherever bytes are counted.
constexpr int64_t bufferAlignment = 64;

/// The bytes of one element in a buffer. An i1 takes a byte, an index eight, a
/// complex number two floats.
int64_t getElementBytes(mlir::Type elementType);

/// The largest buffer; a graph of many still adds up without overflow.
constexpr int64_t maxBufferBytes = int64_t(1) << 48;

/// Whether values of the type can be buffers: a ranked tensor of static shape
/// without an encoding, of integers, floats, complex numbers or indices, whose
/// size is far from overflowing (at most `maxBufferBytes`).
bool isBufferType(mlir::Type type);

/// The bytes that a value of a buffer type takes, rounded up to
/// `bufferAlignment`. An i1 takes a byte, an index eight. Zero for a tensor
/// without elements.
int64_t getBufferBytes(mlir::RankedTensorType type);

/// Whether `op` is a view in a graph: its result shares its operand's buffer.
bool isViewOp(mlir::Operation *op);

/// The value at the end of the chain of views that `value` stands on: what
/// owns its buffer.
mlir::Value getViewRoot(mlir::Value value);

/// Whether `body`, of a structured operation with two inputs and one init,
/// computes `init + a * b` of floats, up to conversions of `a` and `b` between
/// floating-point types. Upstream's test of a contraction is more tolerant: it
/// takes any unary operation on an input, such as a negation, for a conversion.
bool isProductBody(mlir::Block &body);

/// The kernel that copy `copy` of a task with `kernel` calls if the kernel
/// reads the copy's number (`remat.copy_number`).
std::string getCopyKernelName(llvm::StringRef kernel, int64_t copy);

/// Whether the operation only passes its operand on: `remat.tag` and
/// `remat.stop_gradient`.
bool isTransparentOp(mlir::Operation *op);

/// What computed `value`, seen through views and transparent operations; null
/// for an argument.
mlir::Operation *getProducer(mlir::Value value);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_REMAT_H
