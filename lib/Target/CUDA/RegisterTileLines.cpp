//===- RegisterTileLines.cpp - what tiles in registers read of rows -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmission.h"
#include "VectorAccess.h"
#include "WarpOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// The loop of a step that walks the rows of a run.
int64_t RegisterTileEmission::getRowLoop(unsigned number) const {
  const RowStep &step = schedule.steps[number];
  for (auto [place, loop] : llvm::enumerate(step.nest.loops))
    if (loop.dims.size() == 1 && int64_t(loop.dims[0]) == step.rows.back())
      return place;
  return -1;
}

/// What a step reads of rows alone, or of columns; none if it reads something
/// else.
std::optional<RegisterTileEmission::Line>
RegisterTileEmission::getLine(unsigned number, unsigned input,
                              bool isInverse) const {
  const Access &access = schedule.steps[number].nest.inputs[input];
  if (!access.root)
    return std::nullopt;
  int64_t ofRow = access.coefficients[getRowLoop(number)],
          ofColumn = access.coefficients[plan.steps[number].columnLoop];
  if ((ofRow == 0) == (ofColumn == 0))
    return std::nullopt;
  return Line{number,
              input,
              ofRow != 0,
              isInverse,
              access.root,
              access.offset,
              ofRow + ofColumn,
              {},
              {},
              {}};
}

RegisterTileEmission::Line *RegisterTileEmission::findLine(unsigned number,
                                                           unsigned input,
                                                           bool isInverse) {
  std::optional<Line> wanted = getLine(number, input, isInverse);
  if (!wanted)
    return nullptr;
  auto getOuter = [&](const Line &line) {
    const RowStep &step = schedule.steps[line.step];
    return getOuterCoefficients(step, step.nest.inputs[line.input]);
  };
  auto found = llvm::find_if(lines, [&](const Line &line) {
    return line.root == wanted->root && line.ofRows == wanted->ofRows &&
           line.isInverse == isInverse && line.offset == wanted->offset &&
           line.coefficient == wanted->coefficient &&
           getOuter(line) == getOuter(*wanted);
  });
  return found == lines.end() ? nullptr : &*found;
}

/// The argument of a body that an f32 is divided by; null if it is none.
BlockArgument remat::cuda::getDivisor(arith::DivFOp op, const LoopNest &nest) {
  auto divisor = dyn_cast<BlockArgument>(op.getRhs());
  return divisor && divisor.getOwner() == nest.body &&
                 divisor.getArgNumber() < nest.inputs.size() &&
                 op.getType().isF32()
             ? divisor
             : BlockArgument();
}

/// Finds what the steps of a pass read of memory that does not change while it
/// runs.
void RegisterTileEmission::addLines(const TilePass &pass) {
  lines.clear();
  for (unsigned number = 0; number < pass.steps.size(); ++number) {
    const LoopNest &nest = schedule.steps[number].nest;
    if (!pass.steps[number] || schedule.steps[number].isContraction ||
        plan.steps[number].kind == TiledStep::RowsOnly)
      continue;
    auto add = [&](unsigned input, bool isInverse) {
      std::optional<Line> line = getLine(number, input, isInverse);
      if (!line || findLine(number, input, isInverse) ||
          (pass.maximum &&
           line->root == schedule.steps[pass.maximum->step].getRoot()))
        return;
      Value buffer = launch.context.buffers.lookup(line->root);
      if (!cast<MemRefType>(buffer.getType()).getMemorySpace() ||
          rowValues.contains(line->root))
        lines.push_back(*line);
    };
    for (auto [input, argument] : llvm::enumerate(
             nest.body->getArguments().take_front(nest.inputs.size()))) {
      auto isDivided = [&, argument = argument](Operation *user) {
        auto op = dyn_cast<arith::DivFOp>(user);
        return op && op.getLhs() != argument && getDivisor(op, nest);
      };
      if (llvm::any_of(argument.getUsers(), isDivided))
        add(input, /*isInverse=*/true);
      if (!llvm::all_of(argument.getUsers(), isDivided))
        add(input, /*isInverse=*/false);
    }
  }
}

