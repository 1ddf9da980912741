//===- StepFlags.h - the options of a step as flags -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_STEPFLAGS_H
#define REMAT_TOOLS_COMMON_STEPFLAGS_H

#include "common/Manifest.h"

#include "remat/Pipelines/StepOptions.h"
#include "remat/Utils/TextOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CommandLine.h"

#include <deque>

namespace remat::tools {

/// Command line flags for the table of StepOptions.h.
class StepFlags {
public:
  /// Makes a flag for each option that any of `stages` reads, but for those
  /// called as in `except`.
  explicit StepFlags(llvm::cl::OptionCategory &category,
                     unsigned stages = AllStages,
                     llvm::ArrayRef<llvm::StringRef> except = {});

  /// Sets the options that were given. An error names the flag.
  llvm::Error apply(StepOptions &options) const;

  bool has(llvm::StringRef name) const { return find(name); }
  bool isGiven(llvm::StringRef name) const;
  /// What was given for the flag called `name`, which must exist.
  std::string getText(llvm::StringRef name) const;
  /// The flag called `name`, which must exist.
  llvm::cl::Option &getFlag(llvm::StringRef name) const;

  /// An error if an option was given that is called as in `names`. `why` says
  /// why it has no effect.
  llvm::Error refuse(llvm::ArrayRef<llvm::StringRef> names,
                     llvm::StringRef why) const;
  /// The same for all other options. The error lists those of `names`.
  llvm::Error refuseAllBut(llvm::ArrayRef<llvm::StringRef> names,
                           llvm::StringRef why) const;
  /// The same for the options that no stage but those of `stages` reads.
  llvm::Error refuseStages(unsigned stages, llvm::StringRef why) const;

private:
  struct Flag {
    const StepOptionInfo *info;
    /// The two kinds of flag that there are: a list can be given several times.
    std::unique_ptr<llvm::cl::opt<std::string, false, TextParser>> value;
    std::unique_ptr<llvm::cl::list<std::string>> list;

    llvm::cl::Option &getOption() const;
    std::string getText() const;
  };

  const Flag *find(llvm::StringRef name) const;

  std::vector<Flag> flags;
  /// LLVM's options keep no copy of their descriptions.
  std::deque<std::string> descriptions;
  std::unique_ptr<llvm::cl::opt<bool>> noGradients;
  std::unique_ptr<llvm::cl::list<std::string>> planners;
  /// What went wrong with a library of planners.
  std::string loadFailure;
};

/// Checks that the arguments of the function to compile are those of the
/// manifest and names them. The manifest also says which function this is and
/// what to differentiate with respect to, if no flag did. A function that is
/// not there is left to the compiler to report.
llvm::Error applyManifest(const Manifest &manifest, const StepFlags &flags,
                          mlir::ModuleOp module, StepOptions &options);

/// The same with the manifest in the file `path`, unless this is empty. That
/// there is nothing to differentiate with respect to is an error.
llvm::Error applyManifestFile(llvm::StringRef path, const StepFlags &flags,
                              mlir::ModuleOp module, StepOptions &options);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_STEPFLAGS_H
