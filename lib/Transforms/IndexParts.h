//===- IndexParts.h - the same elements of reshaped tensors -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two tensors may have the same elements in dimensions of another order, that
// are merged here and apart there. So the index of a dimension is a list of
// parts: numbers below a size, the most significant one first. A dimension of
// size 1 has an index without parts. Parts are split as reshapes ask for it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_INDEXPARTS_H
#define REMAT_LIB_TRANSFORMS_INDEXPARTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace remat {

using IndexPart = unsigned;
using PartedIndex = llvm::SmallVector<IndexPart, 2>;

/// An element of a tensor: one index for each dimension.
struct Access {
  mlir::Value value;
  llvm::SmallVector<PartedIndex> dims;
};

/// What is known about parts of indices. Copies of it are other knowledge about
/// the same parts.
class IndexParts {
public:
  /// An index of a new loop or dimension. One that is `fixed` takes all values
  /// whatever others have: it is not made the same as another fixed one.
  PartedIndex create(int64_t size, bool fixed);

  int64_t getSize(IndexPart part) const { return parts[part].size; }

  /// What an index has become.
  PartedIndex resolve(llvm::ArrayRef<IndexPart> index) const;

  /// The parts of all of them.
  llvm::SetVector<IndexPart>
  resolveAll(llvm::ArrayRef<PartedIndex> indices) const;

  /// Whether all parts of an index are fixed.
  bool isFixed(llvm::ArrayRef<IndexPart> index) const;

  /// Makes two indices the same, as far as they are not fixed. Returns false if
  /// they cannot be the same.
  bool unify(llvm::ArrayRef<IndexPart> a, llvm::ArrayRef<IndexPart> b);
  /// Does so with those of two elements of one tensor, or changes nothing.
  bool unify(const Access &a, const Access &b);

  /// Takes the index of a dimension apart into those of dimensions of `sizes`.
  std::optional<llvm::SmallVector<PartedIndex>>
  split(llvm::ArrayRef<IndexPart> index, llvm::ArrayRef<int64_t> sizes);

private:
  struct Knowledge {
    int64_t size;
    bool fixed;
    /// What it was split into, or the one other part that it is.
    PartedIndex becomes;
  };
  void cut(IndexPart part, int64_t size);

  llvm::SmallVector<Knowledge> parts;
};

/// The element that a view or an operation on views, such as
/// `tensor.expand_shape`, reads for an element of its result; nothing if it is
/// another operation.
std::optional<Access> getViewed(IndexParts &parts, const Access &result);

/// The element of the result of such an operation that is `source`.
std::optional<Access> getViewing(IndexParts &parts, mlir::Operation *view,
                                 const Access &source);

/// The loops of an operation in which `map` says what an element's index is;
/// nothing if it does not say it of all `loops`, or more than once.
std::optional<llvm::SmallVector<PartedIndex>>
getLoopIndices(mlir::AffineMap map, llvm::ArrayRef<PartedIndex> dims);

/// The element that an operation reads of `value` at a point of its loops;
/// nothing if `map` is more than a choice of loops.
std::optional<Access> getAccess(mlir::Value value, mlir::AffineMap map,
                                llvm::ArrayRef<PartedIndex> loops);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_INDEXPARTS_H
