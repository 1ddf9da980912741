//===- StagedRows.cpp - rows that a block reads once ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagedRows.h"

#include "remat/Codegen/KernelContext.h"
#include "remat/Dialect/Remat/IR/Rows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

/// Elements of a row that the threads of a block have in registers, where each
/// has as many as it reads ahead.
static constexpr int64_t registerElements = 16 << 10;

/// How many dimensions of `operand`, the first ones, are those of the rows of
/// its operation, if nothing else of it depends on the row; 0 otherwise.
static unsigned countRowDims(OpOperand &operand, int64_t numRows) {
  auto op = dyn_cast<linalg::GenericOp>(operand.getOwner());
  auto rows = op ? op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName) : nullptr;
  if (!rows || !op.isDpsInput(&operand))
    return 0;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = cast<MemRefType>(operand.get().getType());
  if (map.getNumResults() < rows.size())
    return 0;
  int64_t count = 1;
  for (auto [dim, row] : llvm::enumerate(rows.asArrayRef())) {
    auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim));
    if (!expr || expr.getPosition() != row ||
        op.getStaticLoopRanges()[row] != type.getDimSize(dim))
      return 0;
    count *= type.getDimSize(dim);
  }
  for (AffineExpr expr : map.getResults().drop_front(rows.size()))
    for (int64_t row : rows.asArrayRef())
      if (expr.isFunctionOfDim(row))
        return 0;
  return count == numRows ? rows.size() : 0;
}

/// Copies `rows`, whose first dimensions are rows, before `first`.
static Value copyRows(Value rows, unsigned rowDims, Operation *first) {
  OpBuilder builder(first);
  Location loc = first->getLoc();
  auto type = cast<MemRefType>(rows.getType());
  Value copy = memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()));
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc, ValueRange(rows), ValueRange(copy),
      ArrayRef<AffineMap>{map, map}, loops,
      [](OpBuilder &inner, Location loc, ValueRange values) {
        linalg::YieldOp::create(inner, loc, values.front());
      });
  op->setAttr(rowsAttrName, builder.getDenseI64ArrayAttr(llvm::to_vector(
                                llvm::seq<int64_t>(0, rowDims))));
  return copy;
}

/// The arguments that nothing writes, and parts of them, such as rows without
/// the gaps between them.
static SmallVector<Value> findArguments(func::FuncOp function) {
  SmallVector<Value> found;
  for (BlockArgument argument : function.getArguments()) {
    SmallVector<Value> values = {argument};
    bool isRead = isa<MemRefType>(argument.getType());
    for (size_t i = 0; i < values.size() && isRead; ++i)
      for (OpOperand &use : values[i].getUses()) {
        auto view = dyn_cast<memref::SubViewOp>(use.getOwner());
        auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
        isRead &= view || (generic && generic.isDpsInput(&use));
        if (view)
          values.push_back(view);
      }
    if (isRead)
      llvm::append_range(found, values);
  }
  return found;
}

int64_t remat::cuda::stageRows(func::FuncOp function, int64_t numRows,
                               int64_t maxBytes) {
  int64_t staged = 0;
  for (Value argument : findArguments(function)) {
    auto type = cast<MemRefType>(argument.getType());
    if (!type.hasStaticShape() || numRows == 0)
      continue;
    int64_t elements = type.getNumElements() / numRows;
    int64_t bytes = elements * getElementBytes(type.getElementType());
    if (elements <= registerElements || staged + bytes > maxBytes)
      continue;
    SmallVector<OpOperand *> reads;
    unsigned rowDims = 0;
    for (OpOperand &use : argument.getUses()) {
      unsigned dims = countRowDims(use, numRows);
      if (dims == 0 || (rowDims != 0 && dims != rowDims))
        continue;
      rowDims = dims;
      reads.push_back(&use);
    }
    // One may read it twice.
    Operation *first = nullptr;
    DenseSet<Operation *> readers;
    for (OpOperand *read : reads) {
      Operation *reader = read->getOwner();
      readers.insert(reader);
      if (!first || reader->isBeforeInBlock(first))
        first = reader;
    }
    if (readers.size() < 2)
      continue;
    Value copy = copyRows(argument, rowDims, first);
    for (OpOperand *read : reads)
      read->set(copy);
    staged += bytes;
  }
  return staged;
}
