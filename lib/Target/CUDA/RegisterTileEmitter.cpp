//===- RegisterTileEmitter.cpp - launches with tiles in registers ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmitter.h"
#include "ContractArithmetic.h"
#include "RegisterTileEmission.h"
#include "WarpOps.h"

#include "remat/Codegen/Reduction.h"
#include "remat/Utils/ReductionOrder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Words of owned factors and sums that a thread keeps through a pass. Where
/// there are more, factors are loaded again for each tile.
static constexpr int64_t maxKeptWords = 48;
/// Threads of a multiprocessor that there are registers for: 255 for each.
static constexpr int64_t roomyTileThreads = 384;

void RegisterTileEmission::allocate() {
  // The launch of sums makes but few of the rows' buffers for itself.
  DenseSet<Value> used;
  for (const SmallVector<TilePass> &sweep : tiles.sweeps)
    for (const TilePass &pass : sweep)
      for (auto [step, isDone] : llvm::zip(schedule.steps, pass.steps))
        for (const Access &access :
             llvm::concat<const Access>(step.nest.inputs, step.nest.outputs))
          if (isDone)
            used.insert(access.root);
  for (memref::AllocOp alloc : plan.rows)
    if (!tiles.overRows || used.contains(alloc))
      addShared(alloc, alloc.getType().getNumElements() / schedule.numRows);
  for (const FactorLayout &factor : plan.factors)
    if (used.contains(factor.root))
      factor.allocate(launch);
  for (const TileFactor &factor : tiles.factors) {
    int64_t lines =
        tiles.isOwned(factor) ? llvm::alignTo(owned, uint64_t(16)) : swept;
    stages.emplace_back(
        launch, loc, lines, factor.side, tiles.isOwned(factor) ? 1 : 2,
        schedule.steps[factor.step].nest.inputs[factor.input].elementType);
  }
  isStaged.assign(stages.size(), false);
  kept.resize(stages.size());
  launch.setLeastBlocks(
      std::max<int64_t>(roomyTileThreads / launch.threads, 1));
  Value thread = launch.thread;
  auto div = [&](Value a, int64_t b) -> Value {
    return arith::DivUIOp::create(builder, loc, a, index(b));
  };
  auto rem = [&](Value a, int64_t b) -> Value {
    return arith::RemUIOp::create(builder, loc, a, index(b));
  };
  Value lane = rem(thread, warpSize);
  warpBegin = mul(div(thread, warpSize), coreRows);
  ownedLane = add(warpBegin, div(lane, 4));
  place = rem(lane, 4);
  sweptLane = mul(place, 2);
}

//===----------------------------------------------------------------------===//
// Where the thread's elements are
//===----------------------------------------------------------------------===//

/// How many rows or columns of the tile there are.
Value RegisterTileEmission::emitCount(bool rows) {
  if (rows)
    return arith::SubIOp::create(builder, loc, position.blockEnd,
                                 position.blockBegin, nsw);
  return arith::SubIOp::create(builder, loc, emitColumnEnd(), columnBegin, nsw);
}

/// Whether an element that is swept over exists; null if all do.
Value RegisterTileEmission::emitIsSwept(Element e) {
  if (isWhole(tiles.overRows))
    return Value();
  // Words of 32 bits, and a constant for each element.
  Type i32 = builder.getI32Type();
  Value rest = arith::IndexCastOp::create(
      builder, loc, i32,
      arith::SubIOp::create(builder, loc, emitCount(tiles.overRows), sweptLane,
                            nsw));
  return arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sgt, rest,
      arith::ConstantOp::create(builder, loc,
                                builder.getI32IntegerAttr(8 * e.q + e.c)));
}

Value RegisterTileEmission::emitIsOwned(unsigned h) {
  if (isWhole(!tiles.overRows))
    return Value();
  return isBelow(getOwned(h), emitCount(!tiles.overRows));
}

void RegisterTileEmission::setSwept(Value tile) {
  if (tiles.overRows)
    setTile(tile);
  else
    columnBegin = mul(tile, plan.tileColumns);
}

//===----------------------------------------------------------------------===//
// Steps of a tile
//===----------------------------------------------------------------------===//

