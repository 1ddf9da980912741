//===- KernelContext.h - the function that loops are emitted to -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all emitters of one kernel share: the flat buffers that stand for the
// kernel's memrefs, access to them, and the report of failed checks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_KERNELCONTEXT_H
#define REMAT_CODEGEN_KERNELCONTEXT_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace mlir::memref {
class GetGlobalOp;
} // namespace mlir::memref

namespace remat::codegen {

/// The messages of checks, numbered over all kernels of a module.
class CheckList {
public:
  /// The number of `message`; equal messages share one.
  int32_t add(llvm::StringRef message);
  llvm::ArrayRef<std::string> getMessages() const { return messages; }

private:
  std::vector<std::string> messages;
  llvm::StringMap<int32_t> numbers;
};

/// The function that kernels call when a check fails:
/// void (status, check, index, bound). It keeps the first failure.
constexpr llvm::StringLiteral failFunctionName = "remat_kernel_fail";

/// What the emitters of one kernel's loops have in common.
struct KernelContext {
  /// For each root of the bufferized kernel its one-dimensional buffer. An i1
  /// is kept as i8 in memory.
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// Scalars that the kernel computes outside of structured ops.
  mlir::IRMapping scalars;
  /// The `remat_kernel_status *`.
  mlir::Value status;
  CheckList *checks;
  /// Where stack buffers go.
  mlir::Block *entry;

  /// Element `index` of the buffer of `root`, as a value of `elementType`.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value root, mlir::Type elementType,
                   mlir::Value index) const;
  /// Makes `value` element `index` of the buffer of `root`, in the type in
  /// which that keeps it.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
             mlir::Value root, mlir::Value index) const;

  /// Rewrites ops that only make sense before lowering, in place: loads of
  /// buffers, checks of indices, assertions, divisions. Returns what replaces
  /// the op's result, null for ops that stay. Fails with a diagnostic at loads
  /// of buffers without a static layout.
  mlir::FailureOr<mlir::Value> lowerOp(mlir::Operation *op) const;

  /// Makes the constant that `get` refers to a flat global of `module`, if that
  /// does not have it yet, and refers to it where `builder` is. Its symbol
  /// begins with `kernelName`. Fails with a diagnostic at a global without
  /// elements.
  llvm::LogicalResult addConstant(mlir::OpBuilder &builder,
                                  mlir::Operation *module,
                                  llvm::StringRef kernelName,
                                  mlir::memref::GetGlobalOp get);

private:
  void emitFailure(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value failed, llvm::StringRef message,
                   mlir::Value index, mlir::Value bound) const;
  void guardDivision(mlir::OpBuilder &builder, mlir::Operation *op) const;
};

/// Sum of `offset` and coefficient * index; all without overflow.
mlir::Value emitLinear(mlir::OpBuilder &builder, mlir::Location loc,
                       int64_t offset, llvm::ArrayRef<int64_t> coefficients,
                       llvm::ArrayRef<mlir::Value> indices);

/// The zero of a type of numbers, complex ones included.
mlir::Value emitZero(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Type type);

/// What arithmetic on indices has: it does not overflow.
inline constexpr auto nsw = mlir::arith::IntegerOverflowFlags::nsw;

/// A constant of type index.
mlir::Value emitIndex(mlir::OpBuilder &builder, mlir::Location loc,
                      int64_t value);

/// The type by which `elementType` is kept in memory.
mlir::Type getStorageType(mlir::Type elementType);

/// The flat form of a buffer: one dimension, with the elements as they are kept
/// in memory.
mlir::MemRefType getFlatType(mlir::MemRefType type);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_KERNELCONTEXT_H
