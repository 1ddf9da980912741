//===- RowEmitter.cpp - kernels that work row by row ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit of the range is one row or, where there are products, all blocks of
// one or more runs of rows: those of one index of the leading loops (a head of
// attention), or of all over which something is added up (the heads that share
// a key). What operations hand to each other is a buffer on the stack for one
// row or block: its address is that of the tensor it stands for, less where the
// block begins.
//
// Sums over blocks start from zero before the first and are added to in order,
// whatever the number of threads.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "remat/Codegen/MaskedColumns.h"
#include "TileProduct.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

/// The most bytes of a factor that is packed once for all blocks.
static constexpr int64_t maxPackedBytes = 256 << 10;
/// All factors that are packed, which lie on the stack together.
static constexpr int64_t maxAllPackedBytes = 2 << 20;

namespace {

/// One operation, its loops and which of them walk the rows.
struct RowStep {
  linalg::GenericOp op;
  LoopNest nest;
  SmallVector<int64_t> rows, sizes;
  bool isProduct = false;
  /// Runs over whose blocks a product adds up, or 0.
  int64_t summedRuns = 0;
  /// The factor B as panels, packed before the blocks.
  Value packed;
  /// The loop over columns of which each block needs only the first, or -1.
  int columns = -1;
};

class RowEmitter : public Emitter {
public:
  RowEmitter(func::FuncOp function, KernelContext &kernel)
      : function(function), kernel(kernel) {}

  LogicalResult prepare();
  int64_t getExtent() const override { return numUnits; }
  int64_t getCost() const override { return cost; }
  LogicalResult emit(OpBuilder &builder, Value begin, Value end) override;

private:
  LogicalResult addStep(linalg::GenericOp op);
  void chooseUnits();
  void allocate();
  void findColumns();
  Value emitColumnEnd(OpBuilder &builder);
  LoopNest openRows(OpBuilder &builder, const RowStep &step);
  TileProduct describe(OpBuilder &builder, const RowStep &step, LoopNest &nest);
  void emitZeros(OpBuilder &builder, RowStep &step);
  bool isSameInRuns(const RowStep &step, const Access &access) const;
  void emitPacked(OpBuilder &builder, RowStep &step, bool forAllRuns);
  void emitStarts(OpBuilder &builder);
  LogicalResult emitStep(OpBuilder &builder, RowStep &step);

  func::FuncOp function;
  KernelContext &kernel;
  std::vector<RowStep> steps;
  DenseSet<Value> inside;
  /// Rows of a block; 0 where each row is a unit.
  int64_t blockRows = 0;
  /// Rows of a run, and runs of a unit.
  int64_t runRows = 1, numRuns = 1;
  int64_t numUnits = 1, numRows = 1, cost = 0, packedBytes = 0;
  MaskedColumns masked;
  TileBuffers tileBuffers;
  /// While emitting: the run, among all, and its block. The end of the columns
  /// is null before the blocks.
  Value run, runInUnit, blockBegin, blockEnd, columnEnd;
};

} // namespace

LogicalResult RowEmitter::addStep(linalg::GenericOp op) {
  RowStep step;
  step.op = op;
  llvm::append_range(
      step.rows,
      op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName).asArrayRef());
  FailureOr<LoopNest> nest = makeLoopNest(op, step.rows);
  if (failed(nest))
    return failure();
  step.nest = std::move(*nest);
  if (step.nest.isEmpty() || step.nest.sequential)
    return op.emitOpError("cannot be done row by row");
  int64_t points = 1, summed = 1;
  for (int64_t row : step.rows) {
    step.sizes.push_back(op.getStaticLoopRanges()[row]);
    points *= step.sizes.back();
    if (op.getIteratorTypesArray()[row] == utils::IteratorType::reduction) {
      summed *= step.sizes.back();
      step.summedRuns = summed; // rows, so far
    }
  }
  auto block = op->getAttrOfType<IntegerAttr>(blockAttrName);
  step.isProduct = block && op.getNumReductionLoops() != 0 &&
                   op->getNumOperands() == 3 && isProductBody(*op.getBody()) &&
                   isMatrixProductInRow(op, step.rows);
  if (step.summedRuns && !step.isProduct)
    return op.emitOpError("cannot be added up over blocks of rows");
  blockRows = block ? block.getInt() : 0;
  numRows = points;
  cost += step.nest.numPoints() * step.nest.bodyCost();
  steps.push_back(std::move(step));
  return success();
}

