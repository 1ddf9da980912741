//===- TargetMachine.h - the CPU that code is for ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CPU_TARGETMACHINE_H
#define REMAT_TARGET_CPU_TARGETMACHINE_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace remat::cpu {

/// The machine that code is generated for, by a name as in `-mcpu`: a CPU with
/// the features that belong to it. Empty, or `native`, is the host with all
/// that it has. Fails if there is no such CPU.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef chip);

/// What `machine` has of all that machines like this one may have, by LLVM's
/// names, sorted.
std::vector<std::string> getFeatures(const llvm::TargetMachine &machine);

/// Those of them that code for `machine` may need without naming them.
std::vector<std::string> getCodeFeatures(const llvm::TargetMachine &machine);

/// Whether `machine` has what LLVM calls `feature` on x86.
bool hasX86Feature(const llvm::TargetMachine &machine, llvm::StringRef feature);

/// Fails if code for the CPU may have instructions that this machine lacks, or
/// if there is no such CPU.
llvm::Error checkRunsHere(llvm::StringRef chip);

} // namespace remat::cpu

#endif // REMAT_TARGET_CPU_TARGETMACHINE_H
