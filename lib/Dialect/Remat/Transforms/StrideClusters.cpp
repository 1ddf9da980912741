//===- StrideClusters.cpp - slices and concatenations without copies ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice that one elementwise operation reads, such as the part of a fused
// projection that is transposed for attention, is read where it lies, and what
// makes a part of a concatenation writes it there. Either is the same kernel
// then, without a copy of the tensor in between.
//
//===----------------------------------------------------------------------===//

#include "StrideClusters.h"

#include "SliceUses.h"

#include "remat/Dialect/Remat/IR/Rows.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Reshapes of parts
//===----------------------------------------------------------------------===//

/// How the operands of `concat` are collapsed, if all of them are, from shapes
/// that differ in the first of the dimensions that the concatenated one is, and
/// nowhere else. `dim` is that dimension.
static tensor::CollapseShapeOp findCollapse(tensor::ConcatOp concat,
                                            int64_t &dim) {
  tensor::CollapseShapeOp first;
  for (Value operand : concat.getInputs()) {
    auto collapse = operand.getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse)
      return {};
    if (!first) {
      first = collapse;
      dim = collapse.getReassociationIndices()[concat.getDim()].front();
    }
    if (collapse.getReassociation() != first.getReassociation())
      return {};
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    for (auto [number, size] : llvm::enumerate(first.getSrcType().getShape()))
      if (int64_t(number) != dim && shape[number] != size)
        return {};
  }
  return first;
}

/// Puts `result`, a view of a new concatenation, in the place of `concat`,
/// whose operands may have been views that nobody needs any more.
static void replaceConcat(tensor::ConcatOp concat, Value result) {
  SetVector<Operation *> views;
  for (Value operand : concat.getInputs())
    if (Operation *view = operand.getDefiningOp(); view && isViewOp(view))
      views.insert(view);
  concat.replaceAllUsesWith(result);
  concat.erase();
  for (Operation *view : views)
    if (view->use_empty())
      view->erase();
}

/// Concatenates what the operands of `concat` are collapsed from, and collapses
/// the whole. What is left is the new one.
static tensor::ConcatOp moveCollapseBehind(tensor::ConcatOp concat) {
  int64_t dim = 0;
  tensor::CollapseShapeOp collapse = findCollapse(concat, dim);
  if (!collapse)
    return concat;
  SmallVector<Value> parts;
  for (Value operand : concat.getInputs())
    parts.push_back(operand.getDefiningOp()->getOperand(0));
  OpBuilder builder(concat);
  auto whole = tensor::ConcatOp::create(builder, concat.getLoc(), dim, parts);
  whole->setDiscardableAttrs(concat->getDiscardableAttrDictionary());
  replaceConcat(concat, tensor::CollapseShapeOp::create(
                            builder, concat.getLoc(), concat.getResultType(),
                            whole.getResult(), collapse.getReassociation()));
  return whole;
}

/// Concatenates parts without dimensions of one element, where one of them was
/// made so, and expands the whole.
static void dropUnitDims(tensor::ConcatOp concat) {
  RankedTensorType type = concat.getResultType();
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> kept;
  ReassociationIndices leading;
  for (auto [number, size] : llvm::enumerate(type.getShape())) {
    bool isKept = size != 1 || number == concat.getDim();
    if (isKept) {
      groups.push_back(leading);
      leading.clear();
      kept.push_back(number);
    }
    (groups.empty() ? leading : groups.back()).push_back(number);
  }
  auto isKeptOf = [&](Value operand) {
    SmallVector<int64_t> shape = llvm::map_to_vector(kept, [&](int64_t number) {
      return cast<RankedTensorType>(operand.getType()).getDimSize(number);
    });
    return RankedTensorType::get(shape, type.getElementType());
  };
  auto findMade = [&](Value operand) -> Value {
    auto expand = operand.getDefiningOp<tensor::ExpandShapeOp>();
    return expand && expand.getSrcType() == isKeptOf(operand) ? expand.getSrc()
                                                              : Value();
  };
  if (kept.size() == size_t(type.getRank()) ||
      llvm::none_of(concat.getInputs(), findMade))
    return;
  OpBuilder builder(concat);
  SmallVector<Value> parts;
  for (Value operand : concat.getInputs()) {
    Value made = findMade(operand);
    if (!made)
      made = tensor::CollapseShapeOp::create(
          builder, concat.getLoc(), isKeptOf(operand), operand, groups);
    parts.push_back(made);
  }
  int64_t dim = llvm::find(kept, int64_t(concat.getDim())) - kept.begin();
  auto whole = tensor::ConcatOp::create(builder, concat.getLoc(), dim, parts);
  whole->setDiscardableAttrs(concat->getDiscardableAttrDictionary());
  replaceConcat(concat,
                tensor::ExpandShapeOp::create(builder, concat.getLoc(), type,
                                              whole.getResult(), groups));
}

