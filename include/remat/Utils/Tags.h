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

/// The tags on `value` and on its views, in program order.
llvm::SmallVector<TagOp> findTags(mlir::Value value);

/// What tags ask of `value`, which an operation makes: a MUST overrides a wish;
/// of two of a kind the first counts.
std::optional<Policy> getAskedPolicy(mlir::Value value);

/// The level of the derivative that `tag` asks something for: operations of
/// backward computations of this level and above are not to read what was made
/// before.
unsigned getTagLevel(TagOp tag);

/// Whether a policy of `value` has an effect: arguments are the caller's, and
/// what each kernel makes for itself is in no buffer.
bool holdsPolicy(mlir::Value value);

/// Whether `tag` says nothing but that a region hides a value, or would rather
/// do so: then what the value is made of will do as well.
bool isOnlyOfRegion(TagOp tag);

/// Whether `op` reads what a region hides from backward computations above
/// `level`. What the region yields is kept instead: who makes that again
/// elsewhere would need all of the region.
bool readsHidden(mlir::Operation *op, unsigned level);

} // namespace remat

#endif // REMAT_UTILS_TAGS_H
