//===- CPUTarget.h - the target "cpu" ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CPU_CPUTARGET_H
#define REMAT_TARGET_CPU_CPUTARGET_H

#include "remat/Target/Target.h"

namespace remat::cpu {

/// Code for the host's processor, or one of its family, by LLVM; contractions
/// and convolutions by the runtime's library.
std::unique_ptr<Target> createTarget();

} // namespace remat::cpu

#endif // REMAT_TARGET_CPU_CPUTARGET_H
