//===- CheckpointSequential.h - segments of a chain -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of remat-checkpoint-sequential, named and described once. They
// are those of the pass and, with another name, options of a step
// (remat/Pipelines/StepOptions.h).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_CHECKPOINTSEQUENTIAL_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_CHECKPOINTSEQUENTIAL_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/OptionTable.h"

#include "mlir/Pass/Pass.h"

namespace remat {

/// Where a link of a chain ends.
struct SequentialLinks {
  enum Kind {
    /// At calls if there are any, else at each operation.
    Auto,
    Call,
    Op,
    /// At values that have a name, or the given one.
    Tag
  };
  Kind kind = Auto;
  std::string name;
};

/// How a function is cut into segments, each a region that is recomputed.
struct SequentialOptions {
  std::string function = "main";
  /// How many parts the function is cut into; 0 leaves it as it is.
  int64_t segments = 0;
  SequentialLinks links;
  /// What the regions have as attributes, see remat.checkpoint.
  bool earlyStop = true, preserveRngState = true;
  std::optional<Policy> policy;
  std::string name;
};

/// The options of the pass.
OptionTable<SequentialOptions> getSequentialOptionTable();

/// Those of them that a step has of its own, with names that begin with
/// "checkpoint-".
OptionTable<SequentialOptions> getSequentialStepOptionTable();

/// Fails if something is asked of regions, but none are asked for.
llvm::Error checkSequentialOptions(const SequentialOptions &options);

/// The pass remat-checkpoint-sequential.
std::unique_ptr<mlir::Pass>
createCheckpointSequentialPass(const SequentialOptions &options);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_CHECKPOINTSEQUENTIAL_H