/// The loops of a step that is no contraction, for the tile.
LoopNest RegisterTileEmission::openStep(unsigned number) {
  LoopNest nest = schedule.openRows(builder, schedule.steps[number], position);
  // Sums of a tile decide in what type they are kept.
  nest.loops[plan.steps[number].columnLoop].size = plan.tileColumns;
  return nest;
}

Value RegisterTileEmission::emitAddress(const LoopNest &nest,
                                        const Access &access,
                                        unsigned columnLoop, int64_t row,
                                        Value rowPlace, Value columnPlace) {
  SmallVector<Value> indices;
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    indices.push_back(loop.isOpen()            ? loop.index
                      : number == columnLoop   ? columnPlace
                      : int64_t(number) == row ? rowPlace
                                               : index(0));
  Value address =
      emitLinear(builder, loc, access.offset, access.coefficients, indices);
  return access.base ? add(address, access.base) : address;
}

/// The element of an input of a step.
Value RegisterTileEmission::emitInput(const LoopNest &nest, unsigned number,
                                      unsigned input, Element e) {
  const Access &access = nest.inputs[input];
  if (access.scalar)
    return launch.context.scalars.lookupOrDefault(access.scalar);
  if (auto maximum = runningMaxima.find(access.root);
      maximum != runningMaxima.end())
    return maximum->second[e.h];
  unsigned column = plan.steps[number].columnLoop;
  int64_t row = const_cast<LoopNest &>(nest).findLoop(
                    schedule.steps[number].rows.back()) -
                nest.loops.data();
  bool hasRow = access.coefficients[row] != 0,
       hasColumn = access.coefficients[column] != 0;
  if (hasRow && hasColumn)
    if (auto tile = fragments.find(access.root); tile != fragments.end())
      return tile->second[4 * e.q + 2 * e.h + e.c];
  if (Line *line = findLine(number, input, /*isInverse=*/false))
    return readLine(*line, input, e);
  bool hasOwned = tiles.overRows ? hasColumn : hasRow,
       hasSwept = tiles.overRows ? hasRow : hasColumn;
  Value &value = loaded[{input, (hasOwned ? 1 + e.h : 0) +
                                    (hasSwept ? 4 * (1 + 2 * e.q + e.c) : 0)}];
  if (value)
    return value;
  auto getIndex = [&](bool rows, Value begin) {
    Value mine = getPlace(e, rows);
    if (!isWhole(rows))
      mine = arith::MinSIOp::create(builder, loc, mine,
                                    add(emitCount(rows), index(-1)));
    return add(begin, mine);
  };
  value = launch.context.load(builder, loc, access.root, access.elementType,
                              emitAddress(nest, access, column, row,
                                          getIndex(true, nest.loops[row].begin),
                                          getIndex(false, columnBegin)));
  return value;
}

SmallVector<Accumulator> RegisterTileEmission::findSums(LoopNest &nest,
                                                        unsigned number) {
  nest.loops[plan.steps[number].columnLoop].size = plan.tileColumns;
  return findAccumulators(nest);
}

/// The loop of a step whose place is the row of the tile.
static int64_t findRowLoop(LoopNest &nest, const RowStep &step) {
  return nest.findLoop(step.rows.back()) - nest.loops.data();
}

/// Says how `body` reads what a step has for the element `e`, and what it
/// computes otherwise than written.
void RegisterTileEmission::defineElement(LoopNest &nest, unsigned number,
                                         const Element &e, BodyEmitter &body) {
  unsigned column = plan.steps[number].columnLoop;
  int64_t row = findRowLoop(nest, schedule.steps[number]);
  for (auto [input, argument] : llvm::enumerate(
           nest.body->getArguments().take_front(nest.inputs.size())))
    body.defineArgument(argument, 0,
                        [this, &nest, &e, number, input = input](OpBuilder &) {
                          return emitInput(nest, number, input, e);
                        });
  for (const auto &[loopNumber, loop] : llvm::enumerate(nest.loops))
    if (loop.dims.size() == 1)
      body.defineIndex(
          loop.dims[0], 0,
          [this, &nest, &e, row, column, n = loopNumber](OpBuilder &) -> Value {
            const Loop &mine = nest.loops[n];
            if (mine.isOpen())
              return mine.index;
            if (int64_t(n) == row)
              return add(mine.begin, getPlace(e, true));
            return n == column ? add(columnBegin, getPlace(e, false))
                               : index(0);
          });
  for (Comparison &comparison : comparisons[number])
    body.defineOp(comparison.op, [this, &comparison, &e](OpBuilder &) {
      return SmallVector<Value>{emitComparison(comparison, e)};
    });
  // A quotient by what a row has is a product with its reciprocal.
  for (auto op : nest.body->getOps<arith::DivFOp>()) {
    BlockArgument divisor = getDivisor(op, nest);
    if (!divisor || !getLine(number, divisor.getArgNumber(),
                             /*isInverse=*/true))
      continue;
    body.defineOp(op, [this, &nest, &e, &body, number, left = op.getLhs(),
                       input = divisor.getArgNumber()](OpBuilder &) {
      Value factor = emitInverse(nest, number, input, e);
      Value product =
          arith::MulFOp::create(builder, loc, body.lookup(left), factor);
      return SmallVector<Value>{product};
    });
  }
  for (auto op : nest.body->getOps<math::ExpOp>())
    if (op.getType().isF32())
      body.defineOp(op, [this, &body, power = op.getOperand()](OpBuilder &) {
        return SmallVector<Value>{
            emitExp(builder, loc, body.lookup(power), tiles.areRounded())};
      });
}

