//===- ScatterEmitter.cpp - loops for remat.scatter -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Points that may select the same element stay in order. A dimension whose
// coordinate is itself an index of the result is parallel: different
// coordinates write different slices, so units own slices, and each fills its
// own before adding to it.
//
// Sums that are wider than the result are made on the stack. Units own blocks
// of rows then, look at all points for those that are in their block, and round
// it in the end (ScatterRows.h).
//
//===----------------------------------------------------------------------===//

#include "LoopEmitter.h"
#include "Tuning.h"
#include "remat/Codegen/BodyEmitter.h"
#include "remat/Codegen/KernelBufferization.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/ScatterRows.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

namespace {

class ScatterEmitter : public Emitter {
public:
  ScatterEmitter(ScatterOp op, const KernelContext &kernel,
                 std::optional<BufferView> start)
      : op(op), kernel(kernel), loc(op.getLoc()), start(std::move(start)) {}

  LogicalResult initialize();
  int64_t getExtent() const override {
    int64_t extent = 1;
    for (const UnitLoop &loop : units)
      extent *= loop.getCount();
    return extent;
  }
  int64_t getCost() const override;
  LogicalResult emit(OpBuilder &builder, Value begin, Value end) override;

private:
  void chooseLoops();
  void chooseBlocks();
  Type getUpdateType() const {
    return op.getBody().front().getTerminator()->getOperands().back().getType();
  }
  /// Whether the result does not hold what is added to yet.
  bool isFilled() const { return init || start; }
  void emitFill(OpBuilder &builder);
  Value emitStackPlace(OpBuilder &builder, Value row, Value column);
  void emitBlock(
      OpBuilder &builder,
      llvm::function_ref<void(OpBuilder &, Value row, Value column)> emitOne);
  void emitClear(OpBuilder &builder);
  void emitRounded(OpBuilder &builder);
  void defineBody(BodyEmitter &body);
  LogicalResult emitPoints(OpBuilder &builder);

  mutable ScatterOp op;
  const KernelContext &kernel;
  Location loc;
  BufferView result;
  /// What the result starts as: a constant, or what is elsewhere, unless the
  /// result has its place.
  TypedAttr init;
  std::optional<BufferView> start;
  SmallVector<BufferView> inputs;

  /// For each loop the dimension of the result whose index it is, or -1.
  SmallVector<int> ownedDims;
  SmallVector<UnitLoop> units;
  /// Loops that run within a unit in order, and the innermost, if any.
  SmallVector<unsigned> ordered;
  int inner = -1;

  /// Where sums are made on the stack: the blocks, and the sums of one.
  std::optional<ScatterRows> rows;
  Value stack;

  SmallVector<UnitBlock> blocks;
  SmallVector<Value> indices;
  SmallVector<unsigned> depths;
};

} // namespace

LogicalResult ScatterEmitter::initialize() {
  FailureOr<BufferView> view = resolveView(op.getInit());
  if (failed(view))
    return failure();
  result = *view;
  for (Value input : op.getInputs()) {
    FailureOr<BufferView> inputView = resolveView(input);
    if (failed(inputView))
      return failure();
    inputs.push_back(*inputView);
  }
  if (auto inits = op->getAttrOfType<ArrayAttr>(RematDialect::initsAttrName))
    init = dyn_cast<TypedAttr>(inits[0]);
  if (getUpdateType() == getElementTypeOrSelf(op.getInit().getType())) {
    chooseLoops();
    return success();
  }
  rows = findScatterRows(op);
  if (!rows || !init)
    return op.emitOpError("has sums wider than the result, expected this only "
                          "where they can be made in blocks of rows");
  chooseBlocks();
  return success();
}

int64_t ScatterEmitter::getCost() const {
  int64_t cost = 1, points = 1;
  for (Operation &inner : op.getBody().front())
    cost += getOpCost(&inner);
  for (int64_t size : op.getSizes())
    points = multiplyCounts(points, size);
  int64_t elements = 1;
  for (int64_t size : result.shape)
    elements *= size;
  return addCounts(multiplyCounts(points, cost), isFilled() ? elements : 0);
}

