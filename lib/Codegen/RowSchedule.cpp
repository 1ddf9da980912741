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
    if (failed(op->hasAttr(factorAttrName) ? addFactor(op) : addStep(op)))
      return failure();
  function.walk([&](memref::AllocOp alloc) { inside.insert(alloc); });
  for (const RowStep &step : steps)
    if (step.summedRuns != 0)
      inside.erase(step.getRoot());
  if (failed(chooseUnits()))
    return failure();
  for (const RowStep &factor : factors)
    inside.erase(factor.getRoot());
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
    return op.emitOpError("cannot be done row by row: it has ")
           << (step.nest.isEmpty() ? "no iterations"
                                   : "rows that depend on each other");
  cost = addCounts(cost,
                   multiplyCounts(step.nest.numPoints(), step.nest.bodyCost()));
  int64_t points = 1, summed = 1;
  for (int64_t row : step.rows) {
    step.sizes.push_back(op.getStaticLoopRanges()[row]);
    points *= step.sizes.back();
    // A sum over one row adds nothing up.
    if (step.sizes.back() != 1 &&
        op.getIteratorTypesArray()[row] == utils::IteratorType::reduction) {
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

LogicalResult RowSchedule::addFactor(linalg::GenericOp op) {
  RowStep factor;
  factor.op = op;
  llvm::append_range(
      factor.rows,
      op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName).asArrayRef());
  // Any loop may be the one that walks the columns.
  FailureOr<LoopNest> nest = makeLoopNest(
      op, llvm::to_vector(llvm::seq<int64_t>(0, op.getNumLoops())));
  if (failed(nest))
    return failure();
  factor.nest = std::move(*nest);
  if (op.getNumReductionLoops() != 0 || factor.nest.outputs.size() != 1 ||
      factor.nest.sequential || !factor.getRoot().getDefiningOp())
    return op.emitOpError("cannot be done for a run of rows");
  for (int64_t row : factor.rows)
    factor.sizes.push_back(op.getStaticLoopRanges()[row]);
  cost = addCounts(
      cost, multiplyCounts(factor.nest.numPoints(), factor.nest.bodyCost()));
  factors.push_back(std::move(factor));
  return success();
}

/// Finds the runs that share a factor. Fails with a diagnostic if a contraction
/// reads another one in some run.
LogicalResult RowSchedule::checkFactor(RowStep &factor) const {
  int64_t parts = 1;
  for (int64_t size : factor.sizes)
    parts *= size;
  const int64_t runsOfAll = numRows / runRows;
  const int64_t elements =
      cast<MemRefType>(factor.getRoot().getType()).getNumElements() / parts;
  if (blockRows == 0 || runsOfAll % parts != 0)
    return factor.op.emitOpError("is no factor of runs of rows: there are ")
           << runsOfAll << " runs, expected a multiple of " << parts;
  factor.runs = runsOfAll / parts;
  auto getCoefficient = [](const RowStep &step, const Access &access,
                           int64_t row) {
    auto *loop = const_cast<LoopNest &>(step.nest).findLoop(row);
    return access.coefficients[loop - step.nest.loops.data()];
  };
  bool hasRuns = true;
  int64_t stride = elements;
  for (unsigned i = factor.rows.size(); i-- > 0; stride *= factor.sizes[i])
    hasRuns &= factor.sizes[i] == 1 ||
               getCoefficient(factor, factor.nest.outputs.front(),
                              factor.rows[i]) == stride;
  auto reads = [&](const RowStep &step) {
    return llvm::any_of(step.nest.inputs, [&](const Access &access) {
      return access.root == factor.getRoot();
    });
  };
  if (!hasRuns || llvm::any_of(finals, reads) || llvm::any_of(factors, reads))
    return factor.op.emitOpError(
        "is no factor of runs of rows, which contractions alone read");
  for (const RowStep &step : steps)
    for (const Access &access : step.nest.inputs) {
      if (access.root != factor.getRoot())
        continue;
      // From the fastest of the loops to the slowest: how many runs, or factors
      // for them, an index of each is.
      int64_t runs = step.sizes.back() / runRows;
      bool isFactor = step.isContraction && access.offset == 0 &&
                      !access.nonlinear && factor.runs % runs == 0;
      isFactor &= getCoefficient(step, access, step.rows.back()) == 0;
      for (unsigned i = step.rows.size() - 1; i-- > 0;) {
        int64_t expected =
            runs % factor.runs == 0 ? runs / factor.runs * elements : 0;
        isFactor &= step.sizes[i] == 1 ||
                    getCoefficient(step, access, step.rows[i]) == expected;
        runs *= step.sizes[i];
        isFactor &= runs % factor.runs == 0 || factor.runs % runs == 0;
      }
      if (!isFactor)
        return step.op->emitOpError(
            "reads a factor by other loops than those of its runs");
    }
  return success();
}

/// Divides the rows into runs and units.
LogicalResult RowSchedule::chooseUnits() {
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
  for (RowStep &factor : factors)
    if (failed(checkFactor(factor)))
      return failure();
  return success();
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

LoopNest RowSchedule::openFactor(OpBuilder &builder, const RowStep &factor,
                                 Value run) const {
  LoopNest nest = factor.nest;
  if (factor.runs != 1)
    run = arith::DivUIOp::create(
        builder, factor.op->getLoc(), run,
        emitIndex(builder, factor.op->getLoc(), factor.runs));
  openLoops(builder, factor, factor.rows.size(), run, nest);
  return nest;
}

LoopNest RowSchedule::openRows(OpBuilder &builder, const RowStep &step,
                               const RowPosition &position) const {
  Location loc = step.op->getLoc();
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
  if (!copies.empty())
    for (Access &access : nest.inputs)
      readSource(builder, position.run, nest, access);
  return nest;
}

//===----------------------------------------------------------------------===//
// Copies that are not made
//===----------------------------------------------------------------------===//

/// Whether `step` copies one tensor, element by element.
static bool isCopy(const RowStep &step) {
  Value yielded = step.nest.body->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (step.nest.inputs.size() != 1 || step.nest.outputs.size() != 1 ||
      !argument || argument.getOwner() != step.nest.body ||
      argument.getArgNumber() != 0)
    return false;
  const Access &from = step.nest.inputs.front();
  return from.root && !from.nonlinear && isa<BlockArgument>(from.root);
}

/// Whether `loop` is one of those of a step that are opened for a run: all rows
/// of a factor, and all but the last of others.
static bool isOpenedForRun(const RowStep &step, const Loop &loop,
                           bool isFactor) {
  auto opened = ArrayRef(step.rows).drop_back(isFactor ? 0 : 1);
  return llvm::any_of(loop.dims, [&](unsigned dim) {
    return llvm::is_contained(opened, int64_t(dim));
  });
}

/// The loop of a copy, not one of those that are opened for a run, that walks
/// the copy as a loop of `size` with `coefficient` does; -1 if there is none.
static int findLoopOfCopy(const RowStep &copy, int64_t size,
                          int64_t coefficient, bool isFactor) {
  for (auto [number, loop] : llvm::enumerate(copy.nest.loops))
    if (loop.size == size && !isOpenedForRun(copy, loop, isFactor) &&
        copy.nest.outputs.front().coefficients[number] == coefficient)
      return number;
  return -1;
}

/// Whether contractions alone read `copy`, and by its own loops. What is next
/// to each other in it must be so where it comes from, but for `inAnyOrder`.
bool RowSchedule::mayReadSource(const RowStep &copy, bool isFactor,
                                bool inAnyOrder) const {
  if (!isCopy(copy) || !copy.getRoot().getDefiningOp() ||
      copy.nest.outputs.front().offset != 0 ||
      (!isFactor && copy.sizes.back() != runRows))
    return false;
  const Access &from = copy.nest.inputs.front(),
               &to = copy.nest.outputs.front();
  for (auto [loop, was, is] :
       llvm::zip(copy.nest.loops, to.coefficients, from.coefficients))
    if (loop.size != 1 && ((was == 1 && is != 1 && !inAnyOrder) ||
                           (is == 0 && !isOpenedForRun(copy, loop, isFactor))))
      return false;
  for (const RowStep &step : finals)
    for (const Access &access : step.nest.inputs)
      if (access.root == copy.getRoot())
        return false;
  for (const RowStep &step : steps) {
    for (const Access &access : step.nest.outputs)
      if (access.root == copy.getRoot() && step.op != copy.op)
        return false;
    for (const Access &access : step.nest.inputs) {
      if (access.root != copy.getRoot())
        continue;
      if (!step.isContraction || access.offset != 0 || access.nonlinear ||
          (!isFactor && step.sizes.back() != runRows))
        return false;
      for (auto [loop, coefficient] :
           llvm::zip(step.nest.loops, access.coefficients))
        if (coefficient != 0 && loop.size != 1 &&
            !isOpenedForRun(step, loop, /*isFactor=*/false) &&
            findLoopOfCopy(copy, loop.size, coefficient, isFactor) < 0)
          return false;
    }
  }
  return true;
}

void RowSchedule::readSources(bool inAnyOrder) {
  auto take = [&](std::vector<RowStep> &from, bool areFactors) {
    for (auto step = from.begin(); step != from.end();) {
      if (!mayReadSource(*step, areFactors, inAnyOrder)) {
        ++step;
        continue;
      }
      inside.erase(step->getRoot());
      copies.push_back(std::move(*step));
      step = from.erase(step);
    }
  };
  if (blockRows == 0)
    return;
  take(factors, /*areFactors=*/true);
  take(steps, /*areFactors=*/false);
}

/// Lets `access`, if it is of a copy, be one of what is copied. The loops that
/// are opened for the run become loops of `nest`.
void RowSchedule::readSource(OpBuilder &builder, Value run, LoopNest &nest,
                             Access &access) const {
  auto copy = llvm::find_if(copies, [&](const RowStep &step) {
    return step.getRoot() == access.root;
  });
  if (copy == copies.end())
    return;
  bool isFactor = copy->op->hasAttr(factorAttrName);
  const Access &from = copy->nest.inputs.front();
  LoopNest opened = copy->nest;
  if (isFactor)
    opened = openFactor(builder, *copy, run);
  else
    openLoops(builder, *copy, copy->rows.size() - 1, run, opened);
  SmallVector<int64_t> coefficients;
  for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients)) {
    int mine = coefficient == 0 || loop.size == 1 || loop.isOpen()
                   ? -1
                   : findLoopOfCopy(*copy, loop.size, coefficient, isFactor);
    coefficients.push_back(mine < 0 ? 0 : from.coefficients[mine]);
  }
  Type elementType = access.elementType;
  bool isRead = access.isRead;
  access = from;
  access.elementType = elementType;
  access.isRead = isRead;
  access.coefficients = std::move(coefficients);
  for (auto [number, loop] : llvm::enumerate(opened.loops)) {
    if (!loop.isOpen() || from.coefficients[number] == 0)
      continue;
    Loop added = loop;
    added.dims.clear();
    nest.loops.push_back(added);
    for (Access &other : llvm::concat<Access>(nest.inputs, nest.outputs))
      other.coefficients.push_back(0);
    access.coefficients.back() = from.coefficients[number];
  }
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
      base = arith::AddIOp::create(builder, loc, base, access.base, nsw);
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
