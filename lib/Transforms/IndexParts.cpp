//===- IndexParts.cpp - the same elements of reshaped tensors -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexParts.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

PartedIndex IndexParts::create(int64_t size, bool fixed) {
  if (size == 1)
    return {};
  parts.push_back({size, fixed, {}});
  return {IndexPart(parts.size() - 1)};
}

PartedIndex IndexParts::resolve(ArrayRef<IndexPart> index) const {
  PartedIndex resolved;
  for (IndexPart part : index) {
    if (parts[part].becomes.empty())
      resolved.push_back(part);
    else
      resolved.append(resolve(parts[part].becomes));
  }
  return resolved;
}

llvm::SetVector<IndexPart>
IndexParts::resolveAll(ArrayRef<PartedIndex> indices) const {
  llvm::SetVector<IndexPart> all;
  for (const PartedIndex &index : indices)
    all.insert_range(resolve(index));
  return all;
}

bool IndexParts::isFixed(ArrayRef<IndexPart> index) const {
  return llvm::all_of(resolve(index),
                      [&](IndexPart part) { return parts[part].fixed; });
}

/// Splits a part in two, of which the first has `size`.
void IndexParts::cut(IndexPart part, int64_t size) {
  bool fixed = parts[part].fixed;
  PartedIndex halves = create(size, fixed);
  halves.append(create(parts[part].size / size, fixed));
  parts[part].becomes = halves;
}

bool IndexParts::unify(ArrayRef<IndexPart> a, ArrayRef<IndexPart> b) {
  for (;;) {
    PartedIndex mine = resolve(a), other = resolve(b);
    auto [left, right] =
        std::mismatch(mine.begin(), mine.end(), other.begin(), other.end());
    if (left == mine.end() || right == other.end())
      return left == mine.end() && right == other.end();
    IndexPart one = *left, two = *right;
    if (parts[one].size < parts[two].size)
      std::swap(one, two);
    if (parts[one].size % parts[two].size != 0)
      return false;
    if (parts[one].size != parts[two].size) {
      cut(one, parts[two].size);
      continue;
    }
    if (parts[one].fixed)
      std::swap(one, two);
    if (parts[one].fixed)
      return false;
    parts[one].becomes = {two};
  }
}

bool IndexParts::unify(const Access &a, const Access &b) {
  if (a.value != b.value || a.dims.size() != b.dims.size())
    return false;
  IndexParts before = *this;
  for (auto [mine, other] : llvm::zip(a.dims, b.dims))
    if (!unify(mine, other)) {
      *this = std::move(before);
      return false;
    }
  return true;
}

std::optional<SmallVector<PartedIndex>>
IndexParts::split(ArrayRef<IndexPart> index, ArrayRef<int64_t> sizes) {
  SmallVector<PartedIndex> result;
  PartedIndex rest = resolve(index);
  for (int64_t size : sizes) {
    PartedIndex &dim = result.emplace_back();
    while (size != 1) {
      if (rest.empty())
        return std::nullopt;
      int64_t first = parts[rest.front()].size;
      if (size % first == 0) {
        dim.push_back(rest.front());
        rest.erase(rest.begin());
        size /= first;
        continue;
      }
      if (first % size != 0)
        return std::nullopt;
      cut(rest.front(), size);
      rest = resolve(rest);
    }
  }
  if (!rest.empty())
    return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

/// The indices of merged dimensions, one for each group.
static SmallVector<PartedIndex> merge(ArrayRef<PartedIndex> dims,
                                      ArrayRef<ReassociationIndices> groups) {
  SmallVector<PartedIndex> merged;
  for (const ReassociationIndices &group : groups) {
    PartedIndex &index = merged.emplace_back();
    for (int64_t dim : group)
      index.append(dims[dim]);
  }
  return merged;
}

/// The indices of dimensions of `shape` that are merged in `dims`.
static std::optional<SmallVector<PartedIndex>>
separate(IndexParts &parts, ArrayRef<PartedIndex> dims, ArrayRef<int64_t> shape,
         ArrayRef<ReassociationIndices> groups) {
  // A scalar is a tensor of ones.
  SmallVector<PartedIndex> separated(shape.size());
  for (auto [index, group] : llvm::zip(dims, groups)) {
    std::optional<SmallVector<PartedIndex>> some =
        parts.split(index, shape.slice(group.front(), group.size()));
    if (!some)
      return std::nullopt;
    llvm::copy(*some, separated.begin() + group.front());
  }
  return separated;
}

std::optional<Access> remat::getViewed(IndexParts &parts,
                                       const Access &result) {
  Operation *op = result.value.getDefiningOp();
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return Access{expand.getSrc(),
                  merge(result.dims, expand.getReassociationIndices())};
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    std::optional<SmallVector<PartedIndex>> dims =
        separate(parts, result.dims, getShape(collapse.getSrc()),
                 collapse.getReassociationIndices());
    return dims ? std::optional(Access{collapse.getSrc(), *dims})
                : std::nullopt;
  }
  if (auto transpose = dyn_cast_or_null<linalg::TransposeOp>(op)) {
    SmallVector<PartedIndex> dims(result.dims.size());
    for (auto [dim, source] : llvm::enumerate(transpose.getPermutation()))
      dims[source] = result.dims[dim];
    return Access{transpose.getInput(), dims};
  }
  if (isa_and_present<TagOp, StopGradientOp>(op))
    return Access{op->getOperand(0), result.dims};
  return std::nullopt;
}

std::optional<Access> remat::getViewing(IndexParts &parts, Operation *view,
                                        const Access &source) {
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(view))
    return Access{collapse.getResult(),
                  merge(source.dims, collapse.getReassociationIndices())};
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view)) {
    std::optional<SmallVector<PartedIndex>> dims =
        separate(parts, source.dims, getShape(expand.getResult()),
                 expand.getReassociationIndices());
    return dims ? std::optional(Access{expand.getResult(), *dims})
                : std::nullopt;
  }
  if (auto transpose = dyn_cast<linalg::TransposeOp>(view);
      transpose && transpose.getInput() == source.value) {
    SmallVector<PartedIndex> dims;
    for (int64_t dim : transpose.getPermutation())
      dims.push_back(source.dims[dim]);
    return Access{transpose->getResult(0), dims};
  }
  return std::nullopt;
}

std::optional<SmallVector<PartedIndex>>
remat::getLoopIndices(AffineMap map, ArrayRef<PartedIndex> dims) {
  if (!map.isPermutation())
    return std::nullopt;
  SmallVector<PartedIndex> loops(map.getNumDims());
  for (auto [expr, index] : llvm::zip(map.getResults(), dims))
    loops[cast<AffineDimExpr>(expr).getPosition()] = index;
  return loops;
}

std::optional<Access> remat::getAccess(Value value, AffineMap map,
                                       ArrayRef<PartedIndex> loops) {
  Access access{value, {}};
  for (auto [size, expr] : llvm::zip(getShape(value), map.getResults())) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      access.dims.push_back(loops[loop.getPosition()]);
      continue;
    }
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!constant || constant.getValue() != 0 || size != 1)
      return std::nullopt;
    access.dims.emplace_back();
  }
  return access;
}