void ScatterEmitter::chooseLoops() {
  ArrayRef<int64_t> sizes = op.getSizes();
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  ValueRange yielded = yield.getValues().drop_back();
  ownedDims.assign(sizes.size(), -1);
  bool empty = llvm::is_contained(sizes, 0);
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    for (auto [dim, index] : llvm::enumerate(yielded))
      // A slice without points would not be filled by any unit.
      if (!empty && index == point &&
          (!isFilled() || result.shape[dim] == sizes[loop]))
        ownedDims[loop] = dim;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (ownedDims[loop] >= 0 && result.strides[ownedDims[loop]] == 1)
      inner = loop;
  int64_t extent = 1;
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    if (static_cast<int>(loop) == inner)
      continue;
    if (ownedDims[loop] < 0) {
      ordered.push_back(loop);
      continue;
    }
    units.push_back({loop, sizes[loop], 1});
    extent *= sizes[loop];
  }
  if (inner < 0)
    return;
  int64_t block =
      extent >= ScatterTuning::manyUnits
          ? ScatterTuning::maxOwned
          : llvm::divideCeil(sizes[inner], ScatterTuning::wantedBlocks);
  units.push_back(
      {static_cast<unsigned>(inner), sizes[inner],
       std::clamp<int64_t>(llvm::alignTo(block, ScatterTuning::ownedMultiple),
                           ScatterTuning::minOwned, ScatterTuning::maxOwned)});
}

/// The last two parts of a unit are the block's rows and its columns.
void ScatterEmitter::chooseBlocks() {
  ArrayRef<int64_t> sizes = op.getSizes();
  ownedDims = rows->ownedDims;
  inner = rows->inner;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (ownedDims[loop] < 0)
      ordered.push_back(loop);
    else if (static_cast<int>(loop) != inner)
      units.push_back({loop, sizes[loop], 1});
  // Rows are not the indices of a loop.
  units.push_back({op.getNumLoops(), result.shape[rows->dim], rows->rows});
  units.push_back({rows->inner, sizes[inner], rows->columns});
}

/// Fills the part of the result that the unit owns.
void ScatterEmitter::emitFill(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  if (start) {
    auto getPlace = [&](const BufferView &view) -> Value {
      return memref::ExtractAlignedPointerAsIndexOp::create(
          builder, loc, kernel.buffers.lookup(view.root));
    };
    Value isElsewhere =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                              getPlace(*start), getPlace(result));
    auto fill = scf::IfOp::create(builder, loc, isElsewhere, false);
    builder.setInsertionPointToStart(fill.thenBlock());
  }
  Value zero = emitIndex(builder, loc, 0);
  SmallVector<Value> place(result.shape.size());
  for (auto [dim, size] : llvm::enumerate(result.shape)) {
    Value begin = zero, end = emitIndex(builder, loc, size);
    bool isFixed = false;
    for (auto [unit, block] : llvm::zip(units, blocks)) {
      if (ownedDims[unit.loop] != static_cast<int>(dim))
        continue;
      isFixed = unit.block == 1;
      begin = block.begin;
      end = block.end;
    }
    place[dim] =
        isFixed ? begin : openLoop(builder, loc, begin, end).getInductionVar();
  }
  // Both are whole buffers of one type.
  Value address =
      emitLinear(builder, loc, result.offset, result.strides, place);
  Value value =
      start ? kernel.load(builder, loc, start->root,
                          getElementTypeOrSelf(op.getInit().getType()), address)
            : arith::ConstantOp::create(builder, loc, init).getResult();
  kernel.store(builder, loc, value, result.root, address);
}

