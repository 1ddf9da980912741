//===- RegisterTileResults.cpp - what passes over tiles reduce ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmission.h"
#include "VectorAccess.h"
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

/// Who makes the elements that are stored of a product.
RegisterTileEmission::Finish RegisterTileEmission::openFinish(unsigned number) {
  Finish finish;
  for (auto [step, tiled] : llvm::zip(schedule.finals, plan.finals))
    if (tiled.sum == static_cast<int>(number)) {
      finish.nest = schedule.openUnit(builder, step, unit);
      finish.columnLoop = tiled.columnLoop;
      finish.sideLoop = tiled.sideLoop;
      return finish;
    }
  auto findRow = [&](const RowStep &step) {
    return finish.nest.findLoop(step.rows.back()) - finish.nest.loops.data();
  };
  for (auto [place, tiled] : llvm::enumerate(plan.steps))
    if (tiled.sum == static_cast<int>(number)) {
      const RowStep &step = schedule.steps[place];
      finish.nest = schedule.openRows(builder, step, position);
      finish.rowLoop = findRow(step);
      finish.sideLoop = tiled.sideLoop;
      finish.step = place;
      return finish;
    }
  const RowStep &step = schedule.steps[number];
  finish.isProduct = true;
  finish.nest = schedule.openRows(builder, step, position);
  finish.rowLoop = findRow(step);
  finish.columnLoop = plan.steps[number].columnLoop;
  // The loop of the side is that of another step, where the factor was found.
  for (auto [place, loop] : llvm::enumerate(step.nest.loops))
    if (int(place) != finish.columnLoop && int(place) != finish.rowLoop &&
        loop.size != 1 &&
        !llvm::is_contained(step.rows, int64_t(loop.dims.front())))
      finish.sideLoop = place;
  return finish;
}

/// Where an operand begins for a row or column that the warp owns.
Value RegisterTileEmission::getFinishAddress(const Finish &finish,
                                             const Access &access, unsigned h) {
  Value row = index(0), column = index(0);
  if (tiles.overRows)
    column = add(columnBegin, getOwned(h));
  else
    row = add(finish.nest.loops[finish.rowLoop].begin, getOwned(h));
  return emitAddress(finish.nest, access, finish.columnLoop, finish.rowLoop,
                     row, column);
}

/// What a step reads of a row that the warp owns: what the thread knows of it,
/// what can be made of that, or what is in memory.
FailureOr<Value> RegisterTileEmission::getRowInput(unsigned number,
                                                   const LoopNest &nest,
                                                   unsigned input, unsigned h) {
  const Access &access = nest.inputs[input];
  if (access.scalar)
    return launch.context.scalars.lookupOrDefault(access.scalar);
  int64_t row = getRowLoop(number);
  auto known = rowValues.find(access.root);
  if (known != rowValues.end() &&
      known->second.offset ==
          schedule.steps[number].nest.inputs[input].offset &&
      known->second.coefficient == access.coefficients[row])
    return known->second.values[h];
  auto maker = plan.derived.find(access.root);
  if (maker == plan.derived.end())
    return launch.context.load(
        builder, loc, access.root, access.elementType,
        emitAddress(nest, access, /*columnLoop=*/-1, row,
                    add(nest.loops[row].begin, getOwned(h)), Value()));
  LoopNest made =
      schedule.openRows(builder, schedule.steps[maker->second], position);
  BodyEmitter body(*made.body, launch.context);
  for (auto [place, read] : llvm::enumerate(made.inputs)) {
    if (!read.scalar && !read.isRead)
      continue;
    FailureOr<Value> value = getRowInput(maker->second, made, place, h);
    if (failed(value))
      return failure();
    body.defineArgument(made.body->getArgument(place), 0,
                        [value = *value](OpBuilder &) { return value; });
  }
  Value result = made.body->getTerminator()->getOperand(0);
  body.require(result);
  body.prepare(0);
  if (failed(body.emit(builder, 0)))
    return failure();
  return body.lookup(result);
}

/// Finds what a step that finishes a product reads of a row beside it.
LogicalResult RegisterTileEmission::loadRowInputs(Finish &finish, Value product,
                                                  unsigned h) {
  finish.rowInputs.clear();
  finish.inverses.clear();
  if (finish.step < 0)
    return success();
  for (auto [input, access] : llvm::enumerate(finish.nest.inputs)) {
    if (!access.root || !access.isRead || access.scalar ||
        access.root == product)
      continue;
    FailureOr<Value> value = getRowInput(finish.step, finish.nest, input, h);
    if (failed(value))
      return failure();
    finish.rowInputs[input] = *value;
  }
  // Where all is rounded, a quotient is a product with the reciprocal.
  if (!tiles.areRounded())
    return success();
  for (auto op : finish.nest.body->getOps<arith::DivFOp>()) {
    BlockArgument divisor = getDivisor(op, finish.nest);
    auto value = divisor ? finish.rowInputs.find(divisor.getArgNumber())
                         : finish.rowInputs.end();
    if (value == finish.rowInputs.end())
      continue;
    Value one =
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
    finish.inverses[value->first] =
        arith::DivFOp::create(builder, loc, one, value->second);
  }
  return success();
}

