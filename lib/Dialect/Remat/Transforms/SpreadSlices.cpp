//===- SpreadSlices.cpp - slices that several operations read -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The halves of a gated unit, or the gates of a recurrent one, are slices of
// one product. The forward and the backward computation read each of them. As
// copies, they would be two kernels more, and kept as long as the product in
// their place: so each reader gets slices of its own, which are one kernel with
// it.
//
//===----------------------------------------------------------------------===//

#include "StrideClusters.h"

#include "KernelPool.h"

#include "remat/Utils/BackwardMarks.h"

using namespace mlir;
using namespace remat;

namespace {

/// An operand that reads a slice, through views.
struct SliceRead {
  OpOperand *operand;
  SmallVector<Operation *> views;
};

/// A slice, and what reads it.
struct Part {
  tensor::ExtractSliceOp slice;
  SmallVector<SliceRead> reads;
};

class SliceSpreader {
public:
  SliceSpreader(Block &body, ArrayRef<Cluster> clusters)
      : body(body), info(body), clusterOf(mapClusters(clusters)) {}
  bool run();

private:
  bool mayRead(Operation *reader);
  bool collectReads(Part &part);
  bool collectParts(Value whole, SmallVectorImpl<Part> &parts);
  void spread(Part &part);

  Block &body;
  BlockInfo info;
  DenseMap<Operation *, const Cluster *> clusterOf;
};

} // namespace

/// Whether slices can be one kernel with `reader`: it is elementwise, and a
/// part of no other kernel than one of slices and concatenations.
bool SliceSpreader::mayRead(Operation *reader) {
  auto generic = dyn_cast<linalg::GenericOp>(reader);
  if (!generic || generic->getBlock() != &body ||
      generic.getNumReductionLoops() != 0 || !info.isEligible(generic))
    return false;
  const Cluster *cluster = clusterOf.lookup(reader);
  return !cluster || llvm::any_of(*cluster, [](Operation *op) {
    return isa<tensor::ExtractSliceOp, tensor::ConcatOp>(op);
  });
}

/// Finds all that reads the slice or a view of it; false if anything does that
/// may not.
bool SliceSpreader::collectReads(Part &part) {
  return walkReads(part.slice.getResult(),
                   [&](OpOperand &use, ArrayRef<Operation *> views) {
                     part.reads.push_back({&use, llvm::to_vector(views)});
                     return mayRead(use.getOwner());
                   });
}

/// Whether the slices are one behind the other along one dimension of `type`,
/// and all of it.
static bool coversAll(RankedTensorType type, ArrayRef<Part> parts) {
  int64_t dim = -1;
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (const Part &part : parts) {
    auto slice = part.slice;
    if (!slice.hasUnitStride() || !slice.getType().hasStaticShape() ||
        slice.getType().getRank() != type.getRank() ||
        llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic))
      return false;
    for (auto [number, size] : llvm::enumerate(slice.getStaticSizes()))
      if (size != type.getDimSize(number)) {
        if (dim >= 0 && dim != int64_t(number))
          return false;
        dim = number;
      }
  }
  if (dim < 0)
    return false;
  for (const Part &part : parts)
    ranges.push_back(
        {tensor::ExtractSliceOp(part.slice).getStaticOffsets()[dim],
         tensor::ExtractSliceOp(part.slice).getStaticSizes()[dim]});
  llvm::sort(ranges);
  int64_t end = 0;
  for (auto [offset, size] : ranges)
    if (offset != std::exchange(end, offset + size))
      return false;
  return end == type.getDimSize(dim);
}

/// The phases in which a part is read.
static DenseSet<Attribute> getPhases(const Part &part) {
  DenseSet<Attribute> phases;
  for (const SliceRead &read : part.reads)
    phases.insert(
        read.operand->getOwner()->getAttr(RematDialect::backwardAttrName));
  return phases;
}

/// Finds the parts of `whole`, if nothing else reads that, and it is needed no
/// longer than they are: each is read in the same phases.
bool SliceSpreader::collectParts(Value whole, SmallVectorImpl<Part> &parts) {
  auto type = dyn_cast<RankedTensorType>(whole.getType());
  if (!type || !type.hasStaticShape() || isTagged(whole))
    return false;
  bool isShared = false;
  for (Operation *user : whole.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || slice->getBlock() != &body || clusterOf.contains(slice) ||
        slice->hasAttr(RematDialect::policyAttrName) ||
        isTagged(slice.getResult()))
      return false;
    Part &part = parts.emplace_back();
    part.slice = slice;
    if (!collectReads(part))
      return false;
    DenseSet<Operation *> readers;
    for (const SliceRead &read : part.reads)
      readers.insert(read.operand->getOwner());
    isShared |= readers.size() > 1;
  }
  bool isAll = true;
  forEachReader(getViewRoot(whole), [&](Operation *reader) {
    isAll &= llvm::any_of(
        parts, [&](const Part &part) { return part.slice == reader; });
  });
  return isShared && isAll && coversAll(type, parts) &&
         llvm::all_of(parts, [&](const Part &part) {
           return getPhases(part) == getPhases(parts.front());
         });
}

/// Gives each reader a slice of its own, in front of it.
void SliceSpreader::spread(Part &part) {
  SetVector<Operation *> replaced;
  for (SliceRead &read : part.reads) {
    Operation *reader = read.operand->getOwner();
    OpBuilder builder(reader);
    IRMapping mapping;
    auto clone = [&](Operation *op) {
      Operation *copy = builder.clone(*op, mapping);
      copy->removeAttr(RematDialect::backwardAttrName);
      copyBackward(reader, copy);
      return copy->getResult(0);
    };
    Value own = clone(part.slice);
    for (Operation *view : read.views) {
      own = clone(view);
      replaced.insert(view);
    }
    read.operand->set(own);
  }
  for (Operation *view : llvm::reverse(replaced))
    if (view->use_empty())
      view->erase();
  part.slice.erase();
}

bool SliceSpreader::run() {
  SetVector<Value> wholes;
  for (auto slice : body.getOps<tensor::ExtractSliceOp>())
    wholes.insert(slice.getSource());
  bool any = false;
  for (Value whole : wholes) {
    SmallVector<Part> parts;
    if (!collectParts(whole, parts))
      continue;
    for (Part &part : parts)
      spread(part);
    any = true;
  }
  return any;
}

bool remat::spreadSlices(Block &body, ArrayRef<Cluster> clusters) {
  return SliceSpreader(body, clusters).run();
}
