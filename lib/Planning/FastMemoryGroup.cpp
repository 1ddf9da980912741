//===- FastMemoryGroup.cpp - what a group of operations does --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the results of a group back to what it reads: which part of each tensor
// is needed in which steps of a tile.
//
//===----------------------------------------------------------------------===//

#include "FastMemoryGroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace remat::planning::fastmemory;

static void addOnce(std::vector<int64_t> &values, int64_t value) {
  if (!is_contained(values, value))
    values.push_back(value);
}

static std::string describe(const Tensor &shape) {
  return (Twine(shape.width) + "x" + Twine(shape.height)).str();
}

bool GroupModel::Slice::operator==(const Slice &other) const {
  return tensor == other.tensor && rows == other.rows &&
         columns == other.columns && time == other.time &&
         reduction == other.reduction;
}

Expected<GroupModel> GroupModel::create(const Problem &problem,
                                        const Rules &rules, ArrayRef<int> ops) {
  GroupModel model(problem, rules);
  if (Error error = model.build(ops))
    return std::move(error);
  return model;
}

/// Whether the operations are one component of what shares tensors.
bool GroupModel::isConnected(ArrayRef<int> ops) const {
  SmallVector<int, 8> reached = {ops.front()};
  std::vector<bool> isReached(problem->ops.size());
  isReached[ops.front()] = true;
  auto reach = [&](int op) {
    if (op >= 0 && isMember[op] && !isReached[op]) {
      isReached[op] = true;
      reached.push_back(op);
    }
  };
  for (size_t i = 0; i < reached.size(); ++i) {
    const Op &op = problem->ops[reached[i]];
    for (ArrayRef<int> tensors :
         {ArrayRef<int>(op.inputs), ArrayRef(op.outputs)})
      for (int tensor : tensors) {
        reach(problem->producers[tensor]);
        for (int consumer : problem->consumers[tensor])
          reach(consumer);
      }
  }
  return reached.size() == ops.size();
}

Error GroupModel::checkShapes() const {
  for (int result : results) {
    const Tensor &tensor = problem->tensors[result];
    if (tensor.width != shape.width || tensor.height != shape.height)
      return createStringError(
          "its results do not share one grid of tiles: tensor " +
          Twine(results.front()) + " is " + describe(shape) + ", and tensor " +
          Twine(result) + " is " + describe(tensor));
  }
  return Error::success();
}

Error GroupModel::build(ArrayRef<int> ops) {
  if (ops.empty())
    return createStringError("it has no operations");
  isMember.resize(problem->ops.size());
  for (int op : ops) {
    if (op < 0 || static_cast<size_t>(op) >= problem->ops.size())
      return createStringError("there is no operation " + Twine(op));
    if (isMember[op])
      return createStringError("operation " + Twine(op) + " is in it twice");
    isMember[op] = true;
  }
  if (!isConnected(ops))
    return createStringError("its operations are not connected");
  for (int index : ops) {
    const Op &op = problem->ops[index];
    for (int input : op.inputs) {
      int producer = problem->producers[input];
      if (producer < 0 || !isMember[producer])
        inputs.push_back(input);
    }
    for (int output : op.outputs)
      if (none_of(problem->consumers[output],
                  [&](int consumer) { return isMember[consumer]; }))
        results.push_back(output);
    if (op.isProduct) {
      int64_t depth = problem->getReduction(op);
      maxDepth = hasProducts() ? std::min(maxDepth, depth) : depth;
      longest = std::max(longest, depth);
    }
  }
  for (std::vector<int> *tensors : {&inputs, &results}) {
    sort(*tensors);
    tensors->erase(llvm::unique(*tensors), tensors->end());
  }
  shape = problem->tensors[results.front()];
  if (Error error = checkShapes())
    return error;
  for (int result : results)
    require({result, Extent::Tile, Extent::Tile, Time::Last, 0});
  isMember = {};
  return Error::success();
}

void GroupModel::require(Slice slice) {
  int producer = problem->producers[slice.tensor];
  if (producer < 0 || !isMember[producer]) {
    if (!is_contained(loads, slice))
      loads.push_back(slice);
    return;
  }
  const Op &op = problem->ops[producer];
  bool isTile = slice.rows == Extent::Tile && slice.columns == Extent::Tile;
  if (op.isProduct && isTile) {
    // It is summed up over the steps of a tile.
    slice.time = Time::EachStep;
    slice.reduction = problem->getReduction(op);
  } else if (!op.isProduct && !isTile) {
    // It runs on whole tiles, which have to be as large as what is asked for.
    const Tensor &tensor = problem->tensors[slice.tensor];
    if (slice.rows != Extent::Tile) {
      slice.rows = Extent::All;
      minHeight = std::max(minHeight, tensor.height);
    }
    if (slice.columns != Extent::Tile) {
      slice.columns = Extent::All;
      minWidth = std::max(minWidth, tensor.width);
    }
    slice.time = Time::First;
    slice.reduction = 0;
  }
  Work work{producer, slice};
  // An operation with several results makes the same slice of all of them.
  work.slice.tensor = op.outputs.front();
  bool isKnown = any_of(works, [&](const Work &other) {
    return other.op == work.op && other.slice == work.slice;
  });
  if (isKnown)
    return;
  works.push_back(work);
  if (!op.isProduct) {
    for (int input : op.inputs) {
      slice.tensor = input;
      require(slice);
    }
    return;
  }
  Slice left = slice, right = slice;
  left.tensor = op.inputs[0];
  right.tensor = op.inputs[1];
  left.columns = right.rows = isTile ? Extent::Step : Extent::All;
  if (isTile) {
    addOnce(reductions, slice.reduction);
    if (!is_contained(results, slice.tensor))
      accumulators.push_back(slice.reduction);
  }
  require(left);
  require(right);
}

Error GroupModel::check(const Granularity &granularity) const {
  const auto &[width, height, depth] = granularity;
  auto refuse = [&](const Twine &why) {
    return createStringError("granularity [" + Twine(granularity.width) + ", " +
                             Twine(granularity.height) + ", " +
                             Twine(granularity.depth) + "] " + why);
  };
  if (width < 1 || height < 1 || depth < 1)
    return refuse("has to be positive");
  bool isNative = rules.tiles == TileRule::Native;
  if (((isNative || rules.tiles == TileRule::AnyDepth) &&
       (width > problem->nativeWidth || height > problem->nativeHeight)) ||
      (isNative && hasProducts() && depth > problem->nativeWidth))
    return refuse("is larger than the native one, [" +
                  Twine(problem->nativeWidth) + ", " +
                  Twine(problem->nativeHeight) + ", " +
                  Twine(problem->nativeWidth) + "]");
  if (hasProducts() && depth > maxDepth)
    return refuse("is deeper than a reduction, of " + Twine(maxDepth));
  if (depth < longest && (width < minWidth || height < minHeight))
    return refuse("is smaller than " + Twine(minWidth) + "x" +
                  Twine(minHeight) +
                  ", which a pointwise operation before a "
                  "product needs");
  return Error::success();
}
