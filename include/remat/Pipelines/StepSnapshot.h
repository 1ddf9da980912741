//===- StepSnapshot.h - a memory snapshot for PyTorch -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planned arena as a snapshot of PyTorch's allocator, which
// torch.cuda._memory_viz and its page read: a pickle of dictionaries.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPSNAPSHOT_H
#define REMAT_PIPELINES_STEPSNAPSHOT_H

#include "remat/Pipelines/StepReport.h"

#include "llvm/Support/raw_ostream.h"

namespace remat {

/// Writes one segment, the arena, and an allocation for each buffer in it, at
/// its offset, from the planned begin of the entry that makes it to the end of
/// the last that uses it.
void writeMemorySnapshot(const StepReport &report, llvm::raw_ostream &os);

} // namespace remat

#endif // REMAT_PIPELINES_STEPSNAPSHOT_H
