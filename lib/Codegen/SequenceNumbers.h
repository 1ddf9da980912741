//===- SequenceNumbers.h - which task a backward one is of ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Profilers show the numbers of forward tasks beside those of the backward
// tasks that belong to them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_SEQUENCENUMBERS_H
#define REMAT_LIB_CODEGEN_SEQUENCENUMBERS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include <map>

namespace remat::codegen {

class SequenceNumbers {
public:
  /// Of the tasks of `graph`.
  explicit SequenceNumbers(GraphOp graph);

  /// The number of a forward task, or of the forward task with the operation
  /// whose derivative a backward task computes; -1 if that is unknown.
  int64_t get(TaskOp task) const;

private:
  /// Numbers of tasks may be any, so none is left for a hash table's own use.
  std::map<int64_t, int64_t> numbers;
};

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_SEQUENCENUMBERS_H
