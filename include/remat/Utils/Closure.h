//===- Closure.h - what holds for all that something is made of -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are made of values that may be read many times: there are 2^n paths
// through n operations that read the last one's result twice.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_CLOSURE_H
#define REMAT_UTILS_CLOSURE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace remat {

/// Whether `holds(item, next)` is true of `start` and of all that it adds to
/// `next`. Each item is asked about once.
template <typename Item, typename Predicate>
bool holdsForClosure(Item start, Predicate &&holds) {
  llvm::DenseSet<Item> seen;
  llvm::SmallVector<Item> next = {start};
  while (!next.empty()) {
    Item item = next.pop_back_val();
    if (seen.insert(item).second && !holds(item, next))
      return false;
  }
  return true;
}

} // namespace remat

#endif // REMAT_UTILS_CLOSURE_H
