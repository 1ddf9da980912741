//===- RegisterTileResults.cpp - what passes over tiles reduce ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmission.h"
#include "WarpOps.h"

#include "remat/Codegen/Reduction.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Adds up what the threads of a row have, and stores it.
void RegisterTileEmission::finishReduction(unsigned number,
                                           ArrayRef<Value> sums) {
  const RowStep &step = schedule.steps[number];
  LoopNest nest = openStep(number);
  int64_t row = nest.findLoop(step.rows.back()) - nest.loops.data();
  for (auto [place, accumulator] : llvm::enumerate(findSums(nest, number))) {
    const Access &access = nest.outputs[accumulator.output];
    RowValues known{step.nest.outputs[accumulator.output].offset,
                    access.coefficients[row],
                    {}};
    for (unsigned h = 0; h < 2; ++h) {
      Value sum = sums[2 * place + h];
      for (int64_t distance : {1, 2})
        sum = emitCombination(builder, nest, accumulator, sum,
                              emitShuffleXor(builder, loc, sum, distance));
      Value init =
          convertFloat(builder, loc,
                       arith::ConstantOp::create(
                           builder, loc, nest.inits[accumulator.output]),
                       accumulator.type);
      sum = convertFloat(builder, loc,
                         emitCombination(builder, nest, accumulator, init, sum),
                         access.elementType);
      known.values[h] = sum;
      OpBuilder::InsertionGuard guard(builder);
      Value stores = isEqual(this->place, 0);
      if (Value exists = emitIsOwned(h))
        stores = arith::AndIOp::create(builder, loc, stores, exists);
      openIf(builder, loc, stores);
      launch.context.store(
          builder, loc, sum, access.root,
          emitAddress(nest, access, plan.steps[number].columnLoop, row,
                      add(nest.loops[row].begin, getOwned(h)), index(0)));
    }
    rowValues[access.root] = known;
  }
}

/// What a final makes of an element of the sum that it reads.
FailureOr<SmallVector<Value>>
RegisterTileEmission::finishSum(const LoopNest &last, Value sum) {
  BodyEmitter body(*last.body, launch.context);
  for (auto [argument, access] :
       llvm::zip(last.body->getArguments(), last.inputs))
    body.defineArgument(argument, 0, [&, &access = access](OpBuilder &) {
      return access.scalar
                 ? launch.context.scalars.lookupOrDefault(access.scalar)
                 : sum;
    });
  SmallVector<Value> values(last.body->getTerminator()->getOperands());
  for (Value value : values)
    body.require(value);
  body.prepare(0);
  if (failed(body.emit(builder, 0)))
    return failure();
  for (Value &value : values)
    value = body.lookup(value);
  return values;
}

/// Stores what a thread has of a product, or what is made of it.
LogicalResult RegisterTileEmission::storeProduct(unsigned number,
                                                 ArrayRef<Value> sums) {
  const RowStep &step = schedule.steps[number];
  const auto &factors = tiles.factorOf[number];
  const TileFactor &factor =
      tiles.factors[factors[0] >= 0 ? factors[0] : factors[1]];
  LoopNest nest = schedule.openRows(builder, step, position);
  const Access &made = nest.outputs[0];
  int64_t row = nest.findLoop(step.rows.back()) - nest.loops.data();
  unsigned column = plan.steps[number].columnLoop;
  // The loop of the side is that of another step, where the factor was found.
  unsigned side = 0;
  for (auto [place, loop] : llvm::enumerate(step.nest.loops))
    if (place != column && int64_t(place) != row && loop.size != 1 &&
        !llvm::is_contained(step.rows, int64_t(loop.dims.front())))
      side = place;
  // Who writes an element, and where: the loops of the product, or of a final.
  const TiledFinal *final = nullptr;
  LoopNest last;
  for (auto [step, tiled] : llvm::zip(schedule.finals, plan.finals))
    if (tiled.sum == static_cast<int>(number)) {
      final = &tiled;
      last = schedule.openUnit(builder, step, unit);
    }
  for (unsigned h = 0; h < 2; ++h) {
    OpBuilder::InsertionGuard guard(builder);
    if (Value exists = emitIsOwned(h))
      openIf(builder, loc, exists);
    Value rowPlace = nest.loops[row].begin, columnPlace = columnBegin;
    if (tiles.overRows) {
      columnPlace = add(columnBegin, getOwned(h));
      rowPlace = index(0);
    } else {
      rowPlace = add(rowPlace, getOwned(h));
      columnPlace = index(0);
    }
    SmallVector<Value> bases;
    if (!final)
      bases.push_back(
          emitAddress(nest, made, column, row, rowPlace, columnPlace));
    else
      for (const Access &output : last.outputs)
        bases.push_back(emitAddress(last, output, final->columnLoop, /*row=*/-1,
                                    Value(), columnPlace));
    for (unsigned place = 0; place < sums.size(); ++place) {
      Element e = getElement(place);
      if (e.h != h)
        continue;
      OpBuilder::InsertionGuard inner(builder);
      Value point = getSwept(e);
      if (factor.side != factor.getPaddedSide())
        openIf(builder, loc, isBelow(point, index(factor.side)));
      Value sum = convertFloat(builder, loc, sums[place], made.elementType);
      auto store = [&](const Access &access, Value value, Value base,
                       int64_t coefficient) {
        launch.context.store(builder, loc, value, access.root,
                             add(base, mul(point, coefficient)));
      };
      if (!final) {
        store(made, sum, bases.front(), made.coefficients[side]);
        continue;
      }
      FailureOr<SmallVector<Value>> values = finishSum(last, sum);
      if (failed(values))
        return failure();
      for (auto [output, value, base] : llvm::zip(last.outputs, *values, bases))
        store(output, value, base, output.coefficients[final->sideLoop]);
    }
  }
  return success();
}

/// Stores what a pass has reduced, for steps that follow.
LogicalResult RegisterTileEmission::finish(const TilePass &pass,
                                           ArrayRef<Value> sums) {
  for (unsigned number : pass.ends) {
    int64_t count = countSums(number);
    if (schedule.steps[number].isContraction &&
        plan.steps[number].kind != TiledStep::Tile) {
      if (failed(storeProduct(number, sums.take_front(count))))
        return failure();
    } else if (count != 0) {
      finishReduction(number, sums.take_front(count));
    }
    sums = sums.drop_front(count);
  }
  launch.emitBarrier(loc);
  return success();
}
