//===- StepTableEmission.h - the table of a placed graph --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_STEPTABLEEMISSION_H
#define REMAT_CODEGEN_STEPTABLEEMISSION_H

#include "remat/Codegen/KernelContext.h"

#include "remat/Codegen/KernelInfo.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/StepTableBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace remat::codegen {

/// How the tasks of one kernel are carried out that write the same results in
/// place.
struct CompiledKernel {
  /// For each result the operand that it is written over, if any.
  llvm::SmallVector<std::optional<unsigned>> inPlace;
  /// A call of a library, or null for generated code.
  LibraryCallRef call;
  /// Whether there is generated code beside the call.
  bool isEither = false;
  /// The loop that the call is, or null.
  LoopOp loop;
  /// Place in the table of kernels, unless the runtime makes the call.
  uint32_t number = 0;
  int64_t workspaceBytes = 0;
  /// Of generated code beside a call; the workspace has room for both.
  int64_t codeWorkspaceBytes = 0;
  int64_t extent = 1;
  int64_t grain = 1;
  /// On a device, what is launched, and where in the workspace the parameters
  /// are that follow operands and results.
  std::vector<DeviceLaunch> launches;
  std::vector<uint64_t> scratch;
  bool isOnDevice = false;
  /// The bytes of a row of each result without the gap behind it, or 0.
  std::vector<uint32_t> resultRows;
};

/// What tasks that share a CompiledKernel have in common.
std::string getCodeKey(TaskOp task);

/// The step table of `graph` (StepTable.h). Fails with a diagnostic at values
/// that it cannot describe: types that are no dtype, missing slots, too small a
/// workspace. `flags` are the table's.
/// `kernels` are by getCodeKey.
mlir::FailureOr<std::string>
buildStepTable(GraphOp graph, const llvm::StringMap<CompiledKernel> &kernels,
               const CheckList &checks, int threads, uint64_t flags);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_STEPTABLEEMISSION_H