void remat::reshapeConcatenations(func::FuncOp function) {
  for (auto concat : llvm::to_vector(function.getOps<tensor::ConcatOp>()))
    if (concat.getResultType().hasStaticShape())
      dropUnitDims(moveCollapseBehind(concat));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

bool remat::mayShareKernel(Operation *op, Operation *other,
                           const DenseMap<Operation *, unsigned> &clusterOf) {
  return op->getBlock() == other->getBlock() && !clusterOf.contains(op) &&
         !op->hasAttr(RematDialect::policyAttrName) &&
         op->getAttr(RematDialect::backwardAttrName) ==
             other->getAttr(RematDialect::backwardAttrName) &&
         llvm::none_of(op->getResults(), isTagged);
}

bool remat::isReadBy(Value value, Operation *reader) {
  bool isOnly = true;
  forEachReader(value, [&](Operation *other) { isOnly &= other == reader; });
  return isOnly;
}

/// `views` are those between the value that was asked for and `value`.
static bool
walkReads(Value value, SmallVector<Operation *> &views,
          function_ref<bool(OpOperand &, ArrayRef<Operation *>)> visit) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (!isViewOp(user)) {
      if (!visit(use, views))
        return false;
      continue;
    }
    views.push_back(user);
    if (!walkReads(user->getResult(0), views, visit))
      return false;
    views.pop_back();
  }
  return true;
}

bool remat::walkReads(
    Value value, function_ref<bool(OpOperand &, ArrayRef<Operation *>)> visit) {
  SmallVector<Operation *> views;
  return ::walkReads(value, views, visit);
}

static bool isElementwise(linalg::GenericOp op, BlockInfo &info) {
  return op.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
         info.isEligible(op);
}

/// What alone reads `slice`, if there is such an operation.
static Operation *findReader(tensor::ExtractSliceOp slice) {
  Operation *reader = nullptr;
  bool isOnly = remat::walkReads(slice.getResult(),
                                 [&](OpOperand &use, ArrayRef<Operation *>) {
                                   reader = reader ? reader : use.getOwner();
                                   return reader == use.getOwner();
                                 });
  return isOnly ? reader : nullptr;
}

/// Moves `op` in front of `reader`, and the views of its result.
static void moveWithViews(Operation *op, Operation *reader) {
  op->moveBefore(reader);
  for (Operation *user : op->getResult(0).getUsers())
    if (isViewOp(user))
      moveWithViews(user, reader);
}

void remat::sinkSlices(func::FuncOp function) {
  BlockInfo info(function.getBody().front());
  SliceUses uses(info);
  // Moved at the end: each move would number the operations of the block anew.
  SmallVector<std::pair<Operation *, Operation *>> moves;
  for (auto slice : function.getOps<tensor::ExtractSliceOp>()) {
    Operation *reader = findReader(slice);
    if (!reader || reader->getBlock() != slice->getBlock() ||
        reader->hasTrait<OpTrait::IsTerminator>() ||
        slice->hasAttr(RematDialect::policyAttrName) ||
        isTagged(slice.getResult()) ||
        slice->getAttr(RematDialect::backwardAttrName) !=
            reader->getAttr(RematDialect::backwardAttrName) ||
        !uses.isInUseUntil(slice, reader))
      continue;
    moves.emplace_back(slice, reader);
  }
  for (auto [slice, reader] : moves)
    moveWithViews(slice, reader);
}

