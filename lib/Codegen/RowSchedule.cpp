//===- RowSchedule.cpp - how a kernel walks its rows ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/RowSchedule.h"

#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Utils/Rows.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

LogicalResult RowSchedule::analyze(func::FuncOp function) {
  for (auto op : function.getOps<linalg::GenericOp>())
    if (failed(addStep(op)))
      return failure();
  function.walk([&](memref::AllocOp alloc) { inside.insert(alloc); });
  for (const RowStep &step : steps)
    if (step.summedRuns != 0)
      inside.erase(step.nest.outputs.front().root);
  chooseUnits();
  if (blockRows != 0)
    findColumns();
  return success();
}

LogicalResult RowSchedule::addStep(linalg::GenericOp op) {
  RowStep step;
  step.op = op;
  llvm::append_range(
      step.rows,
      op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName).asArrayRef());
  // All members of a kernel with blocks have them but those that follow.
  auto block = op->getAttrOfType<IntegerAttr>(blockAttrName);
  bool isFinal = blockRows != 0 && !block;
  // Any loop of what follows may be the one that walks the columns.
  SmallVector<int64_t> kept =
      isFinal ? llvm::to_vector(llvm::seq<int64_t>(0, op.getNumLoops()))
              : SmallVector<int64_t>(step.rows);
  FailureOr<LoopNest> nest = makeLoopNest(op, kept);
  if (failed(nest))
    return failure();
  step.nest = std::move(*nest);
  if (step.nest.isEmpty() || step.nest.sequential)
    return op.emitOpError("cannot be done row by row");
  cost = addCounts(cost,
                   multiplyCounts(step.nest.numPoints(), step.nest.bodyCost()));
  int64_t points = 1, summed = 1;
  for (int64_t row : step.rows) {
    step.sizes.push_back(op.getStaticLoopRanges()[row]);
    points *= step.sizes.back();
    if (op.getIteratorTypesArray()[row] == utils::IteratorType::reduction) {
      summed *= step.sizes.back();
      step.summedRuns = summed; // rows, so far
    }
  }
  if (isFinal) {
    finals.push_back(std::move(step));
    return success();
  }
  step.isContraction =
      block && op.getNumReductionLoops() != 0 && op->getNumOperands() == 3 &&
      isContractionBody(*op.getBody()) && isContractionInRow(op, step.rows);
  if (step.summedRuns && !step.isContraction)
    return op.emitOpError("cannot be added up over blocks of rows");
  blockRows = block ? block.getInt() : 0;
  numRows = points;
  steps.push_back(std::move(step));
  return success();
}

/// Divides the rows into runs and units.
void RowSchedule::chooseUnits() {
  int64_t summedRows = 1;
  if (blockRows != 0)
    runRows = numRows;
  for (const RowStep &step : steps) {
    if (blockRows != 0)
      runRows = std::min(runRows, step.sizes.back());
    summedRows = std::max(summedRows, step.summedRuns);
  }
  for (RowStep &step : steps)
    step.summedRuns /= runRows;
  numRuns = std::max<int64_t>(summedRows / runRows, 1);
  numUnits = numRows / (runRows * numRuns);
}

/// Finds what a causal mask hides of each block.
void RowSchedule::findColumns() {
  SmallVector<BlockStep> all;
  for (const RowStep &step : steps)
    all.push_back({step.op, &step.nest, static_cast<unsigned>(step.rows.back()),
                   step.sizes.back() != runRows, step.isContraction,
                   step.summedRuns != 0});
  std::optional<MaskedColumns> found = findMaskedColumns(all, inside);
  if (!found)
    return;
  masked = *found;
  for (auto [step, loop] : llvm::zip(steps, masked.loops))
    step.columns = loop;
}

/// Gives the first `count` loops that walk the rows their index in `number`,
/// which counts all of them.
static void openLoops(OpBuilder &builder, const RowStep &step, unsigned count,
                      Value number, LoopNest &nest) {
  Location loc = step.op->getLoc();
  for (unsigned i = count; i-- > 0;) {
    Value index = number;
    if (i != 0) {
      Value size = emitIndex(builder, loc, step.sizes[i]);
      index = arith::RemUIOp::create(builder, loc, number, size);
      number = arith::DivUIOp::create(builder, loc, number, size);
    }
    nest.findLoop(step.rows[i])->index = index;
  }
}

LoopNest RowSchedule::openUnit(OpBuilder &builder, const RowStep &step,
                               Value unit) const {
  LoopNest nest = step.nest;
  openLoops(builder, step, step.rows.size(), unit, nest);
  return nest;
}

