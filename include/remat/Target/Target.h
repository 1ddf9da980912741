//===- Target.h - machines that steps are compiled for ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one thing that knows a machine. What passes have to know of it before
// code is generated is data, #remat.target; how kernels are analyzed, lowered,
// written to files and loaded is behind this class. A target adds itself to a
// table of names, so that tools, pipelines and cost models include no target's
// headers.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_TARGET_H
#define REMAT_TARGET_TARGET_H

#include "remat/Codegen/KernelCache.h"
#include "remat/Codegen/KernelInfo.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/StepTable.h"
#include "remat/Target/ConvolutionChoice.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace remat {

/// How a placed graph is lowered.
struct LoweringOptions {
  /// The symbol of the `remat_module`.
  std::string name = "remat_step";
  /// Threads that workspaces of library calls are sized for; 0: all cores.
  int threads = 0;
  /// Whether products of f32 may be multiplied as TF32 (REMAT_TABLE_TF32).
  bool allowsTf32 = false;
  /// The processor that loops are cut for, as in EmitOptions. The code is right
  /// for any other, if not as fast.
  std::string chip{};
};

/// What libraries of a target carry out beside what they always do.
struct LibraryOptions {
  /// Convolutions, by execution plans that a library makes (`remat.plans`).
  ConvolutionChoice convolutions = ConvolutionChoice::Generated;
  ConvolutionPlans convolutionPlans = ConvolutionPlans::Fastest;
  /// As in LoweringOptions.
  bool allowsTf32 = false;
  /// The device that there are plans for, as in EmitOptions; empty for all.
  std::string chip;
  /// What runs the code, as in EmitOptions.
  std::string device;
};

/// What another layout of tensors costs, and what it has to bring.
struct LayoutCosts {
  /// Bytes that a library copies in the time of one that is transposed.
  int64_t transposed;
  /// The part of the time of convolutions that is saved, at least.
  double minGain;
  /// An element with fewer bytes takes as long to be copied as one with these.
  int64_t elementBytes;
};

/// How machine code is made. The code does not depend on `cache`.
struct EmitOptions {
  /// The processor, by the name that the target's compiler knows, as in
  /// `-mcpu`; empty for the host's.
  std::string chip;
  /// Where kernels are looked for and kept, or null.
  codegen::KernelCache *cache = nullptr;
  /// What runs code that is loaded into this process, by a name that the target
  /// knows; empty for what it is made for.
  std::string device;
  /// The directory of a CUDA toolkit; empty for the one that is found.
  std::string toolkit;
};

/// What the code of a module is written as.
enum class OutputKind { Object, Assembly };

/// Code of a step in this process. The `remat_module` and steps loaded from it
/// are valid as long as this object lives.
class LoadedModule {
public:
  virtual ~LoadedModule();
  /// Never null.
  virtual const remat_module *getModule() const = 0;
};

/// What measured times depend on, by name. What is not known is not there.
using MachineFacts = std::map<std::string, std::string>;

/// What steps are compiled for: how kernels are carried out there, and how the
/// code of a step is made. There is one object for each target, which the table
/// of targets owns.
class Target {
public:
  explicit Target(llvm::StringRef name) : name(name) {}
  virtual ~Target();

  llvm::StringRef getName() const { return name; }

  /// Fails, with what to do, if `device` is neither empty nor the name of what
  /// runs code of this target in this process.
  virtual llvm::Error checkDevice(llvm::StringRef device) const = 0;

  /// The facts that passes go by where the IR says no others. `chip` is the
  /// only machine of its kind that code is for, as the option `mcpu` names it,
  /// and empty if there are others.
  virtual TargetAttr getFacts(mlir::MLIRContext *context,
                              llvm::StringRef chip) const;

  /// What is known, beside the target's name, of the machine that code with
  /// these options runs on, on `threads` threads of the host (0: all cores).
  /// Fails if there is no such machine.
  virtual llvm::Expected<MachineFacts>
  describeMachine(const EmitOptions &options, int threads) const;

  /// How `kernel` will be carried out, and what it needs. Fails with a
  /// diagnostic at an op that the target does not support.
  virtual mlir::FailureOr<codegen::KernelInfo>
  analyzeKernel(mlir::FunctionOpInterface kernel, int threads) const = 0;

  /// Gives kernels that have none the execution plans that the target's
  /// libraries make of them, before it is chosen how they are carried out.
  /// Fails with a diagnostic if a library is missing that was asked for; one
  /// that was left to choose makes none, and a remark says why.
  virtual llvm::LogicalResult
  makeLibraryPlans(mlir::ModuleOp module, const LibraryOptions &options) const;

  /// Whether rows of matrices should begin at multiples of REMAT_ROW_ALIGNMENT
  /// bytes, so that libraries and generated code read them in vectors.
  virtual bool wantsAlignedRows() const { return false; }

  /// Bytes of its input and output that a convolution copies on its way, as
  /// they are in a layout that the library does not take which carries it out.
  virtual int64_t countCopiedBytes(const remat_convolution &conv,
                                   const LibraryOptions &options) const = 0;

  /// The channels that the library which carries a convolution out multiplies
  /// at a time; 1 if it has no use for more than there are.
  virtual int64_t getChannelMultiple(const remat_convolution &conv,
                                     const LibraryOptions &options) const {
    return 1;
  }

  /// What the layouts of convolutions' tensors are weighed by.
  virtual LayoutCosts getLayoutCosts() const = 0;

  /// Whether it is cheap to carry out the first convolution of a network again,
  /// beside keeping its result.
  virtual bool hasCheapStems() const = 0;

  /// Replaces the contents of `module`, one placed remat.graph and the kernels
  /// that it calls, by code that defines one `remat_module`. Fails with a
  /// diagnostic at what cannot be compiled.
  virtual llvm::LogicalResult lower(mlir::ModuleOp module,
                                    const LoweringOptions &options) const = 0;

  /// Adds the passes that do the same to a pipeline of modules.
  virtual void addLowering(mlir::OpPassManager &pm,
                           const LoweringOptions &options) const = 0;

  /// Writes the code of a module that `lower` made.
  virtual llvm::Error emit(mlir::ModuleOp module, const EmitOptions &options,
                           OutputKind kind,
                           llvm::raw_pwrite_stream &output) const = 0;

  /// Lowers a module with one placed graph, in place, and loads its code into
  /// this process. What cannot be compiled gives diagnostics and an error.
  virtual llvm::Expected<std::unique_ptr<LoadedModule>>
  load(mlir::ModuleOp module, const LoweringOptions &lowering,
       const EmitOptions &emission) const = 0;

private:
  std::string name;
};

/// Adds a target to the table. Returns false, and drops it, if its name is
/// taken. Safe to call from several threads.
bool registerTarget(std::unique_ptr<Target> target);

/// The names of all targets, sorted.
std::vector<std::string> getTargetNames();

/// The target called `name`, or an error that names those there are.
llvm::Expected<const Target *> lookupTarget(llvm::StringRef name);

/// The target that `op` is compiled for (getTargetFacts), or null with a
/// diagnostic if it is not known.
const Target *lookupTarget(mlir::Operation *op);

} // namespace remat

#endif // REMAT_TARGET_TARGET_H