/// Adds the slices that `reader` reads and nothing else does. It is of a kernel
/// that begins with `first` and runs where `last` is. Copies of the last parts
/// of a tensor may lie where it was, so where memory comes first (no
/// `shared_strides`), they stay copies.
static void addSlices(Operation *reader, Operation *first, Operation *last,
                      BlockInfo &info, SliceUses &uses,
                      const DenseMap<Operation *, unsigned> &clusterOf,
                      SetVector<Operation *> &members) {
  auto mayRead = [&](tensor::ExtractSliceOp slice) {
    return isa<BlockArgument>(getViewRoot(slice.getSource()))
               ? uses.isInUseUntil(slice, last)
               : uses.isInUseUntil(slice, first) &&
                     (info.getTarget().getSharedStrides() ||
                      uses.isInUseBehind(slice, reader));
  };
  for (Value operand : reader->getOperands()) {
    auto slice = getViewRoot(operand).getDefiningOp<tensor::ExtractSliceOp>();
    if (slice && slice.hasUnitStride() && slice.getType().hasStaticShape() &&
        mayShareKernel(slice, reader, clusterOf) &&
        isReadBy(slice.getResult(), reader) && mayRead(slice))
      members.insert(slice);
  }
}

/// The cluster of `members` and of the last of them, `reader`; an empty one if
/// that is alone.
static Cluster makeCluster(const SetVector<Operation *> &members,
                           Operation *reader, BlockInfo &info) {
  if (members.empty())
    return {};
  Cluster cluster(members.begin(), members.end());
  llvm::sort(cluster,
             [&](Operation *a, Operation *b) { return info.isBefore(a, b); });
  cluster.push_back(reader);
  return cluster;
}

Cluster
remat::readerOfSlices(linalg::GenericOp reader, BlockInfo &info,
                      SliceUses &uses,
                      const DenseMap<Operation *, unsigned> &clusterOf) {
  SetVector<Operation *> slices;
  if (!clusterOf.contains(reader) && reader.getNumReductionLoops() == 0 &&
      info.isEligible(reader))
    addSlices(reader, reader, reader, info, uses, clusterOf, slices);
  return makeCluster(slices, reader, info);
}

SmallVector<Operation *>
remat::addSlicesOfRows(Cluster &cluster, BlockInfo &info,
                       const DenseMap<Operation *, unsigned> &clusterOf) {
  // What makes a factor stands in front of the rows, among the slices.
  Operation *first = *llvm::find_if(
      cluster, [](Operation *op) { return op->hasAttr(blockAttrName); });
  SliceUses uses(info);
  SetVector<Operation *> slices;
  for (Operation *op : cluster)
    if (auto reader = dyn_cast<linalg::GenericOp>(op);
        reader && reader.getNumReductionLoops() == 0)
      addSlices(reader, first, cluster.back(), info, uses, clusterOf, slices);
  Cluster sorted(slices.begin(), slices.end());
  llvm::sort(sorted,
             [&](Operation *a, Operation *b) { return info.isBefore(a, b); });
  cluster.insert(cluster.begin(), sorted.begin(), sorted.end());
  return slices.takeVector();
}

/// Whether an operation that is put off to where its result is read leaves
/// memory as it was: what it reads is no larger than what it makes.
static bool mayWait(linalg::GenericOp op) {
  int64_t read = 0;
  for (Value input : op.getDpsInputs())
    if (auto type = dyn_cast<RankedTensorType>(input.getType());
        type && !isSmall(input, getNumPoints(op)))
      read += type.getNumElements();
  return read <=
         cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
}

Cluster remat::makersOfParts(tensor::ConcatOp concat, BlockInfo &info,
                             SliceUses &uses,
                             const DenseMap<Operation *, unsigned> &clusterOf) {
  SetVector<Operation *> members;
  if (clusterOf.contains(concat) ||
      concat->hasAttr(RematDialect::policyAttrName))
    return {};
  for (Value part : concat.getInputs()) {
    auto maker = part.getDefiningOp<linalg::GenericOp>();
    if (!maker || !isElementwise(maker, info) || !mayWait(maker) ||
        !maker->getResult(0).hasOneUse() ||
        !mayShareKernel(maker, concat, clusterOf))
      continue;
    addSlices(maker, maker, concat, info, uses, clusterOf, members);
    members.insert(maker);
  }
  addSlices(concat, concat, concat, info, uses, clusterOf, members);
  return makeCluster(members, concat, info);
}
