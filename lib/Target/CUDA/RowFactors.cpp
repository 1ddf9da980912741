//===- RowFactors.cpp - factors in shared memory --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFactors.h"
#include "NestEmitter.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

std::optional<FactorLayout> FactorLayout::get(const RowStep &factor,
                                              unsigned number) {
  FactorLayout layout;
  layout.root = factor.getRoot();
  layout.number = number;
  const Access &made = factor.nest.outputs.front();
  layout.elementType = made.elementType;
  SmallVector<Side> sides;
  for (auto [place, loop] : llvm::enumerate(factor.nest.loops))
    if (loop.size != 1 && llvm::none_of(loop.dims, [&](unsigned dim) {
          return llvm::is_contained(factor.rows, int64_t(dim));
        }))
      sides.push_back(
          {static_cast<int>(place), loop.size, made.coefficients[place], 0});
  if (sides.size() > 2 || made.nonlinear || made.offset != 0)
    return std::nullopt;
  // As it comes from memory or, where that is not next to each other, as the
  // allocation would be.
  auto isLine = [&](const Side &side) {
    return llvm::any_of(factor.nest.inputs, [&](const Access &input) {
      return input.root && input.coefficients[side.loop] == 1;
    });
  };
  if (sides.size() == 2 &&
      (isLine(sides[0]) != isLine(sides[1]) ? isLine(sides[0])
                                            : sides[0].coefficient == 1))
    std::swap(sides[0], sides[1]);
  if (!sides.empty())
    layout.line = sides.back();
  if (sides.size() == 2)
    layout.other = sides.front();
  layout.setStrides();
  return layout;
}

/// Elements from one line to the next. Threads that read a column of 4-byte
/// elements find them in different banks if their distance is odd; the words of
/// tensor cores do if it is 16 bytes more than a multiple of all banks.
int64_t FactorLayout::getPitch() const {
  int64_t bytes = getElementBytes(getStorageType(elementType));
  return bytes == 4 ? line.size | 1 : line.size + 16 / bytes;
}

void FactorLayout::setStrides() {
  line.stride = 1;
  other.stride = getPitch();
}

void FactorLayout::cut(unsigned loop, int64_t tileColumns) {
  columnLoop = loop;
  (line.loop == columnLoop ? line : other).size = tileColumns;
  setStrides();
}

int64_t FactorLayout::countElements() const {
  return other.loop < 0 ? line.size : other.size * getPitch();
}

int64_t FactorLayout::countBytes() const {
  return llvm::alignTo(countElements() *
                           getElementBytes(getStorageType(elementType)),
                       uint64_t(16));
}

void FactorLayout::allocate(LaunchBuilder &launch) const {
  launch.context.buffers[root] = launch.addShared(countElements(), elementType);
}

void FactorLayout::address(const LoopNest &nest, Access &access) const {
  for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
    coefficient = loop.isOpen() || coefficient == 0  ? 0
                  : coefficient == line.coefficient  ? line.stride
                  : coefficient == other.coefficient ? other.stride
                                                     : 0;
}

LogicalResult FactorLayout::emit(LaunchBuilder &launch,
                                 const RowSchedule &schedule, Value run,
                                 Value columnBegin, Value columnEnd) const {
  OpBuilder &builder = launch.builder;
  const RowStep &factor = schedule.factors[number];
  Location loc = factor.op->getLoc();
  LoopNest nest = schedule.openFactor(builder, factor, run);
  Access &made = nest.outputs.front();
  for (auto [place, coefficient] : llvm::enumerate(made.coefficients))
    coefficient = int(place) == line.loop    ? line.stride
                  : int(place) == other.loop ? other.stride
                                             : 0;
  if (columnLoop >= 0) {
    Loop &loop = nest.loops[columnLoop];
    loop.size = (line.loop == columnLoop ? line : other).size;
    loop.begin = columnBegin;
    loop.end = columnEnd;
    made.base = arith::MulIOp::create(
        builder, loc, columnBegin,
        emitIndex(builder, loc, -made.coefficients[columnLoop]), nsw);
  }
  // Threads next to each other take what is next to each other.
  if (line.loop >= 0) {
    auto moveBack = [&](auto &list) {
      std::rotate(list.begin() + line.loop, list.begin() + line.loop + 1,
                  list.end());
    };
    moveBack(nest.loops);
    for (Access &access : llvm::concat<Access>(nest.inputs, nest.outputs))
      moveBack(access.coefficients);
  }
  NestPlan plan = planForBlock(nest, launch.threads);
  return NestEmitter(std::move(nest), plan, launch).emitInBlock();
}

std::optional<SmallVector<FactorLayout>>
remat::cuda::layOutFactors(const RowSchedule &schedule) {
  SmallVector<FactorLayout> layouts;
  for (auto [number, factor] : llvm::enumerate(schedule.factors)) {
    std::optional<FactorLayout> layout = FactorLayout::get(factor, number);
    if (!layout)
      return std::nullopt;
    layouts.push_back(*layout);
  }
  return layouts;
}

const FactorLayout *remat::cuda::findFactor(ArrayRef<FactorLayout> factors,
                                            Value root) {
  auto *found = llvm::find_if(
      factors, [&](const FactorLayout &factor) { return factor.root == root; });
  return found == factors.end() ? nullptr : found;
}