/// The number of a line for a row or column of the tile.
Value RegisterTileEmission::emitLine(const Line &line, Value place) {
  if (!isWhole(line.ofRows))
    place = arith::MinSIOp::create(builder, loc, place,
                                   add(emitCount(line.ofRows), index(-1)));
  LoopNest nest = openStep(line.step);
  const Access &access = nest.inputs[line.input];
  int64_t row = getRowLoop(line.step);
  Value zero = index(0);
  Value value = launch.context.load(
      builder, loc, access.root, access.elementType,
      emitAddress(nest, access, plan.steps[line.step].columnLoop, row,
                  line.ofRows ? add(nest.loops[row].begin, place) : zero,
                  line.ofRows ? zero : add(columnBegin, place)));
  if (!line.isInverse)
    return value;
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0));
  return arith::DivFOp::create(builder, loc, one, value);
}

void RegisterTileEmission::loadOwnedLines() {
  for (Line &line : lines) {
    if (!isOwned(line))
      continue;
    auto known = rowValues.find(line.root);
    bool isKnown = known != rowValues.end() && line.ofRows &&
                   known->second.offset == line.offset &&
                   known->second.coefficient == line.coefficient;
    for (unsigned h = 0; h < 2; ++h) {
      if (!isKnown) {
        line.values[h] = emitLine(line, getOwned(h));
        continue;
      }
      line.values[h] = known->second.values[h];
      if (line.isInverse)
        line.values[h] = arith::DivFOp::create(
            builder, loc,
            arith::ConstantOp::create(builder, loc,
                                      builder.getF32FloatAttr(1.0)),
            line.values[h]);
    }
  }
}

/// Reads what is swept over, for the tile at hand. The lines of a warp's
/// threads follow each other.
void RegisterTileEmission::loadNextLines() {
  for (Line &line : lines) {
    if (isOwned(line))
      continue;
    line.next.clear();
    for (int64_t first = 0; first < swept; first += launch.threads) {
      Value place = add(launch.thread, index(first));
      place = arith::MinSIOp::create(builder, loc, place, index(swept - 1));
      line.next.push_back(emitLine(line, place));
    }
  }
}

/// Leaves what was read in a place of shared memory.
void RegisterTileEmission::storeNextLines(Value place) {
  for (Line &line : lines) {
    if (isOwned(line))
      continue;
    Type type = schedule.steps[line.step].nest.inputs[line.input].elementType;
    if (!line.buffer)
      line.buffer = launch.addShared(2 * swept, type);
    for (auto [round, value] : llvm::enumerate(line.next)) {
      OpBuilder::InsertionGuard guard(builder);
      Value mine = add(launch.thread, index(round * launch.threads));
      openIf(builder, loc, isBelow(mine, index(swept)));
      storeVector(builder, loc, value, line.buffer,
                  add(mul(place, swept), mine));
    }
  }
}

Value RegisterTileEmission::readLine(const Line &line, unsigned input,
                                     Element e) {
  if (isOwned(line))
    return line.values[e.h];
  auto getKey = [&](unsigned c) {
    return std::pair(input + (line.isInverse ? 1u << 16 : 0),
                     4 * (1 + 2 * e.q + c));
  };
  if (Value known = loaded.lookup(getKey(e.c)))
    return known;
  Type type = schedule.steps[line.step].nest.inputs[line.input].elementType;
  // Both are next to each other.
  SmallVector<Value> both =
      loadVector(builder, loc, 2, type, line.buffer,
                 add(mul(half, swept), getSwept({e.h, e.q, 0})));
  for (unsigned c = 0; c < 2; ++c)
    loaded[getKey(c)] = both[c];
  return both[e.c];
}

/// One divided by the input of a step.
Value RegisterTileEmission::emitInverse(const LoopNest &nest, unsigned number,
                                        unsigned input, Element e) {
  if (Line *line = findLine(number, input, /*isInverse=*/true))
    return readLine(*line, input, e);
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0));
  return arith::DivFOp::create(builder, loc, one,
                               emitInput(nest, number, input, e));
}