/// Divides the rows into runs and units.
void RowEmitter::chooseUnits() {
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

/// Gives what stays inside a buffer for one row or block.
void RowEmitter::allocate() {
  function.walk([&](memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    int64_t size =
        type.getNumElements() / numRows * std::max<int64_t>(blockRows, 1);
    OpBuilder onEntry = OpBuilder::atBlockBegin(kernel.entry);
    kernel.buffers[alloc] = memref::AllocaOp::create(
        onEntry, alloc.getLoc(),
        MemRefType::get({size}, getStorageType(type.getElementType())),
        onEntry.getI64IntegerAttr(64));
    inside.insert(alloc);
  });
}

LogicalResult RowEmitter::prepare() {
  for (auto op : function.getOps<linalg::GenericOp>())
    if (failed(addStep(op)))
      return failure();
  chooseUnits();
  allocate();
  if (blockRows != 0)
    findColumns();
  return success();
}

/// Finds what a causal mask hides of each block.
void RowEmitter::findColumns() {
  SmallVector<BlockStep> all;
  for (const RowStep &step : steps)
    all.push_back({step.op, &step.nest, static_cast<unsigned>(step.rows.back()),
                   step.sizes.back() != runRows, step.isProduct,
                   step.summedRuns != 0});
  std::optional<MaskedColumns> found = findMaskedColumns(all, inside);
  if (!found)
    return;
  masked = *found;
  for (auto [step, loop] : llvm::zip(steps, masked.loops))
    step.columns = loop;
}

/// The loops of a step for the unit and block that are being emitted.
LoopNest RowEmitter::openRows(OpBuilder &builder, const RowStep &step) {
  Location loc = step.op->getLoc();
  constexpr auto nsw = arith::IntegerOverflowFlags::nsw;
  LoopNest nest = step.nest;
  Value rest = run, begin = blockBegin, end = blockEnd;
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
  unsigned numOpen = step.rows.size() - (blockRows != 0 ? 1 : 0);
  for (unsigned i = numOpen; i-- > 0;) {
    Value index = rest;
    if (i != 0) {
      Value size = emitIndex(builder, loc, step.sizes[i]);
      index = arith::RemUIOp::create(builder, loc, rest, size);
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
    nest.findLoop(step.rows[i])->index = index;
  }
  Loop *last = blockRows != 0 ? nest.findLoop(step.rows.back()) : nullptr;
  if (last) {
    last->begin = begin;
    last->end = end;
  }
  if (step.columns >= 0)
    nest.loops[step.columns].end = columnEnd;
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

/// A product's operands as matrices. Its columns are what C has next to each
/// other.
TileProduct RowEmitter::describe(OpBuilder &builder, const RowStep &step,
                                 LoopNest &nest) {
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
  if (stride(c, n) != 1 && stride(c, m) == 1) {
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
  TileProduct product;
  product.a = makeMatrix(*a, m, k);
  product.b = makeMatrix(*b, k, n);
  product.c = makeMatrix(c, m, n);
  // A result of one column has it next to nothing.
  if (n < 0)
    product.c.column = 1;
  auto getRange = [&](int loop, Value &begin, Value &end) {
    begin = loop >= 0 && nest.loops[loop].begin ? nest.loops[loop].begin
                                                : emitIndex(builder, loc, 0);
    int64_t size = loop < 0 ? 1 : nest.loops[loop].size;
    end = loop >= 0 && nest.loops[loop].end ? nest.loops[loop].end
                                            : emitIndex(builder, loc, size);
    return loop >= 0 && nest.loops[loop].begin ? blockRows : size;
  };
  product.maxM = getRange(m, product.mBegin, product.mEnd);
  product.maxK = getRange(k, product.kBegin, product.kEnd);
  product.n = n < 0 ? 1 : nest.loops[n].size;
  if (n >= 0)
    product.nEnd = nest.loops[n].end;
  product.accumulate = step.summedRuns != 0;
  return product;
}

/// Where a sum over blocks starts.
void RowEmitter::emitZeros(OpBuilder &builder, RowStep &step) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = step.op->getLoc();
  blockBegin = blockEnd = emitIndex(builder, loc, 0);
  LoopNest nest = openRows(builder, step);
  TileProduct product = describe(builder, step, nest);
  Value row =
      openLoop(builder, loc, product.mBegin, product.mEnd).getInductionVar();
  Value column = openLoop(builder, loc, emitIndex(builder, loc, 0),
                          emitIndex(builder, loc, product.n))
                     .getInductionVar();
  Value address = emitLinear(builder, loc, 0, {product.c.row, product.c.column},
                             {row, column});
  address = arith::AddIOp::create(builder, loc, address, product.c.base);
  Value zero = emitZero(builder, loc, builder.getF32Type());
  memref::StoreOp::create(builder, loc, zero, product.c.buffer, address);
}

/// Whether an operand is the same for all runs of a unit.
bool RowEmitter::isSameInRuns(const RowStep &step, const Access &access) const {
  int64_t stride = 1;
  for (unsigned i = step.rows.size(); i-- > 0; stride *= step.sizes[i]) {
    Loop *loop = const_cast<LoopNest &>(step.nest).findLoop(step.rows[i]);
    if (stride < runRows * numRuns &&
        access.coefficients[loop - step.nest.loops.data()] != 0)
      return false;
  }
  return true;
}

/// Packs a factor that is the same for all blocks: of all runs of the unit, or
/// of one alone.
void RowEmitter::emitPacked(OpBuilder &builder, RowStep &step,
                            bool forAllRuns) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = step.op->getLoc();
  blockBegin = emitIndex(builder, loc, 0);
  blockEnd = emitIndex(builder, loc, runRows);
  LoopNest nest = openRows(builder, step);
  TileProduct product = describe(builder, step, nest);
  bool isSame = true;
  for (auto [access, original] : llvm::zip(nest.inputs, step.nest.inputs))
    if (kernel.buffers.lookup(access.root) == product.b.buffer) {
      if (inside.contains(access.root))
        return;
      isSame &= isSameInRuns(step, original);
    }
  if (isSame != forAllRuns)
    return;
  // B must not depend on the block: neither its sum nor its columns may.
  Loop *last = nest.findLoop(step.rows.back());
  bool isRow =
      !last->isReduction &&
      nest.outputs[0].coefficients[last - nest.loops.data()] == product.c.row;
  int64_t size = getPackedSize(product.maxK, product.n);
  if (!isRow || product.c.column != 1 || size * 4 > maxPackedBytes ||
      packedBytes + size * 4 > maxAllPackedBytes)
    return;
  packedBytes += size * 4;
  product.maxK = last->isReduction ? runRows : product.maxK;
  OpBuilder onEntry = OpBuilder::atBlockBegin(kernel.entry);
  step.packed = memref::AllocaOp::create(
      onEntry, loc, MemRefType::get({size}, builder.getF32Type()),
      onEntry.getI64IntegerAttr(64));
  emitPack(builder, loc, product, step.packed);
}

/// What precedes the blocks of a run.
void RowEmitter::emitStarts(OpBuilder &builder) {
  Location loc = function.getLoc();
  for (RowStep &step : steps) {
    if (step.summedRuns == 0) {
      if (step.isProduct && numRuns != 1)
        emitPacked(builder, step, /*forAllRuns=*/false);
      continue;
    }
    OpBuilder::InsertionGuard guard(builder);
    if (step.summedRuns != 1) {
      Value rest = arith::RemUIOp::create(
          builder, loc, runInUnit, emitIndex(builder, loc, step.summedRuns));
      Value isFirst =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                                emitIndex(builder, loc, 0));
      auto ifFirst = scf::IfOp::create(builder, loc, isFirst, false);
      builder.setInsertionPointToStart(ifFirst.thenBlock());
    }
    emitZeros(builder, step);
  }
}

LogicalResult RowEmitter::emitStep(OpBuilder &builder, RowStep &step) {
  LoopNest nest = openRows(builder, step);
  Location loc = step.op->getLoc();
  if (step.isProduct) {
    TileProduct product = describe(builder, step, nest);
    product.packed = step.packed;
    emitTileProduct(builder, loc, product, kernel.entry, tileBuffers);
    return success();
  }
  std::unique_ptr<Emitter> emitter = makeNestEmitter(std::move(nest), kernel);
  return emitter->emit(builder, emitIndex(builder, loc, 0),
                       emitIndex(builder, loc, emitter->getExtent()));
}

/// The end of the columns that rows of the block see. Products work on whole
/// panels of columns, so it is the end of one.
Value RowEmitter::emitColumnEnd(OpBuilder &builder) {
  Location loc = function.getLoc();
  Value seen = arith::AddIOp::create(builder, loc, blockEnd,
                                     emitIndex(builder, loc, masked.shift - 1),
                                     arith::IntegerOverflowFlags::nsw);
  Value panel = emitIndex(builder, loc, panelColumns);
  Value whole = arith::MulIOp::create(
      builder, loc, arith::CeilDivUIOp::create(builder, loc, seen, panel),
      panel, arith::IntegerOverflowFlags::nsw);
  return arith::MinSIOp::create(builder, loc, whole,
                                emitIndex(builder, loc, masked.size));
}

LogicalResult RowEmitter::emit(OpBuilder &builder, Value begin, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = function.getLoc();
  constexpr auto nsw = arith::IntegerOverflowFlags::nsw;
  Value unit = openLoop(builder, loc, begin, end).getInductionVar();
  run = unit;
  columnEnd = Value();
  if (blockRows != 0) {
    if (numRuns != 1)
      run = arith::MulIOp::create(builder, loc, unit,
                                  emitIndex(builder, loc, numRuns), nsw);
    for (RowStep &step : steps)
      if (step.isProduct && step.summedRuns == 0)
        emitPacked(builder, step, /*forAllRuns=*/true);
    if (numRuns != 1) {
      runInUnit = openLoop(builder, loc, emitIndex(builder, loc, 0),
                           emitIndex(builder, loc, numRuns))
                      .getInductionVar();
      run = arith::AddIOp::create(builder, loc, run, runInUnit, nsw);
    }
    emitStarts(builder);
    int64_t numBlocks = llvm::divideCeil(runRows, blockRows);
    Value number = openLoop(builder, loc, emitIndex(builder, loc, 0),
                            emitIndex(builder, loc, numBlocks))
                       .getInductionVar();
    Value block = emitIndex(builder, loc, blockRows);
    blockBegin = arith::MulIOp::create(builder, loc, number, block, nsw);
    blockEnd = arith::AddIOp::create(builder, loc, blockBegin, block, nsw);
    if (runRows % blockRows != 0)
      blockEnd = arith::MinSIOp::create(builder, loc, blockEnd,
                                        emitIndex(builder, loc, runRows));
    if (masked.size != 0)
      columnEnd = emitColumnEnd(builder);
  }
  for (RowStep &step : steps)
    if (failed(emitStep(builder, step)))
      return failure();
  return success();
}

FailureOr<std::unique_ptr<Emitter>>
remat::cpu::makeRowEmitter(func::FuncOp function, KernelContext &kernel) {
  auto emitter = std::make_unique<RowEmitter>(function, kernel);
  if (failed(emitter->prepare()))
    return failure();
  return std::unique_ptr<Emitter>(std::move(emitter));
}
