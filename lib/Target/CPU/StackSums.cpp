//===- StackSums.cpp - reductions with results on the stack ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loop walks what is on the stack: neighbouring results, or the
// parts of one sum. Several rows are added at a time, so that what is on the
// stack is read and written less often than memory. All that is there is summed
// row by row, in the order of the rows.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "Tuning.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

/// A reduction with results, or parts of its sums, on the stack.
class NestEmitter::StackSums {
public:
  StackSums(NestEmitter &emitter, OpBuilder &builder, BodyEmitter &body)
      : emitter(emitter), builder(builder), body(body), loc(emitter.loc) {
    zero = emitIndex(builder, loc, 0);
    begin = zero;
    length = emitter.emitEnd(builder, emitter.inner);
    size = emitter.nest.loops[emitter.inner].size;
    if (!emitter.innerIsReduction) {
      const UnitBlock &block = emitter.blocks.back();
      begin = block.begin;
      length = arith::SubIOp::create(builder, loc, block.end, begin);
      if (!emitter.joinsUnits())
        size = std::min(size, emitter.units.back().block);
    }
    OpBuilder entry = OpBuilder::atBlockBegin(emitter.kernel.entry);
    for (const Accumulator &accumulator : emitter.accumulators)
      stack.push_back(memref::AllocaOp::create(
          entry, loc, MemRefType::get({size}, getStorageType(accumulator.type)),
          entry.getI64IntegerAttr(64)));
  }
  void emitInits();
  LogicalResult emitRows(unsigned loop);
  void emitResults();

private:
  /// Opens the loop over the stack, with the index in the op's loop.
  scf::ForOp openBlock();
  Value load(unsigned i);
  void store(unsigned i, Value value);
  LogicalResult emitRowBlock(unsigned loop, Value row, int64_t count);

  NestEmitter &emitter;
  OpBuilder &builder;
  BodyEmitter &body;
  Location loc;
  SmallVector<Value> stack;
  int64_t size;
  Value zero, begin, length, place;
};

scf::ForOp NestEmitter::StackSums::openBlock() {
  auto op = openLoop(builder, loc, zero, length);
  place = op.getInductionVar();
  emitter.indices[emitter.inner] =
      arith::AddIOp::create(builder, loc, begin, place, nsw);
  return op;
}

Value NestEmitter::StackSums::load(unsigned i) {
  Type type = emitter.accumulators[i].type;
  Value value = memref::LoadOp::create(builder, loc, stack[i], place);
  return value.getType() == type
             ? value
             : arith::TruncIOp::create(builder, loc, type, value);
}

void NestEmitter::StackSums::store(unsigned i, Value value) {
  Type storage = getStorageType(value.getType());
  if (storage != value.getType())
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  memref::StoreOp::create(builder, loc, value, stack[i], place);
}

void NestEmitter::StackSums::emitInits() {
  OpBuilder::InsertionGuard guard(builder);
  openBlock();
  for (auto [i, accumulator] : llvm::enumerate(emitter.accumulators))
    store(i, emitter.innerIsReduction ? emitZero(builder, loc, accumulator.type)
                                      : emitter.emitInit(builder, accumulator));
}

/// Adds `count` rows from `row` on to what is on the stack.
LogicalResult NestEmitter::StackSums::emitRowBlock(unsigned loop, Value row,
                                                   int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  keepLoop(openBlock());
  SmallVector<Value> values;
  for (unsigned i = 0; i < stack.size(); ++i)
    values.push_back(load(i));
  for (int64_t i = 0; i < count; ++i) {
    emitter.indices[loop] = arith::AddIOp::create(
        builder, loc, row, emitIndex(builder, loc, i), nsw);
    for (auto [accumulator, value] : llvm::zip(emitter.accumulators, values))
      accumulator.value = value;
    if (failed(body.emit(builder, emitter.depths[loop])) ||
        failed(body.emit(builder, emitter.depths[emitter.inner])))
      return failure();
    for (auto [accumulator, value] : llvm::zip(emitter.accumulators, values))
      value = emitter.emitCombined(builder, body, accumulator, value);
    emitter.emitStores(builder, body);
  }
  for (auto [i, value] : llvm::enumerate(values))
    store(i, value);
  return success();
}

/// All of the innermost loop around the stack, some rows at a time.
LogicalResult NestEmitter::StackSums::emitRows(unsigned loop) {
  int64_t total = emitter.nest.loops[loop].size;
  int64_t count = std::min(total, NestTuning::rowBlock);
  auto emitRange = [&](int64_t from, int64_t to, int64_t step) {
    OpBuilder::InsertionGuard guard(builder);
    auto op = scf::ForOp::create(builder, loc, emitIndex(builder, loc, from),
                                 emitIndex(builder, loc, to),
                                 emitIndex(builder, loc, step));
    builder.setInsertionPointToStart(op.getBody());
    return emitRowBlock(loop, op.getInductionVar(), step);
  };
  int64_t whole = total - total % count;
  if (failed(emitRange(0, whole, count)))
    return failure();
  return whole == total ? success() : emitRange(whole, total, 1);
}

void NestEmitter::StackSums::emitResults() {
  OpBuilder::InsertionGuard guard(builder);
  if (!emitter.innerIsReduction) {
    openBlock();
    for (auto [i, accumulator] : llvm::enumerate(emitter.accumulators))
      emitter.emitFinal(builder, accumulator, load(i));
    return;
  }
  SmallVector<Value> values;
  for (const Accumulator &accumulator : emitter.accumulators)
    values.push_back(emitter.emitInit(builder, accumulator));
  auto op = openLoop(builder, loc, zero, length, values);
  place = op.getInductionVar();
  for (auto [i, value] : llvm::enumerate(op.getRegionIterArgs()))
    values[i] = isa<FloatType>(value.getType())
                    ? arith::AddFOp::create(builder, loc, value, load(i),
                                            arith::FastMathFlags::reassoc)
                          .getResult()
                    : arith::AddIOp::create(builder, loc, value, load(i));
  scf::YieldOp::create(builder, loc, values);
  builder.setInsertionPointAfter(op);
  for (auto [accumulator, value] :
       llvm::zip(emitter.accumulators, op.getResults()))
    emitter.emitFinal(builder, accumulator, value);
}

LogicalResult NestEmitter::emitOnStack(OpBuilder &builder, BodyEmitter &body) {
  StackSums sums(*this, builder, body);
  sums.emitInits();
  {
    OpBuilder::InsertionGuard guard(builder);
    for (unsigned loop : ArrayRef(reductions).drop_back())
      if (failed(enterLoop(builder, body, loop)))
        return failure();
    if (failed(sums.emitRows(reductions.back())))
      return failure();
  }
  sums.emitResults();
  return success();
}