/// Where the sum of this row and column of the result is in the block.
Value ScatterEmitter::emitStackPlace(OpBuilder &builder, Value row,
                                     Value column) {
  Value inBlock =
      arith::SubIOp::create(builder, loc, row, blocks[blocks.size() - 2].begin);
  Value place =
      emitLinear(builder, loc, 0, {rows->columns, 1}, {inBlock, column});
  return arith::SubIOp::create(builder, loc, place, blocks.back().begin);
}

/// For all rows and columns of the block.
void ScatterEmitter::emitBlock(
    OpBuilder &builder,
    llvm::function_ref<void(OpBuilder &, Value row, Value column)> emitOne) {
  OpBuilder::InsertionGuard guard(builder);
  const UnitBlock &ofRows = blocks[blocks.size() - 2], &columns = blocks.back();
  Value row =
      openLoop(builder, loc, ofRows.begin, ofRows.end).getInductionVar();
  Value column =
      openLoop(builder, loc, columns.begin, columns.end).getInductionVar();
  emitOne(builder, row, column);
}

void ScatterEmitter::emitClear(OpBuilder &builder) {
  OpBuilder onEntry = OpBuilder::atBlockBegin(kernel.entry);
  Type type = getUpdateType();
  stack = memref::AllocaOp::create(
      onEntry, loc,
      MemRefType::get({rows->rows * rows->columns}, getStorageType(type)),
      onEntry.getI64IntegerAttr(64));
  APFloat first = cast<FloatAttr>(init).getValue();
  bool isInexact;
  first.convert(cast<FloatType>(type).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &isInexact);
  Value start = arith::ConstantOp::create(builder, loc,
                                          builder.getFloatAttr(type, first));
  emitBlock(builder, [&](OpBuilder &b, Value row, Value column) {
    memref::StoreOp::create(b, loc, start, stack,
                            emitStackPlace(b, row, column));
  });
}

void ScatterEmitter::emitRounded(OpBuilder &builder) {
  emitBlock(builder, [&](OpBuilder &b, Value row, Value column) {
    Value sum =
        memref::LoadOp::create(b, loc, stack, emitStackPlace(b, row, column));
    Value rounded = arith::TruncFOp::create(
        b, loc, getElementTypeOrSelf(op.getInit().getType()), sum);
    SmallVector<Value> place(result.shape.size());
    for (auto [loop, dim] : llvm::enumerate(ownedDims))
      if (dim >= 0)
        place[dim] = static_cast<int>(loop) == inner ? column : indices[loop];
    place[rows->dim] = row;
    kernel.store(b, loc, rounded, result.root,
                 emitLinear(b, loc, result.offset, result.strides, place));
  });
}

void ScatterEmitter::defineBody(BodyEmitter &body) {
  for (auto [loop, point] : llvm::enumerate(op.getPointArguments()))
    body.defineArgument(point, depths[loop], [this, loop = loop](OpBuilder &) {
      return indices[loop];
    });
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [number, element] : llvm::enumerate(op.getElementArguments())) {
    const BufferView &input = inputs[number];
    SmallVector<int64_t> coefficients(op.getNumLoops(), 0);
    int64_t offset = input.offset;
    AffineExpr nonlinear =
        flattenMap(maps[number], input.strides, coefficients, offset);
    unsigned depth = 0;
    for (auto [loop, loopDepth] : llvm::enumerate(depths))
      if (maps[number].isFunctionOfDim(loop))
        depth = std::max(depth, loopDepth);
    body.defineArgument(
        element, depth,
        [this, &input, coefficients, offset, nonlinear,
         type = element.getType()](OpBuilder &b) -> Value {
          Value address = emitLinear(b, loc, offset, coefficients, indices);
          if (nonlinear) {
            SmallVector<Value> dims(indices);
            for (Value &dim : dims)
              if (!dim)
                dim = emitIndex(b, loc, 0);
            address = arith::AddIOp::create(
                b, loc, address,
                affine::expandAffineExpr(b, loc, nonlinear, dims, {}));
          }
          return kernel.load(b, loc, input.root, type, address);
        });
  }
  for (Value value : op.getBody().front().getTerminator()->getOperands())
    body.require(value);
}

