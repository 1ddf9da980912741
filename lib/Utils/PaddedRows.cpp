//===- PaddedRows.cpp - tensors whose rows have gaps between them ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/PaddedRows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace remat;

RankedTensorType remat::withRows(RankedTensorType type, int64_t elements) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = elements;
  return type.clone(shape);
}

bool remat::keepsRows(Operation *view) {
  SmallVector<ReassociationIndices> groups;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(view))
    groups = collapse.getReassociationIndices();
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view))
    groups = expand.getReassociationIndices();
  return !groups.empty() && groups.back().size() == 1;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The rows of the whole, if a slice is all of it but for the ends of rows.
static PaddedRow findRow(OffsetSizeAndStrideOpInterface slice,
                         RankedTensorType part, RankedTensorType whole) {
  if (part.getRank() == 0 || part.getRank() != whole.getRank() ||
      !part.hasStaticShape() || !whole.hasStaticShape() ||
      part.getShape().drop_back() != whole.getShape().drop_back() ||
      part.getShape().back() >= whole.getShape().back() ||
      part.getNumElements() == 0 || !slice.hasUnitStride() ||
      !llvm::all_of(slice.getMixedOffsets(), isZeroInteger))
    return {};
  return {part.getShape().back(), whole.getShape().back()};
}

/// The slice that is all that is read of an argument.
static tensor::ExtractSliceOp findSlice(BlockArgument argument,
                                        PaddedRow &row) {
  if (!argument.hasOneUse())
    return {};
  auto slice = dyn_cast<tensor::ExtractSliceOp>(*argument.user_begin());
  if (!slice)
    return {};
  row = findRow(slice, slice.getType(), slice.getSourceType());
  return row ? slice : tensor::ExtractSliceOp();
}

/// The insertion that makes a result.
static tensor::InsertSliceOp findInsertion(Value result, PaddedRow &row) {
  auto insert = result.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || !insert->hasOneUse() ||
      !insert.getDest().getDefiningOp<tensor::EmptyOp>())
    return {};
  row = findRow(insert, insert.getSourceType(), insert.getResultType());
  return row ? insert : tensor::InsertSliceOp();
}

static bool hasOneBlock(func::FuncOp kernel) {
  return llvm::hasSingleElement(kernel.getBody());
}

PaddedRow remat::getResultRow(func::FuncOp kernel, unsigned number) {
  PaddedRow row;
  if (hasOneBlock(kernel))
    findInsertion(kernel.front().getTerminator()->getOperand(number), row);
  return row;
}

static void updateType(func::FuncOp kernel) {
  Block &body = kernel.front();
  kernel.setFunctionType(
      FunctionType::get(kernel.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

std::optional<UnpaddedKernel> remat::removePadding(func::FuncOp kernel) {
  if (!hasOneBlock(kernel))
    return std::nullopt;
  PaddedRow row;
  bool isPadded =
      llvm::any_of(
          kernel.getArguments(),
          [&](BlockArgument argument) { return findSlice(argument, row); }) ||
      llvm::any_of(kernel.front().getTerminator()->getOperands(),
                   [&](Value result) { return findInsertion(result, row); });
  if (!isPadded)
    return std::nullopt;
  UnpaddedKernel unpadded;
  unpadded.function = kernel.clone();
  Block &body = unpadded.function->front();
  for (BlockArgument argument : body.getArguments()) {
    PaddedRow &row = unpadded.arguments.emplace_back();
    tensor::ExtractSliceOp slice = findSlice(argument, row);
    if (!slice)
      continue;
    argument.setType(slice.getType());
    slice.replaceAllUsesWith(Value(argument));
    slice.erase();
  }
  for (OpOperand &returned : body.getTerminator()->getOpOperands()) {
    PaddedRow &row = unpadded.results.emplace_back();
    tensor::InsertSliceOp insert = findInsertion(returned.get(), row);
    if (!insert)
      continue;
    Operation *empty = insert.getDest().getDefiningOp();
    returned.set(insert.getSource());
    insert.erase();
    if (empty->use_empty())
      empty->erase();
  }
  updateType(*unpadded.function);
  return unpadded;
}

void remat::addPadding(func::FuncOp kernel, ArrayRef<int64_t> arguments,
                       ArrayRef<int64_t> results) {
  Block &body = kernel.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Location loc = kernel.getLoc();
  auto describe = [&](RankedTensorType type, SmallVector<OpFoldResult> &offsets,
                      SmallVector<OpFoldResult> &sizes,
                      SmallVector<OpFoldResult> &strides) {
    offsets.assign(type.getRank(), builder.getIndexAttr(0));
    strides.assign(type.getRank(), builder.getIndexAttr(1));
    sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  };
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (auto [argument, elements] :
       llvm::zip_equal(body.getArguments(), arguments)) {
    if (elements == 0)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    describe(type, offsets, sizes, strides);
    argument.setType(withRows(type, elements));
    auto slice = tensor::ExtractSliceOp::create(builder, loc, type, argument,
                                                offsets, sizes, strides);
    argument.replaceAllUsesExcept(slice, slice);
  }
  builder.setInsertionPoint(body.getTerminator());
  for (auto [returned, elements] :
       llvm::zip_equal(body.getTerminator()->getOpOperands(), results)) {
    if (elements == 0)
      continue;
    auto type = cast<RankedTensorType>(returned.get().getType());
    describe(type, offsets, sizes, strides);
    RankedTensorType whole = withRows(type, elements);
    Value empty = tensor::EmptyOp::create(builder, loc, whole.getShape(),
                                          whole.getElementType());
    returned.set(tensor::InsertSliceOp::create(builder, loc, returned.get(),
                                               empty, offsets, sizes, strides));
  }
  updateType(kernel);
}
