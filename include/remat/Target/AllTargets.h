//===- AllTargets.h - the targets that remat has ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_ALLTARGETS_H
#define REMAT_TARGET_ALLTARGETS_H

namespace remat {

/// Adds all targets that this build has to the table (Target.h). May be called
/// more than once.
void registerAllTargets();

/// Registers the passes of these targets.
void registerAllTargetPasses();

} // namespace remat

#endif // REMAT_TARGET_ALLTARGETS_H
