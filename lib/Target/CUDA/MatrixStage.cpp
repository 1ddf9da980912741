//===- MatrixStage.cpp - factors of tensor cores in shared memory ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixStage.h"
#include "WarpOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Elements that a thread copies at once.
static constexpr int64_t chunkSize = 8;

MatrixStage::MatrixStage(LaunchBuilder &launch, Location loc, int64_t lines,
                         int64_t side, int64_t places, Type elementType)
    : IndexArithmetic(launch.builder, loc), launch(launch), lines(lines),
      side(side), paddedSide(llvm::alignTo(side, uint64_t(16))),
      elementType(elementType) {
  // Either way round.
  int64_t elements =
      std::max(lines * (paddedSide + 8), paddedSide * (lines + 8));
  buffer = launch.addShared(places * elements, elementType);
}

Value MatrixStage::getPlaceBegin(Value place) {
  return place ? mul(place, getLines() * getPitch()) : index(0);
}

/// Copies 16 bytes of a line.
void MatrixStage::copyChunk(const StageSource &source, Value begin, Value line,
                            Value chunk) {
  Value element = mul(chunk, chunkSize);
  Value target = emitSharedPointer(
      builder, loc, buffer, add(begin, add(mul(line, getPitch()), element)));
  Value from =
      add(source.base,
          add(mul(line, sideIsLine ? source.along : source.side), element));
  Type i32 = builder.getI32Type();
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value bytes;
  auto require = [&](Value condition) {
    Value all = bytes ? bytes
                      : arith::ConstantOp::create(
                            builder, loc, builder.getI32IntegerAttr(16));
    bytes = arith::SelectOp::create(builder, loc, condition, all, none);
  };
  if (source.count && !sideIsLine) {
    Value rest =
        arith::SubIOp::create(builder, loc, source.count, element, nsw);
    rest = arith::MaxSIOp::create(builder, loc, rest, index(0));
    rest = arith::MinSIOp::create(builder, loc, rest, index(chunkSize));
    bytes = arith::IndexCastOp::create(builder, loc, i32, mul(rest, 2));
  }
  if (source.count && sideIsLine)
    require(isBelow(line, source.count));
  if (side != paddedSide)
    require(isBelow(sideIsLine ? element : line, index(side)));
  emitAsyncCopy(builder, loc, target, source.buffer, from, bytes);
}

/// Copies one element, or sets it to zero.
void MatrixStage::copyElement(const StageSource &source, Value begin,
                              Value number) {
  Value size = index(getLineSize());
  Value line = arith::DivUIOp::create(builder, loc, number, size);
  Value element = arith::RemUIOp::create(builder, loc, number, size);
  Value target = add(begin, add(mul(line, getPitch()), element));
  Value i = sideIsLine ? line : element, j = sideIsLine ? element : line;
  Value exists;
  auto limit = [&](Value &place, Value count) {
    Value isInside = isBelow(place, count);
    exists = exists ? arith::AndIOp::create(builder, loc, exists, isInside)
                    : isInside;
    place = arith::MinSIOp::create(builder, loc, place, add(count, index(-1)));
  };
  if (source.count)
    limit(i, source.count);
  if (side != paddedSide)
    limit(j, index(side));
  Value value = memref::LoadOp::create(
      builder, loc, source.buffer,
      ValueRange(
          add(source.base, add(mul(i, source.along), mul(j, source.side)))));
  if (exists)
    value = arith::SelectOp::create(builder, loc, exists, value,
                                    emitZero(builder, loc, value.getType()));
  memref::StoreOp::create(builder, loc, value, buffer, ValueRange(target));
}

void MatrixStage::emitCopy(const StageSource &source, Value place) {
  OpBuilder::InsertionGuard guard(builder);
  sideIsLine = source.side == 1 || source.along != 1;
  Value begin = getPlaceBegin(place);
  const int64_t threads = launch.threads;
  bool isAsync =
      source.isAligned &&
      !cast<MemRefType>(source.buffer.getType()).getMemorySpace() &&
      (sideIsLine ? source.side == 1 && source.along % chunkSize == 0 &&
                        side % chunkSize == 0
                  : source.side % chunkSize == 0);
  if (!isAsync) {
    copyElement(source, begin,
                openLoop(builder, loc, launch.thread,
                         index(getLines() * getLineSize()), threads));
    return;
  }
  const int64_t chunks = getLineSize() / chunkSize, count = getLines() * chunks;
  auto split = [&](Value number) -> std::pair<Value, Value> {
    return {arith::DivUIOp::create(builder, loc, number, index(chunks)),
            arith::RemUIOp::create(builder, loc, number, index(chunks))};
  };
  if (count % threads == 0 && threads % chunks == 0) {
    auto [line, chunk] = split(launch.thread);
    for (int64_t i = 0; i < count / threads; ++i)
      copyChunk(source, begin, add(line, index(i * (threads / chunks))), chunk);
    return;
  }
  auto [line, chunk] =
      split(openLoop(builder, loc, launch.thread, index(count), threads));
  copyChunk(source, begin, line, chunk);
}

void MatrixStage::setPlace(Value warpBegin, Value place) {
  this->warpBegin = warpBegin;
  this->place = place;
  forgetPointers();
}

/// The address of an element of the place, if it is not there already.
Value MatrixStage::getPointer(Value &pointer, Value line, Value element) {
  if (!pointer)
    pointer = emitSharedPointer(
        builder, loc, buffer,
        add(getPlaceBegin(place), add(mul(line, getPitch()), element)));
  return pointer;
}

/// The matrix of four that a thread names a row of, and which row.
static std::array<Value, 3> splitLane(OpBuilder &builder, Location loc,
                                      Value thread) {
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  auto bits = [&](int64_t divisor, int64_t size) -> Value {
    return arith::RemUIOp::create(
        builder, loc,
        arith::DivUIOp::create(builder, loc, thread, index(divisor)),
        index(size));
  };
  return {bits(1, 8), bits(8, 2), bits(16, 2)};
}

SmallVector<Value> MatrixStage::loadOwned(int64_t k) {
  auto [row, low, high] = splitLane(builder, loc, launch.thread);
  Value first = add(warpBegin, mul(low, 8)), second = mul(high, 8);
  Value pointer = sideIsLine ? getPointer(owned, add(first, row), second)
                             : getPointer(owned, add(second, row), first);
  return emitMatrixLoad(
      builder, loc,
      emitPointerBehind(builder, loc, pointer,
                        2 * k * (sideIsLine ? 1 : getPitch())),
      /*transposes=*/!sideIsLine);
}

SmallVector<Value> MatrixStage::loadColumns(Value &pointer, bool termsAreLine,
                                            int64_t n, int64_t k) {
  auto [row, low, high] = splitLane(builder, loc, launch.thread);
  Value term = mul(low, 8), column = mul(high, 8);
  Value begin = termsAreLine ? getPointer(pointer, add(column, row), term)
                             : getPointer(pointer, add(term, row), column);
  int64_t distance = termsAreLine ? n * getPitch() + k : k * getPitch() + n;
  return emitMatrixLoad(builder, loc,
                        emitPointerBehind(builder, loc, begin, 2 * distance),
                        /*transposes=*/!termsAreLine);
}

SmallVector<Value> MatrixStage::loadSwept(int64_t n, int64_t k) {
  return loadColumns(swept, sideIsLine, n, k);
}

SmallVector<Value> MatrixStage::loadSweptTerms(int64_t n, int64_t k) {
  return loadColumns(sweptTerms, !sideIsLine, n, k);
}
