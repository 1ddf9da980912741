//===- LibraryCall.h - kernels that a library carries out -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel may be one call of a library instead of generated code. A kind of
// call is one class in one file, lib/Codegen/Library: it recognizes kernels,
// counts their arithmetic, says how much workspace the call needs and writes it
// into the step table. Programs that embed remat add kinds of their own with
// `registerLibraryCall`.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_LIBRARYCALL_H
#define REMAT_CODEGEN_LIBRARYCALL_H

#include "remat/Runtime/StepTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace remat {
class StepTableBuilder;
struct StepEntry;
} // namespace remat

namespace remat::codegen {

/// One call of a library, which carries out one kernel.
class LibraryCall {
public:
  virtual ~LibraryCall();

  /// What an operand of the call is: an argument of the kernel, by its number,
  /// or a constant in it, whose elements are in the order of its shape.
  struct Operand {
    Operand(unsigned argument) : argument(argument) {}
    Operand(mlir::DenseElementsAttr constant) : constant(constant) {}
    unsigned argument = 0;
    mlir::DenseElementsAttr constant;
  };
  llvm::ArrayRef<Operand> getOperands() const { return operands; }

  /// Arithmetic; a multiplication and an addition count two.
  virtual int64_t countFlops() const = 0;

  /// Scratch bytes of the call on `threads` threads (0: all cores).
  virtual int64_t getWorkspaceBytes(int threads) const = 0;

  /// Describes the call in the step table and makes `entry` call it. Calls of
  /// an external function do nothing here.
  virtual void addTo(StepTableBuilder &table, StepEntry &entry) const {}

  /// The function of type remat_kernel_fn that carries the kernel out, with the
  /// buffers of `getOperands`, the results and the workspace, in one unit of
  /// work; empty for calls that the runtime knows. Whoever links the step
  /// provides it.
  virtual llvm::StringRef getSymbol() const { return {}; }

  /// The matmul that it is, or null.
  virtual const remat_matmul *getMatmul() const { return nullptr; }

  /// The convolution that it is, or null.
  virtual const remat_convolution *getConvolution() const { return nullptr; }

  /// Whether the kernel has execution plans for devices (`remat.plans`), and
  /// what workspace the largest of them needs.
  virtual std::optional<int64_t> getPlanWorkspaceBytes() const {
    return std::nullopt;
  }

  /// Whether these plans were chosen for their workspace, and are slower than
  /// others.
  virtual bool hasSecondPlans() const { return false; }

  /// Whether code can be generated for the kernel as well.
  virtual bool mayBeGenerated() const { return false; }

  /// Whether generated code is the better choice where nobody has measured.
  virtual bool isBetterGenerated() const { return false; }

protected:
  llvm::SmallVector<Operand, 3> operands;
};

/// Calls are shared by all that ask for them and never change.
using LibraryCallRef = std::shared_ptr<const LibraryCall>;

/// The call that `kernel` could be, or null.
using LibraryCallMatcher =
    std::function<LibraryCallRef(mlir::FunctionOpInterface kernel)>;

/// Adds a kind of library call under a name. It is asked before those that are
/// there already, so that it may take kernels from them. Returns false if the
/// name is taken. Safe to call from several threads, but not while kernels are
/// compiled.
bool registerLibraryCall(llvm::StringRef name, LibraryCallMatcher matcher);

/// The library call that `kernel` could be, or null.
LibraryCallRef describeLibraryCall(mlir::FunctionOpInterface kernel);

/// The library call that carries `kernel` out, or null if code is generated for
/// it. Where both are possible, the kernel's attribute `remat.implementation`
/// decides, which remat-choose-implementations sets; without it, the library is
/// called.
LibraryCallRef matchLibraryCall(mlir::FunctionOpInterface kernel);

/// Whether a library may carry out `kernel`, which is `call`, by a plan
/// (`remat.plans`) where a machine takes it, and generated code elsewhere: both
/// have the same operands in the same order.
bool mayBeEither(mlir::FunctionOpInterface kernel, const LibraryCall &call);

/// Whether `kernel` is carried out in this way.
bool isEither(mlir::FunctionOpInterface kernel);

/// The operation that makes the only result of `kernel`, seen through views;
/// null if there are several.
mlir::Operation *getResultMaker(mlir::FunctionOpInterface kernel);

/// The argument of a kernel that `value` is, if need be reshaped, or null.
mlir::BlockArgument getKernelArgument(mlir::Value value);

/// The argument of a kernel, or the constant in it, that `value` is, if need be
/// reshaped.
std::optional<LibraryCall::Operand> getCallOperand(mlir::Value value);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_LIBRARYCALL_H