LogicalResult ScatterEmitter::emitPoints(OpBuilder &builder) {
  unsigned depth = 1;
  depths.assign(op.getNumLoops(), 1);
  for (unsigned loop : ordered)
    depths[loop] = ++depth;
  if (inner >= 0)
    depths[inner] = ++depth;
  BodyEmitter body(op.getBody().front(), kernel);
  defineBody(body);
  body.prepare(depth);
  if (failed(body.emit(builder, 0)) || failed(body.emit(builder, 1)))
    return failure();
  for (unsigned loop : ordered) {
    indices[loop] = openLoop(builder, loc, emitIndex(builder, loc, 0),
                             emitIndex(builder, loc, op.getSizes()[loop]))
                        .getInductionVar();
    if (failed(body.emit(builder, depths[loop])))
      return failure();
  }
  if (rows) {
    const UnitBlock &block = blocks[blocks.size() - 2];
    ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
    // One comparison, as numbers without a sign.
    Value row = arith::SubIOp::create(
        builder, loc, body.lookup(yielded[rows->dim]), block.begin);
    Value count = arith::SubIOp::create(builder, loc, block.end, block.begin);
    Value isInBlock = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, row, count);
    auto inBlock = scf::IfOp::create(builder, loc, isInBlock, false);
    builder.setInsertionPointToStart(inBlock.thenBlock());
  }
  if (inner >= 0) {
    indices[inner] =
        openLoop(builder, loc, blocks.back().begin, blocks.back().end)
            .getInductionVar();
    if (failed(body.emit(builder, depths[inner])))
      return failure();
  }
  SmallVector<Value> yielded;
  for (Value value : op.getBody().front().getTerminator()->getOperands())
    yielded.push_back(body.lookup(value));
  Value update = yielded.pop_back_val();
  Value address =
      rows ? emitStackPlace(builder, yielded[rows->dim], indices[inner])
           : emitLinear(builder, loc, result.offset, result.strides, yielded);
  Value old =
      rows ? memref::LoadOp::create(builder, loc, stack, address).getResult()
           : kernel.load(builder, loc, result.root, update.getType(), address);
  Value sum = op.combine(builder, old, update);
  if (rows)
    memref::StoreOp::create(builder, loc, sum, stack, address);
  else
    kernel.store(builder, loc, sum, result.root, address);
  return success();
}

LogicalResult ScatterEmitter::emit(OpBuilder &builder, Value begin, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  indices.assign(op.getNumLoops(), Value());
  auto unitLoop = openLoop(builder, loc, begin, end);
  blocks = splitUnit(builder, loc, unitLoop.getInductionVar(), units);
  for (auto [unit, block] : llvm::zip(units, blocks)) {
    if (unit.block == 1 && unit.loop < op.getNumLoops())
      indices[unit.loop] = block.begin;
    // Blocks of one have no end.
    if (rows && !block.end)
      block.end = arith::AddIOp::create(builder, loc, block.begin,
                                        emitIndex(builder, loc, 1));
  }
  if (rows) {
    emitClear(builder);
    {
      OpBuilder::InsertionGuard afterPoints(builder);
      if (failed(emitPoints(builder)))
        return failure();
    }
    emitRounded(builder);
    return success();
  }
  if (isFilled())
    emitFill(builder);
  if (llvm::is_contained(op.getSizes(), 0))
    return success();
  return emitPoints(builder);
}

FailureOr<std::unique_ptr<Emitter>>
remat::cpu::makeScatterEmitter(ScatterOp op, const KernelContext &kernel,
                               std::optional<BufferView> start) {
  auto emitter = std::make_unique<ScatterEmitter>(op, kernel, std::move(start));
  if (failed(emitter->initialize()))
    return failure();
  return std::unique_ptr<Emitter>(std::move(emitter));
}
