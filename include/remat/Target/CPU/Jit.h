//===- Jit.h - compile a step and run it in this process --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CPU_JIT_H
#define REMAT_TARGET_CPU_JIT_H

#include "remat/Target/Target.h"

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace remat::cpu {

/// Machine code of a step in memory. The `remat_module` and steps loaded from
/// it are valid as long as this object lives.
class JitModule : public LoadedModule {
public:
  /// Compiles a module with one placed graph. The module is lowered in place
  /// (lowerToLLVM). What cannot be compiled gives diagnostics and an error,
  /// and so does a CPU whose code this machine may be unable to run.
  static llvm::Expected<std::unique_ptr<JitModule>>
  create(mlir::ModuleOp module, const LoweringOptions &options,
         const EmitOptions &emission);
  /// Compiles and links a module that is lowered already, and defines
  /// `options.name`. Its code may call `symbols` beside what this process has.
  static llvm::Expected<std::unique_ptr<JitModule>>
  link(mlir::ModuleOp module, const LoweringOptions &options,
       const EmitOptions &emission,
       llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols = {});
  ~JitModule() override;

  const remat_module *getModule() const override { return module; }

private:
  explicit JitModule(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
  const remat_module *module = nullptr;
};

} // namespace remat::cpu

#endif // REMAT_TARGET_CPU_JIT_H
