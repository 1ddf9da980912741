//===- Tags.h - what tags demand --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_TAGS_H
#define REMAT_UTILS_TAGS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// Whether `policy` is never overruled.
inline bool isMust(Policy policy) {
  return policy == Policy::MustSave || policy == Policy::MustRecompute ||
         policy == Policy::MustCpuOffload;
}

/// The value whose buffer `tag` is about: its operand, behind views and tags,
/// and inside of the region that it is a result of.
mlir::Value getTaggedValue(TagOp tag);

/// Whether a policy of `value` has an effect: arguments are the caller's, and
/// what each kernel makes for itself is in no buffer.
bool holdsPolicy(mlir::Value value);

} // namespace remat

#endif // REMAT_UTILS_TAGS_H