LoopNest RowSchedule::openRows(OpBuilder &builder, const RowStep &step,
                               const RowPosition &position) const {
  Location loc = step.op->getLoc();
  constexpr auto nsw = arith::IntegerOverflowFlags::nsw;
  LoopNest nest = step.nest;
  Value rest = position.run, begin = position.blockBegin,
        end = position.blockEnd;
  int64_t joined = blockRows != 0 ? step.sizes.back() / runRows : 1;
  if (joined != 1) {
    // Its last loop goes over several runs.
    Value count = emitIndex(builder, loc, joined);
    Value first = arith::MulIOp::create(
        builder, loc, arith::RemUIOp::create(builder, loc, rest, count),
        emitIndex(builder, loc, runRows), nsw);
    rest = arith::DivUIOp::create(builder, loc, rest, count);
    begin = arith::AddIOp::create(builder, loc, first, begin, nsw);
    end = arith::AddIOp::create(builder, loc, first, end, nsw);
  }
  openLoops(builder, step, step.rows.size() - (blockRows != 0 ? 1 : 0), rest,
            nest);
  Loop *last = blockRows != 0 ? nest.findLoop(step.rows.back()) : nullptr;
  if (last) {
    last->begin = begin;
    last->end = end;
  }
  if (step.columns >= 0)
    nest.loops[step.columns].end = position.columnEnd;
  for (Access &access : llvm::concat<Access>(nest.inputs, nest.outputs)) {
    if (!inside.contains(access.root))
      continue;
    for (auto [loop, coefficient] :
         llvm::zip(nest.loops, access.coefficients)) {
      if (loop.isOpen())
        coefficient = 0;
      else if (&loop == last && coefficient != 0)
        access.base = arith::MulIOp::create(
            builder, loc, begin, emitIndex(builder, loc, -coefficient), nsw);
    }
  }
  return nest;
}

TileMatmul RowSchedule::describe(OpBuilder &builder, const RowStep &step,
                                 LoopNest &nest,
                                 const KernelContext &kernel) const {
  Location loc = step.op->getLoc();
  const Access *a = &nest.inputs[0], *b = &nest.inputs[1];
  const Access &c = nest.outputs[0];
  int m = -1, n = -1, k = -1;
  for (auto [number, loop] : llvm::enumerate(nest.loops)) {
    if (loop.isOpen())
      continue;
    bool inA = a->coefficients[number] != 0, inC = c.coefficients[number] != 0;
    (!inC ? k : inA ? m : n) = number;
  }
  auto stride = [](const Access &access, int loop) {
    return loop < 0 ? 0 : access.coefficients[loop];
  };
  if (n >= 0 && stride(c, n) != 1 && stride(c, m) == 1) {
    std::swap(a, b);
    std::swap(m, n);
  }
  auto makeMatrix = [&](const Access &access, int row, int column) {
    SmallVector<int64_t> coefficients;
    SmallVector<Value> indices;
    for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
      if (loop.isOpen()) {
        coefficients.push_back(coefficient);
        indices.push_back(loop.index);
      }
    Value base = emitLinear(builder, loc, access.offset, coefficients, indices);
    if (access.base)
      base = arith::AddIOp::create(builder, loc, base, access.base,
                                   arith::IntegerOverflowFlags::nsw);
    return TileMatrix{kernel.buffers.lookup(access.root), base,
                      stride(access, row), stride(access, column)};
  };
  TileMatmul matmul;
  matmul.a = makeMatrix(*a, m, k);
  matmul.b = makeMatrix(*b, k, n);
  matmul.c = makeMatrix(c, m, n);
  // A result of one column has it next to nothing.
  if (n < 0)
    matmul.c.column = 1;
  auto getRange = [&](int loop, Value &begin, Value &end) {
    begin = loop >= 0 && nest.loops[loop].begin ? nest.loops[loop].begin
                                                : emitIndex(builder, loc, 0);
    int64_t size = loop < 0 ? 1 : nest.loops[loop].size;
    end = loop >= 0 && nest.loops[loop].end ? nest.loops[loop].end
                                            : emitIndex(builder, loc, size);
    return loop >= 0 && nest.loops[loop].begin ? blockRows : size;
  };
  matmul.maxM = getRange(m, matmul.mBegin, matmul.mEnd);
  matmul.maxK = getRange(k, matmul.kBegin, matmul.kEnd);
  matmul.n = n < 0 ? 1 : nest.loops[n].size;
  if (n >= 0)
    matmul.nEnd = nest.loops[n].end;
  matmul.accumulate = step.summedRuns != 0;
  return matmul;
}

bool RowSchedule::isSameInRuns(const RowStep &step,
                               const Access &access) const {
  int64_t stride = 1;
  for (unsigned i = step.rows.size(); i-- > 0; stride *= step.sizes[i]) {
    Loop *loop = const_cast<LoopNest &>(step.nest).findLoop(step.rows[i]);
    if (stride < runRows * numRuns &&
        access.coefficients[loop - step.nest.loops.data()] != 0)
      return false;
  }
  return true;
}