/// What is stored of an element of the product.
FailureOr<SmallVector<Value>>
RegisterTileEmission::finishSum(const Finish &finish, Value sum) {
  if (finish.isProduct)
    return SmallVector<Value>{sum};
  const LoopNest &nest = finish.nest;
  BodyEmitter body(*nest.body, launch.context);
  for (auto [input, access] : llvm::enumerate(nest.inputs)) {
    Value value = access.scalar
                      ? launch.context.scalars.lookupOrDefault(access.scalar)
                      : finish.rowInputs.lookup(input);
    body.defineArgument(
        nest.body->getArgument(input), 0,
        [value = value ? value : sum](OpBuilder &) { return value; });
  }
  for (auto op : nest.body->getOps<arith::DivFOp>())
    if (BlockArgument divisor = getDivisor(op, nest))
      if (Value inverse = finish.inverses.lookup(divisor.getArgNumber()))
        body.defineOp(op, [&, left = op.getLhs(), inverse](OpBuilder &) {
          Value product =
              arith::MulFOp::create(builder, loc, body.lookup(left), inverse);
          return SmallVector<Value>{product};
        });
  SmallVector<Value> values(nest.body->getTerminator()->getOperands());
  for (Value value : values)
    body.require(value);
  body.prepare(0);
  if (failed(body.emit(builder, 0)))
    return failure();
  for (Value &value : values)
    value = body.lookup(value);
  return values;
}

/// Stores one element, or two next to each other.
void RegisterTileEmission::storePair(const Finish &finish, unsigned output,
                                     Value base, Element e,
                                     ArrayRef<Value> values) {
  const Access &access = finish.nest.outputs[output];
  int64_t ofSide = access.coefficients[finish.sideLoop];
  bool isPair = values.size() == 2 && ofSide == 1 && !access.base &&
                access.offset % 2 == 0 && isWholeVectors(access.root, 2);
  for (auto [number, coefficient] : llvm::enumerate(access.coefficients))
    isPair &= int(number) == finish.sideLoop || coefficient % 2 == 0;
  auto getPlace = [&](unsigned c) {
    return add(base, mul(getSwept({e.h, e.q, e.c + c}), ofSide));
  };
  if (isPair) {
    storeVector(builder, loc, values,
                launch.context.buffers.lookup(access.root), getPlace(0));
    return;
  }
  for (auto [c, value] : llvm::enumerate(values))
    launch.context.store(builder, loc, value, access.root, getPlace(c));
}

/// Stores what a thread has of a product, or what is made of it.
LogicalResult RegisterTileEmission::storeProduct(unsigned number,
                                                 ArrayRef<Value> sums) {
  const auto &factors = tiles.factorOf[number];
  const TileFactor &factor =
      tiles.factors[factors[0] >= 0 ? factors[0] : factors[1]];
  const Access &made = schedule.steps[number].nest.outputs[0];
  // Both elements of a pair exist, or none.
  const unsigned pair = factor.side % 2 == 0 ? 2 : 1;
  Finish finish = openFinish(number);
  for (unsigned h = 0; h < 2; ++h) {
    OpBuilder::InsertionGuard guard(builder);
    if (Value exists = emitIsOwned(h))
      openIf(builder, loc, exists);
    if (failed(loadRowInputs(finish, made.root, h)))
      return failure();
    SmallVector<Value> bases;
    for (const Access &output : finish.nest.outputs)
      bases.push_back(getFinishAddress(finish, output, h));
    for (unsigned place = 2 * h; place < sums.size(); place += 4)
      for (unsigned c = 0; c < 2; c += pair) {
        OpBuilder::InsertionGuard inner(builder);
        Element e = getElement(place + c);
        if (factor.side != factor.getPaddedSide())
          openIf(builder, loc, isBelow(getSwept(e), index(factor.side)));
        SmallVector<SmallVector<Value>> values(bases.size());
        for (Value sum : sums.slice(place + c, pair)) {
          FailureOr<SmallVector<Value>> finished = finishSum(
              finish, convertFloat(builder, loc, sum, made.elementType));
          if (failed(finished))
            return failure();
          for (auto [output, value] : llvm::enumerate(*finished))
            values[output].push_back(value);
        }
        for (auto [output, base] : llvm::enumerate(bases))
          storePair(finish, output, base, e, values[output]);
      }
  }
  return success();
}

/// Stores what a pass has reduced, for steps that follow.
LogicalResult RegisterTileEmission::finish(const TilePass &pass,
                                           ArrayRef<Value> sums) {
  // What is known of rows may be a part of what is stored of products.
  for (bool areProducts : {false, true}) {
    ArrayRef<Value> rest = sums;
    for (unsigned number : pass.ends) {
      ArrayRef<Value> mine = rest.take_front(countSums(number));
      rest = rest.drop_front(mine.size());
      if (mine.empty() || schedule.steps[number].isContraction != areProducts)
        continue;
      if (!areProducts)
        finishReduction(number, mine);
      else if (failed(storeProduct(number, mine)))
        return failure();
    }
  }
  launch.emitBarrier(loc);
  return success();
}