/// Writes the elements of a result that other tasks read.
void RegisterTileEmission::storeElements(LoopNest &nest, unsigned number,
                                         const Access &access,
                                         ArrayRef<Value> elements) {
  int64_t row = findRowLoop(nest, schedule.steps[number]);
  for (auto [place, value] : llvm::enumerate(elements)) {
    OpBuilder::InsertionGuard guard(builder);
    Element e = getElement(place);
    for (Value exists : {emitIsSwept(e), emitIsOwned(e.h)})
      if (exists)
        openIf(builder, loc, exists);
    launch.context.store(
        builder, loc, value, access.root,
        emitAddress(nest, access, plan.steps[number].columnLoop, row,
                    add(nest.loops[row].begin, getPlace(e, true)),
                    add(columnBegin, getPlace(e, false))));
  }
}

/// Computes the elements of a tile, or adds them to what each row has in
/// `sums`.
LogicalResult RegisterTileEmission::emitElements(unsigned number,
                                                 MutableArrayRef<Value> sums) {
  LoopNest nest = openStep(number);
  SmallVector<Accumulator> accumulators = findSums(nest, number);
  SmallVector<Fragment> made(nest.outputs.size());
  // Of each sum, what the tile adds to the two rows.
  SmallVector<std::array<Value, 2>> added(accumulators.size());
  loaded.clear();
  for (unsigned place = 0; place < swept / 2; ++place) {
    Element e = getElement(place);
    BodyEmitter body(*nest.body, launch.context);
    defineElement(nest, number, e, body);
    requireResults(body, nest, accumulators);
    body.prepare(0);
    if (failed(body.emit(builder, 0)))
      return failure();
    if (accumulators.empty()) {
      for (auto [output, value] :
           llvm::enumerate(nest.body->getTerminator()->getOperands()))
        made[output].push_back(body.lookup(value));
      continue;
    }
    Value exists = emitIsSwept(e);
    for (auto [sum, accumulator] : llvm::enumerate(accumulators)) {
      Value term = emitTerm(builder, nest, body, accumulator);
      if (exists)
        term = arith::SelectOp::create(
            builder, loc, exists, term,
            convertFloat(
                builder, loc,
                arith::ConstantOp::create(
                    builder, loc, *getNeutralElement(accumulator.combiner)),
                accumulator.type));
      Value &old = added[sum][e.h];
      old = old ? emitCombination(builder, nest, accumulator, old, term) : term;
    }
  }
  for (auto [sum, accumulator] : llvm::enumerate(accumulators))
    for (unsigned h = 0; h < 2; ++h)
      sums[2 * sum + h] = emitCombination(builder, nest, accumulator,
                                          sums[2 * sum + h], added[sum][h]);
  if (!accumulators.empty())
    return success();
  for (auto [output, access] : llvm::enumerate(nest.outputs)) {
    if (plan.steps[number].isResult && !wide.contains(access.root) &&
        isa<BlockArgument>(access.root))
      storeElements(nest, number, access, made[output]);
    fragments[access.root] = std::move(made[output]);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Values that a pass keeps of a step that reduces.
int64_t RegisterTileEmission::countSums(unsigned number) {
  const RowStep &step = schedule.steps[number];
  if (plan.steps[number].kind == TiledStep::Tile)
    return 0;
  if (!step.isContraction) {
    LoopNest nest = step.nest;
    return 2 * findSums(nest, number).size();
  }
  const auto &factors = tiles.factorOf[number];
  return countThreadSums(
      tiles.factors[factors[0] >= 0 ? factors[0] : factors[1]].side);
}

SmallVector<Value> RegisterTileEmission::emitInits(const TilePass &pass) {
  SmallVector<Value> inits;
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  for (unsigned number : pass.ends) {
    if (schedule.steps[number].isContraction) {
      inits.append(countSums(number), zero);
      continue;
    }
    if (plan.steps[number].kind == TiledStep::Tile)
      continue;
    LoopNest nest = schedule.steps[number].nest;
    for (const Accumulator &accumulator : findSums(nest, number)) {
      Value neutral = arith::ConstantOp::create(
          builder, loc, *getNeutralElement(accumulator.combiner));
      inits.append(2, convertFloat(builder, loc, neutral, accumulator.type));
    }
  }
  return inits;
}

LogicalResult RegisterTileEmission::emitTile(const TilePass &pass,
                                             SmallVector<Value> &sums) {
  fragments.clear();
  runningMaxima.clear();
  size_t first = 0;
  for (unsigned number = 0; number < pass.steps.size(); ++number) {
    TiledStep::Kind kind = plan.steps[number].kind;
    if (!pass.steps[number] || kind == TiledStep::RowsOnly)
      continue;
    bool ends = llvm::is_contained(pass.ends, number);
    int64_t count = ends ? countSums(number) : 0;
    MutableArrayRef<Value> mine = MutableArrayRef(sums).slice(first, count);
    first += count;
    if (!schedule.steps[number].isContraction) {
      SmallVector<Value> before(mine);
      if (failed(emitElements(number, mine)))
        return failure();
      if (pass.maximum && pass.maximum->step == number)
        updateMaximum(pass, before, sums);
    } else if (kind == TiledStep::Tile) {
      emitScores(number);
    } else {
      emitProduct(number, mine);
    }
  }
  return success();
}

/// Adds up the tiles from `begin` on and before `end`.
LogicalResult RegisterTileEmission::emitTiles(const TilePass &pass, Value begin,
                                              Value end,
                                              SmallVector<Value> &sums) {
  std::vector<bool> factors = findFactors(pass);
  std::vector<bool> missing = factors;
  bool hasMissing = false;
  int64_t words = sums.size();
  for (unsigned number = 0; number < factors.size(); ++number) {
    bool isOwned = tiles.isOwned(tiles.factors[number]);
    missing[number] = factors[number] && isOwned && !isStaged[number];
    isStaged[number] = isStaged[number] || missing[number];
    hasMissing |= missing[number];
    if (factors[number] && isOwned)
      words += tiles.factors[number].getPaddedSide() / 4;
  }
  // Steps for rows only that each tile of rows needs are done when it is there.
  std::vector<bool> others = factors;
  for (unsigned number = 0; number < others.size(); ++number)
    others[number] = others[number] && !tiles.isOwned(tiles.factors[number]);
  bool makes = isMade(others), repeats = makes;
  for (unsigned number = 0; number < pass.steps.size(); ++number)
    repeats |=
        pass.steps[number] && plan.steps[number].kind == TiledStep::RowsOnly;
  // All that is read first is on its way before anything is waited for.
  setSwept(begin);
  addLines(pass);
  if (isMade(missing) && failed(emitFactors(pass.steps)))
    return failure();
  stage(missing, /*owned=*/true, Value());
  emitCopyGroup(builder, loc);
  if (!repeats)
    stage(factors, /*owned=*/false, index(0));
  emitCopyGroup(builder, loc);
  loadOwnedLines();
  loadNextLines();
  storeNextLines(index(0));
  if (hasMissing) {
    emitCopyWait(builder, loc, 1);
    launch.emitBarrier(loc);
  }
  for (unsigned number = 0; number < factors.size(); ++number) {
    kept[number].clear();
    if (factors[number] && tiles.isOwned(tiles.factors[number]))
      stages[number].setPlace(warpBegin, Value());
  }
  if (words <= maxKeptWords)
    for (unsigned number = 0; number < factors.size(); ++number)
      if (factors[number] && tiles.isOwned(tiles.factors[number]))
        for (int64_t k = 0; k < tiles.factors[number].getPaddedSide();
             k += coreTerms)
          kept[number].push_back(stages[number].loadOwned(k));

  auto loop = scf::ForOp::create(builder, loc, begin, end, index(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar();
    Value done = arith::SubIOp::create(builder, loc, tile, begin, nsw);
    half = arith::RemUIOp::create(builder, loc, done, index(2));
    if (repeats) {
      setSwept(tile);
      for (unsigned number = 0; number < pass.steps.size(); ++number)
        if (pass.steps[number] &&
            plan.steps[number].kind == TiledStep::RowsOnly &&
            failed(emitStep(number)))
          return failure();
      if (makes && failed(emitFactors(pass.steps)))
        return failure();
      stage(factors, /*owned=*/false, half);
      emitCopyGroup(builder, loc);
    }
    emitCopyWait(builder, loc, 0);
    launch.emitBarrier(loc);
    // What is read of the next tile arrives while this one is computed. All
    // threads are done with the tile whose place it takes.
    Value next = add(tile, index(1)),
          other = arith::SubIOp::create(builder, loc, index(1), half, nsw);
    if (!repeats) {
      {
        OpBuilder::InsertionGuard inner(builder);
        openIf(builder, loc, isBelow(next, end));
        setSwept(next);
        stage(factors, /*owned=*/false, other);
      }
      emitCopyGroup(builder, loc);
    }
    setSwept(arith::MinSIOp::create(builder, loc, next, add(end, index(-1))));
    loadNextLines();
    setSwept(tile);
    for (unsigned number = 0; number < factors.size(); ++number)
      if (factors[number] && !tiles.isOwned(tiles.factors[number]))
        stages[number].setPlace(warpBegin, half);
    SmallVector<Value> updated(loop.getRegionIterArgs());
    if (failed(emitSplitTile(pass, updated)))
      return failure();
    storeNextLines(other);
    if (repeats)
      launch.emitBarrier(loc);
    // A loop without sums has its yield already.
    if (!updated.empty())
      scf::YieldOp::create(builder, loc, updated);
    contractArithmetic(*loop.getBody());
  }
  if (!repeats)
    launch.emitBarrier(loc);
  sums.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

LogicalResult RegisterTileEmission::emitSweep(unsigned sweep) {
  for (const TilePass &pass : tiles.sweeps[sweep]) {
    if (pass.ends.empty())
      continue;
    SmallVector<Value> sums = emitInits(pass);
    if (failed(emitTiles(pass, index(0), emitTileCount(pass.steps), sums)) ||
        failed(finish(pass, sums)))
      return failure();
  }
  return success();
}

LogicalResult RegisterTileEmission::emitSums(Value unit) {
  this->unit = unit;
  for (const TilePass &pass : tiles.sweeps.front()) {
    SmallVector<Value> sums = emitInits(pass);
    Value begin = emitFirstTile(pass.steps), end = index(countRowTiles());
    position.run = mul(unit, schedule.numRuns);
    if (schedule.numRuns == 1) {
      if (failed(emitTiles(pass, begin, end, sums)))
        return failure();
    } else {
      // Runs may have factors of their own.
      isStaged.assign(stages.size(), false);
      auto loop = scf::ForOp::create(builder, loc, index(0),
                                     index(schedule.numRuns), index(1), sums);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      position.run = add(position.run, loop.getInductionVar());
      SmallVector<Value> updated(loop.getRegionIterArgs());
      if (failed(emitTiles(pass, begin, end, updated)))
        return failure();
      scf::YieldOp::create(builder, loc, updated);
      sums.assign(loop.getResults().begin(), loop.getResults().end());
    }
    // What is stored does not depend on the run.
    position.run = mul(unit, schedule.numRuns);
    setTile(index(0));
    if (failed(finish(pass, sums)))
      return failure();
  }
  return success();
}

std::unique_ptr<TiledRowEmission>
remat::cuda::makeRegisterTileEmission(const TiledRows &plan,
                                      const RowSchedule &schedule,
                                      LaunchBuilder &launch, bool overRows) {
  return std::make_unique<RegisterTileEmission>(plan, schedule, launch,
                                                *plan.getRegisters(overRows));
}
