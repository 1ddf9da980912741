//===- NestTranspose.cpp - transposes through shared memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block copies a square of each transposed input to shared memory along the
// loop in which that is contiguous, and then computes the points of the square
// along the loop of the results. Rows of a square there are four bytes longer,
// so that threads with neighbouring results find their elements in different
// banks.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "VectorAccess.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Elements from one row of a square to the next.
static int64_t getPitch(const NestPlan &plan, Type elementType) {
  return plan.tileSize +
         std::max<int64_t>(4 / getElementBytes(getStorageType(elementType)), 1);
}

Value NestEmitter::emitStaged(Value tile, Type type, unsigned lane) {
  int64_t pitch = getPitch(plan, type);
  auto [row, column] = stagedPlace;
  row = arith::AddIOp::create(builder, loc, row, emitIndex(builder, loc, lane),
                              nsw);
  return loadScratch(tile, type,
                     emitLinear(builder, loc, 0, {pitch, 1}, {row, column}));
}

/// The square of the block, and the indices of the loops outside of it.
void NestEmitter::splitTiles() {
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  Value rest = launch.block;
  auto take = [&](int64_t count) {
    Value number = arith::RemUIOp::create(builder, loc, rest, index(count));
    rest = arith::DivUIOp::create(builder, loc, rest, index(count));
    return number;
  };
  auto takeTile = [&](int loop) -> Value {
    Value number = take(llvm::divideCeil(nest.loops[loop].size, plan.tileSize));
    return arith::MulIOp::create(builder, loc, number, index(plan.tileSize),
                                 nsw);
  };
  vectorBegin = takeTile(plan.vectorLoop);
  tileBegin = takeTile(plan.tileLoop);
  for (unsigned loop : llvm::reverse(parallel))
    if (static_cast<int>(loop) != plan.vectorLoop &&
        static_cast<int>(loop) != plan.tileLoop)
      points.front().indices[loop] = take(nest.loops[loop].size);
}

/// Opens a loop over the square in which a thread takes `width` neighbours
/// along the loop `fast`, and sets the indices of the first. Returns where it
/// is in the square: along the other loop, and along `fast`.
std::pair<Value, Value> NestEmitter::openTile(int64_t width,
                                              bool alongVectors) {
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  int fast = alongVectors ? plan.vectorLoop : plan.tileLoop;
  int slow = alongVectors ? plan.tileLoop : plan.vectorLoop;
  int64_t side = plan.tileSize / width;
  Value number = openLoop(builder, loc, launch.thread,
                          index(side * plan.tileSize), launch.threads);
  Value row = arith::DivUIOp::create(builder, loc, number, index(side));
  Value column = arith::MulIOp::create(
      builder, loc, arith::RemUIOp::create(builder, loc, number, index(side)),
      index(width), nsw);
  SmallVector<Value> &indices = points.front().indices;
  indices[fast] = arith::AddIOp::create(
      builder, loc, alongVectors ? vectorBegin : tileBegin, column, nsw);
  indices[slow] = arith::AddIOp::create(
      builder, loc, alongVectors ? tileBegin : vectorBegin, row, nsw);
  Value inside;
  for (int loop : {fast, slow}) {
    if (nest.loops[loop].size % plan.tileSize == 0)
      continue;
    Value isBefore =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                              indices[loop], index(nest.loops[loop].size));
    inside =
        inside
            ? arith::AndIOp::create(builder, loc, inside, isBefore).getResult()
            : isBefore;
  }
  if (inside)
    openIf(builder, loc, inside);
  return {row, column};
}

/// Copies the squares to shared memory.
void NestEmitter::emitTiles() {
  for (unsigned number : plan.staged)
    staged[number] = launch.addShared(
        plan.tileSize * getPitch(plan, nest.inputs[number].elementType),
        nest.inputs[number].elementType);
  OpBuilder::InsertionGuard guard(builder);
  auto [row, column] = openTile(plan.tileWidth, /*alongVectors=*/false);
  for (unsigned number : plan.staged) {
    const Access &access = nest.inputs[number];
    Type storage = getStorageType(access.elementType);
    Value buffer = launch.context.buffers.lookup(access.root);
    Value address = emitAddress(access, points.front());
    Value place =
        emitLinear(builder, loc, 0, {getPitch(plan, access.elementType), 1},
                   {row, column});
    if (plan.tileWidth == 1) {
      Value element = memref::LoadOp::create(builder, loc, buffer, address);
      memref::StoreOp::create(builder, loc, element, staged[number], place);
      continue;
    }
    for (auto [i, element] : llvm::enumerate(loadVector(
             builder, loc, plan.tileWidth, storage, buffer, address)))
      memref::StoreOp::create(builder, loc, element, staged[number],
                              arith::AddIOp::create(builder, loc, place,
                                                    emitIndex(builder, loc, i),
                                                    nsw)
                                  .getResult());
  }
}

LogicalResult NestEmitter::emitTransposed() {
  createPoints(/*rounds=*/1);
  splitTiles();
  emitTiles();
  launch.emitBarrier(loc);
  OpBuilder::InsertionGuard guard(builder);
  auto [row, column] = openTile(plan.width, /*alongVectors=*/true);
  // The rows of a square in shared memory are along the results.
  stagedPlace = {column, row};
  for (int64_t number = 0; number < numActive; ++number)
    definePoint(number);
  for (unsigned depth : {0, 1, 2})
    if (failed(emitPoints(depth)))
      return failure();
  emitStores();
  return success();
}
