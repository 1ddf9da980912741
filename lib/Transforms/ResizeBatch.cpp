//===- ResizeBatch.cpp - a function of a batch of another size ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the batch in the arguments, and gives it its new size.
//
//===----------------------------------------------------------------------===//

#include "BatchResizer.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/InterleavedRange.h"

namespace remat {
#define GEN_PASS_DEF_RESIZEBATCHPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// The arguments
//===----------------------------------------------------------------------===//

bool BatchResizer::isDifferentiated(int64_t argument) {
  return wrt.empty() ? isa<FloatType>(
                           getElementTypeOrSelf(function.getArgument(argument)))
                     : llvm::is_contained(wrt, argument);
}

/// Vectors of floats without a gradient are rather statistics, which have the
/// size of channels.
bool BatchResizer::mayBeData(int64_t argument) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  return !isDifferentiated(argument) && !getDonatedResult(function, argument) &&
         (type.getRank() > 1 || !isa<FloatType>(type.getElementType()));
}

/// Whether an argument that has the batch is data. If nobody says what has a
/// gradient, data of floats has one, too: then it has the batch in front.
bool BatchResizer::mayHaveBatch(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (!isDifferentiated(number) || llvm::is_contained(batch, number))
    return true;
  return wrt.empty() && getMark(argument, 0) == 1 &&
         llvm::count_if(marks.lookup(argument),
                        [](auto dim) { return dim.has_value(); }) == 1;
}

LogicalResult BatchResizer::findBatch(ArrayRef<int64_t> given) {
  auto getRows = [&](int64_t number) -> std::optional<int64_t> {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
    return type && type.getRank() > 0 ? std::optional(type.getDimSize(0))
                                      : std::nullopt;
  };
  int64_t count = function.getNumArguments();
  for (int64_t number : given)
    if (number < 0 || number >= count || !getRows(number))
      return function.emitOpError("has no argument #")
             << number << " with a first dimension for the batch";
  batch = llvm::to_vector(given);
  for (int64_t number = 0; number < count && given.empty(); ++number) {
    std::optional<int64_t> rows = getRows(number);
    if (rows && mayBeData(number) &&
        (batch.empty() || rows == getRows(batch.front())))
      batch.push_back(number);
  }
  if (batch.empty())
    return function.emitOpError(
        "has no batch: expected data, which the function is not differentiated "
        "with respect to, with a first dimension and either a second one or "
        "integers");
  size = *getRows(batch.front());
  for (int64_t number : batch)
    if (getRows(number) != size)
      return function.emitOpError("argument #")
             << number << " has " << *getRows(number)
             << " rows, expected the batch of " << size;
  return success();
}

/// Equal constants of several readers have become one: the batch of one reader
/// is none of another's.
void BatchResizer::separateConstants() {
  SmallVector<Operation *> shared;
  auto collect = [&](Operation *op) {
    if (op->getNumResults() == 1 && !op->use_empty() &&
        isa<RankedTensorType>(op->getResult(0).getType()) &&
        isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(op))
      shared.push_back(op);
  };
  function.walk(collect);
  for (func::FuncOp body : bodies)
    body.walk(collect);
  // Readers first, which are copied together with what they read.
  for (Operation *op : llvm::reverse(shared)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::drop_begin(uses))
      use->set(OpBuilder(op).clone(*op)->getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// The other size
//===----------------------------------------------------------------------===//

SmallVector<int64_t> BatchResizer::resize(Value value) const {
  auto shape =
      llvm::to_vector(cast<RankedTensorType>(value.getType()).getShape());
  for (auto [dim, outer] : llvm::enumerate(marks.lookup(value)))
    if (outer)
      shape[dim] = shape[dim] / size * newSize;
  return shape;
}

/// What an operation says of shapes beside the types.
void BatchResizer::applyTo(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    // What is in it matters to nobody: the function is planned and not run.
    auto type = cast<RankedTensorType>(constant.getType());
    auto elements = cast<ElementsAttr>(constant.getValue());
    Attribute first = type.getNumElements() > 0
                          ? *elements.getValues<Attribute>().begin()
                          : Builder(op).getZeroAttr(type.getElementType());
    auto resized = type.clone(resize(constant.getResult()));
    constant.setValueAttr(DenseElementsAttr::get(resized, first));
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    expand.setStaticOutputShape(resize(expand.getResult()));
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<int64_t> sizes = llvm::to_vector(slice.getStaticSizes());
    SmallVector<int64_t> source = resize(slice.getSource());
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (getMark(slice.getSource(), dim))
        sizes[dim] = source[dim];
    slice.setStaticSizes(sizes);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    SmallVector<int64_t> sizes = llvm::to_vector(insert.getStaticSizes());
    SmallVector<int64_t> dest = resize(insert.getDest());
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (getMark(insert.getDest(), dim))
        sizes[dim] = dest[dim];
    insert.setStaticSizes(sizes);
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    SmallVector<int64_t> sizes = llvm::to_vector(scatter.getSizes());
    for (auto [length, outer] : llvm::zip(sizes, scattered.lookup(op)))
      if (outer)
        length = length / size * newSize;
    scatter.setSizes(sizes);
  }
}

/// The type of a function is that of its block.
static void updateType(func::FuncOp function) {
  Block &block = function.front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
}

void BatchResizer::apply() {
  auto change = [&](Operation *op) {
    if (llvm::any_of(op->getOperands(),
                     [&](Value value) { return isMarked(value); }) ||
        llvm::any_of(op->getResults(),
                     [&](Value value) { return isMarked(value); }))
      applyTo(op);
  };
  function.walk(change);
  for (func::FuncOp body : bodies)
    body.walk(change);
  for (auto &[value, dims] : marks) {
    auto type = cast<RankedTensorType>(value.getType());
    Value(value).setType(type.clone(resize(value)));
  }
  updateType(function);
  for (func::FuncOp body : bodies)
    updateType(body);
}

LogicalResult BatchResizer::run(ArrayRef<int64_t> given) {
  if (newSize < 1)
    return function.emitOpError("cannot have a batch of ")
           << newSize << ", expected 1 or more";
  if (failed(findBatch(given)))
    return failure();
  findBodies(function);
  separateConstants();
  for (int64_t number : batch)
    if (failed(mark(function, function.getArgument(number), 0, 1)))
      return failure();
  do {
    hasChanged = false;
    if (failed(followBlock(function.front())))
      return failure();
  } while (hasChanged);
  // Other data may have the batch, too, where it meets what has it.
  for (BlockArgument argument : function.getArguments())
    if (isMarked(argument) && !mayHaveBatch(argument))
      return function.emitOpError("argument #")
             << argument.getArgNumber() << ", a " << argument.getType()
             << ", has the size of the batch, " << size
             << ", in one of its dimensions, but the function is "
                "differentiated with respect to it; expected the batch in "
                "arguments #"
             << llvm::interleaved(batch) << " and other data only";
  apply();
  return success();
}

namespace {
struct ResizeBatch : remat::impl::ResizeBatchPassBase<ResizeBatch> {
  using ResizeBatchPassBase::ResizeBatchPassBase;

  void runOnOperation() override {
    auto entry = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!entry || entry.isExternal() || !entry.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '")
          << function << "' of one block to resize the batch of";
      return signalPassFailure();
    }
    SmallVector<int64_t> given(arguments.begin(), arguments.end()),
        differentiated(wrt.begin(), wrt.end());
    if (failed(BatchResizer(entry, size, differentiated).run(given)))
      signalPassFailure();
  }
};
} // namespace
