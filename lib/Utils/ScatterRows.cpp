//===- ScatterRows.cpp - scatters whose rows are added up one by one ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/ScatterRows.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;

/// Whether the computed index is the same for all columns.
static bool isIndexCommon(ScatterOp op, const ScatterRows &rows) {
  DenseSet<Value> seen;
  SmallVector<Value> stack = {
      op.getBody().front().getTerminator()->getOperand(rows.dim)};
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *maker = value.getDefiningOp())
      maker->walk([&](Operation *inner) {
        llvm::append_range(stack, inner->getOperands());
      });
  }
  if (seen.contains(op.getPointArguments()[rows.inner]))
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return llvm::none_of(
      llvm::zip(op.getElementArguments(), maps), [&](auto pair) {
        auto [element, map] = pair;
        return seen.contains(element) && map.isFunctionOfDim(rows.inner);
      });
}

static int64_t getSumBytes(ScatterOp op) {
  return getElementBytes(
      op.getBody().front().getTerminator()->getOperands().back().getType());
}

int64_t remat::countBlockSums(ScatterOp op) {
  // What else a block needs, such as a list of points, has the other half.
  int64_t bytes = std::min(getTargetFacts(op).getBlockBytes() / 2,
                           ScatterRowsTuning::maxBytes);
  return std::max<int64_t>(bytes / getSumBytes(op), 1);
}

std::optional<ScatterRows> remat::findScatterRows(ScatterOp op) {
  auto type = cast<ShapedType>(op.getInit().getType());
  ArrayRef<int64_t> sizes = op.getSizes();
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      llvm::is_contained(sizes, 0))
    return std::nullopt;
  ScatterRows rows;
  rows.ownedDims.assign(sizes.size(), -1);
  SmallVector<int> computed;
  ValueRange yielded =
      op.getBody().front().getTerminator()->getOperands().drop_back();
  for (auto [dim, index] : llvm::enumerate(yielded)) {
    auto point = llvm::find(op.getPointArguments(), index);
    size_t loop = point - op.getPointArguments().begin();
    if (loop == sizes.size() || rows.ownedDims[loop] >= 0 ||
        sizes[loop] != type.getDimSize(dim))
      computed.push_back(dim);
    else
      rows.ownedDims[loop] = dim;
  }
  int last = type.getRank() - 1;
  auto inner = llvm::find(rows.ownedDims, last);
  if (computed.size() != 1 || inner == rows.ownedDims.end())
    return std::nullopt;
  rows.dim = computed.front();
  rows.inner = inner - rows.ownedDims.begin();
  if (!isIndexCommon(op, rows))
    return std::nullopt;

  int64_t size = type.getDimSize(rows.dim), width = type.getDimSize(last);
  rows.columns = std::min(width, ScatterRowsTuning::maxColumns);
  rows.rows = std::clamp<int64_t>(countBlockSums(op) / rows.columns, 1, size);
  int64_t points = 1;
  for (auto [loop, count] : llvm::enumerate(sizes))
    if (rows.ownedDims[loop] < 0)
      points = multiplyCounts(points, count);
  int64_t blocks = multiplyCounts(llvm::divideCeil(size, rows.rows),
                                  llvm::divideCeil(width, rows.columns));
  TargetAttr target = getTargetFacts(op);
  double looking = static_cast<double>(multiplyCounts(points, blocks)) *
                   ScatterRowsTuning::pointOps /
                   static_cast<double>(target.getLoopFlops());
  double writing = static_cast<double>(multiplyCounts(size, width)) *
                   static_cast<double>(getSumBytes(op)) /
                   static_cast<double>(target.getBandwidth());
  if (looking > writing)
    return std::nullopt;
  return rows;
}
