//===- MaskedColumns.h - scores that a causal mask hides --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention with a causal mask adds minus infinity to the scores right of a
// diagonal; what is made of them is zero, and adds nothing to any sum. A kernel
// that works on blocks of rows need not compute them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_MASKEDCOLUMNS_H
#define REMAT_CODEGEN_MASKEDCOLUMNS_H

#include "remat/Codegen/LoopNest.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace remat::codegen {

/// One operation of a kernel on blocks of rows.
struct BlockStep {
  mlir::linalg::GenericOp op;
  const LoopNest *nest;
  /// The dimension whose loop the blocks are of.
  unsigned row;
  /// That loop goes over several runs of rows, and not one.
  bool isJoined;
  bool isContraction;
  /// A contraction that adds up over blocks.
  bool sums;
};

/// The columns right of a diagonal, which nothing reads.
struct MaskedColumns {
  /// Column j is masked in row i where j - i >= shift; at least 1.
  int64_t shift = 1;
  /// The number of columns.
  int64_t size = 0;
  /// For each step its loop over the columns, or -1.
  llvm::SmallVector<int> loops;
};

/// Finds columns that no step needs to visit where they are masked: every value
/// there stays in the kernel (`inside` are its buffers) and is zero, or neutral
/// to the reduction, wherever it is read. Scores are taken to be finite.
/// Nothing if there are none, or if that cannot be shown.
std::optional<MaskedColumns>
findMaskedColumns(llvm::ArrayRef<BlockStep> steps,
                  const llvm::DenseSet<mlir::Value> &inside);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_MASKEDCOLUMNS_H
