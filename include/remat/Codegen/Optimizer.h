//===- Optimizer.h - LLVM's passes on the code of kernels -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_OPTIMIZER_H
#define REMAT_CODEGEN_OPTIMIZER_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace remat::codegen {

/// Runs LLVM's passes for speed. `vectorizes` says whether scalar loops and
/// statements become vectors; on a GPU, threads take the place of lanes.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              bool vectorizes);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_OPTIMIZER_H
