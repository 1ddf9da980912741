//===- SearchWatch.h - watch the searches of passes -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that are created from text have no callbacks. A program that runs
// such pipelines can tell its context how to watch their searches, before the
// dialect is loaded:
//
//   registry.addExtension(+[](MLIRContext *, remat::RematDialect *dialect) {
//     dialect->addInterface(std::make_unique<MyWatch>(dialect));
//   });
//
// remat itself never handles signals, nor prints how far it is, unless the
// program is one of its tools.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_SEARCHWATCH_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_SEARCHWATCH_H

#include "remat/Planning/Algorithms.h"

#include "mlir/IR/DialectInterface.h"

namespace remat {

/// An interface of the dialect, if the program has attached one. The pass
/// remat-plan tells it of each search for a plan.
class SearchWatchInterface
    : public mlir::DialectInterface::Base<SearchWatchInterface> {
public:
  explicit SearchWatchInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// Calls `search` once and returns what it returns. `options`, which `search`
  /// reads, may get an `onProgress` that says how far the search is, and an
  /// `interrupt` that ends it with the best plan so far. Is called from any
  /// thread of the pass manager, for several graphs at a time.
  virtual llvm::Error watch(planning::SolverOptions &options,
                            llvm::function_ref<llvm::Error()> search) const = 0;
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_SEARCHWATCH_H
