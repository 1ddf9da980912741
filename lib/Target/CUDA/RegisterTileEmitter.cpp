//===- RegisterTileEmitter.cpp - launches with tiles in registers ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp owns 16 rows (or columns, in sums over rows) of the block's tile, and
// has all of the tile that is swept over: element (g + 8 h, 8 q + 2 t + c) of
// the 16 is the thread's element 4 q + 2 h + c, as in emitTensorCore. Two of
// the eights next to each other are the first factor of another product.
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmitter.h"
#include "MatrixStage.h"
#include "NestEmitter.h"
#include "RegisterTiles.h"
#include "RowEmitter.h"
#include "VectorAccess.h"
#include "WarpOps.h"

#include "remat/Codegen/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Words of owned factors and sums that a thread keeps through a pass. Where
/// there are more, factors are loaded again for each tile.
static constexpr int64_t maxKeptWords = 64;
/// Threads of a multiprocessor that there are registers for: 255 for each.
static constexpr int64_t roomyTileThreads = 256;

namespace {

class RegisterTileEmission : public TiledRowEmission {
public:
  RegisterTileEmission(const TiledRows &plan, const RowSchedule &schedule,
                       LaunchBuilder &launch, const RegisterTiles &registers)
      : TiledRowEmission(plan, schedule, launch), tiles(registers),
        owned(tiles.overRows ? plan.tileColumns : schedule.blockRows),
        swept(llvm::alignTo(tiles.overRows ? schedule.blockRows
                                           : plan.tileColumns,
                            uint64_t(16))) {
    // With what each launch does again for itself, which is known by now.
    for (SmallVector<TilePass> &sweep : tiles.sweeps)
      for (TilePass &pass : sweep)
        pass.steps =
            findTiledSteps(plan, [&](unsigned number, const TiledStep &) {
              return llvm::is_contained(pass.ends, number);
            });
  }

protected:
  void allocate() override;
  LogicalResult emitSweep(unsigned sweep) override;
  LogicalResult emitSums(Value unit) override;

private:
  using Fragment = SmallVector<Value>;
  /// An element of a fragment: its row or column that the warp owns, 0 or 1,
  /// and the other one.
  struct Element {
    unsigned h, q, c;
  };
  static Element getElement(unsigned number) {
    return {number % 4 / 2, number / 4, number % 2};
  }

  bool isWhole(bool rows) const {
    return rows ? schedule.runRows % schedule.blockRows == 0 &&
                      schedule.blockRows % 16 == 0
                : plan.hasWholeTiles();
  }
  Value emitCount(bool rows);
  Value getOwned(unsigned h) { return add(ownedLane, index(8 * h)); }
  Value getSwept(Element e) { return add(sweptLane, index(8 * e.q + e.c)); }
  Value getPlace(Element e, bool row) {
    return row != tiles.overRows ? getOwned(e.h) : getSwept(e);
  }
  Value emitIsSwept(Element e);
  Value emitIsOwned(unsigned h);
  void setSwept(Value tile);

  StageSource openFactor(unsigned number);
  void stage(const std::vector<bool> &factors, bool owned, Value place);
  bool isMade(const std::vector<bool> &factors) const;
  std::vector<bool> findFactors(const TilePass &pass) const;

  SmallVector<Value> emitInits(const TilePass &pass);
  LogicalResult emitTiles(const TilePass &pass, Value begin, Value end,
                          SmallVector<Value> &sums);
  LogicalResult emitTile(const TilePass &pass, SmallVector<Value> &sums);
  void emitScores(unsigned number);
  LogicalResult emitElements(unsigned number, MutableArrayRef<Value> sums);
  void emitProduct(unsigned number, MutableArrayRef<Value> sums);
  SmallVector<SmallVector<Value>> takeApart(ArrayRef<Value> values, Type type,
                                            int64_t count);
  LogicalResult finish(const TilePass &pass, ArrayRef<Value> sums);
  void finishReduction(unsigned number, ArrayRef<Value> sums);
  void storeProduct(unsigned number, ArrayRef<Value> sums);

  /// What a step reads of each row or column, or one divided by it.
  struct Line {
    unsigned step, input;
    bool ofRows, isInverse;
    Value root;
    int64_t offset, coefficient;
    /// For what the warp owns: the thread's two values. For what is swept over:
    /// two places in shared memory, and what this thread has read for the next
    /// tile.
    std::array<Value, 2> values;
    Value buffer;
    SmallVector<Value> next;
  };
  bool isOwned(const Line &line) const { return line.ofRows != tiles.overRows; }
  int64_t getRowLoop(unsigned number) const;
  std::optional<Line> getLine(unsigned number, unsigned input,
                              bool isInverse) const;
  Line *findLine(unsigned number, unsigned input, bool isInverse);
  void addLines(const TilePass &pass);
  Value emitLine(const Line &line, Value place);
  void loadOwnedLines();
  void loadNextLines();
  void storeNextLines(Value place);
  Value readLine(const Line &line, unsigned input, Element e);
  Value emitInverse(const LoopNest &nest, unsigned number, unsigned input,
                    Element e);

  LoopNest openStep(unsigned number);
  Value emitInput(const LoopNest &nest, unsigned number, unsigned input,
                  Element e);
  Value emitAddress(const LoopNest &nest, const Access &access,
                    unsigned columnLoop, int64_t row, Value rowPlace,
                    Value columnPlace);
  SmallVector<Accumulator> findSums(LoopNest &nest, unsigned number);
  int64_t countSums(unsigned number);

  RegisterTiles tiles;
  /// Rows or columns of a tile that warps own, and those that they sweep over.
  const int64_t owned, swept;
  std::vector<MatrixStage> stages;
  std::vector<bool> isStaged;
  /// The thread's first row or column among those of the block's tile that
  /// warps own, and among those that are swept over; its warp's first.
  Value ownedLane, sweptLane, warpBegin, place;
  /// Which of the two places of factors that are swept over is read.
  Value half;
  /// By root: what the tile at hand has, and what was reduced for the rows that
  /// the warp owns, with how a row's element is found.
  DenseMap<Value, Fragment> fragments;
  struct RowValues {
    int64_t offset, coefficient;
    std::array<Value, 2> values;
  };
  DenseMap<Value, RowValues> rowValues;
  /// By factor: its words, where they are kept.
  std::vector<SmallVector<SmallVector<Value>>> kept;
  /// What the step at hand has read.
  DenseMap<std::pair<unsigned, unsigned>, Value> loaded;
  /// Of the pass at hand.
  std::vector<Line> lines;
};

} // namespace

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
  return isBelow(getSwept(e), emitCount(tiles.overRows));
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
// Factors
//===----------------------------------------------------------------------===//

/// Where the tile of a factor is in memory.
StageSource RegisterTileEmission::openFactor(unsigned number) {
  const TileFactor &factor = tiles.factors[number];
  const RowStep &step = schedule.steps[factor.step];
  LoopNest nest = schedule.openRows(builder, step, position);
  Access &access = nest.inputs[factor.input];
  Loop *row = nest.findLoop(step.rows.back());
  const FactorLayout *layout = findFactor(plan.factors, access.root);
  if (layout)
    layout->address(nest, access);
  int64_t along =
      access.coefficients[factor.ofRows ? row - nest.loops.data()
                                        : plan.steps[factor.step].columnLoop];
  StageSource source;
  source.buffer = launch.context.buffers.lookup(access.root);
  source.along = along;
  source.side = access.coefficients[factor.sideLoop];
  SmallVector<int64_t> coefficients;
  SmallVector<Value> indices;
  source.isAligned = isWholeVectors(access.root, 8) && access.offset % 8 == 0;
  for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
    if (loop.isOpen()) {
      coefficients.push_back(coefficient);
      indices.push_back(loop.index);
      source.isAligned &= coefficient % 8 == 0;
    }
  // So are the beginnings of all tiles.
  source.isAligned &=
      (factor.ofRows ? schedule.blockRows : plan.tileColumns) * along % 8 ==
          0 &&
      (!factor.ofRows || schedule.runRows * along % 8 == 0);
  source.base = emitLinear(builder, loc, access.offset, coefficients, indices);
  if (access.base)
    source.base = add(source.base, access.base);
  // What the block has made is a tile already.
  if (!layout)
    source.base =
        add(source.base, mul(factor.ofRows ? row->begin : columnBegin, along));
  if (!isWhole(factor.ofRows))
    source.count = emitCount(factor.ofRows);
  return source;
}

/// Whether the block makes one of these factors itself (RowFactors.h).
bool RegisterTileEmission::isMade(const std::vector<bool> &factors) const {
  for (auto [factor, isWanted] : llvm::zip(tiles.factors, factors))
    if (isWanted &&
        findFactor(plan.factors,
                   schedule.steps[factor.step].nest.inputs[factor.input].root))
      return true;
  return false;
}

std::vector<bool>
RegisterTileEmission::findFactors(const TilePass &pass) const {
  std::vector<bool> found(stages.size());
  for (auto [number, isDone] : llvm::enumerate(pass.steps))
    if (isDone)
      for (int factor : tiles.factorOf[number])
        if (factor >= 0)
          found[factor] = true;
  return found;
}

/// Copies tiles of factors to shared memory, of those that are owned, or of the
/// others to one of their two places. There is no wait behind it.
void RegisterTileEmission::stage(const std::vector<bool> &factors, bool owned,
                                 Value place) {
  for (unsigned number = 0; number < factors.size(); ++number)
    if (factors[number] && tiles.isOwned(tiles.factors[number]) == owned)
      stages[number].emitCopy(openFactor(number), place);
}

//===----------------------------------------------------------------------===//
// Steps of a tile
//===----------------------------------------------------------------------===//

/// The product of two factors in memory.
void RegisterTileEmission::emitScores(unsigned number) {
  const auto &factors = tiles.factorOf[number];
  bool firstIsOwned = tiles.isOwned(tiles.factors[factors[0]]);
  unsigned a = factors[firstIsOwned ? 0 : 1], b = factors[firstIsOwned ? 1 : 0];
  Type type = stages[a].getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  Fragment scores(swept / 2, zero);
  for (int64_t k = 0; k < tiles.factors[a].getPaddedSide(); k += coreTerms) {
    SmallVector<Value> left =
        kept[a].empty() ? stages[a].loadOwned(k) : kept[a][k / coreTerms];
    for (int64_t n = 0; n < swept; n += 2 * coreColumns) {
      SmallVector<Value> right = stages[b].loadSwept(n, k);
      for (int64_t i = 0; i < 2; ++i) {
        MutableArrayRef<Value> sums =
            MutableArrayRef(scores).slice((n / coreColumns + i) * 4, 4);
        llvm::copy(emitTensorCore(builder, loc, type, left,
                                  ArrayRef(right).slice(2 * i, 2), sums),
                   sums.begin());
      }
    }
  }
  const Access &made = schedule.steps[number].nest.outputs[0];
  for (Value &score : scores)
    score = convertFloat(builder, loc, score, made.elementType);
  fragments[made.root] = std::move(scores);
}

/// The words of a first factor of products that eight values are: as they are,
/// or one after the other the parts that add up to them.
SmallVector<SmallVector<Value>>
RegisterTileEmission::takeApart(ArrayRef<Value> values, Type type,
                                int64_t count) {
  SmallVector<SmallVector<Value>> parts;
  SmallVector<Value> rest(values);
  Type i32 = builder.getI32Type();
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  bool isWide = rest.front().getType() != type;
  for (int64_t part = 0; part < count; ++part) {
    SmallVector<Value> &words = parts.emplace_back();
    for (unsigned i = 0; i < rest.size(); i += 2) {
      Value pair = vector::FromElementsOp::create(
          builder, loc, VectorType::get({2}, rest[i].getType()),
          ValueRange{rest[i], rest[i + 1]});
      if (isWide)
        pair = arith::TruncFOp::create(builder, loc, VectorType::get({2}, type),
                                       pair);
      Value word = vector::BitCastOp::create(builder, loc,
                                             VectorType::get({1}, i32), pair);
      words.push_back(vector::ExtractOp::create(builder, loc, word, 0));
      if (part + 1 == count)
        continue;
      // What is left of both: a bf16 is the upper half of a float.
      Value all = words.back(), shift = constant(16), mask = constant(-65536);
      Value near[] = {arith::ShLIOp::create(builder, loc, all, shift),
                      arith::AndIOp::create(builder, loc, all, mask)};
      for (unsigned j = 0; j < 2; ++j)
        rest[i + j] = arith::SubFOp::create(
            builder, loc, rest[i + j],
            arith::BitcastOp::create(builder, loc, builder.getF32Type(),
                                     near[j]));
    }
  }
  return parts;
}

/// Adds the product of a tile and a factor that is swept over to the sums.
void RegisterTileEmission::emitProduct(unsigned number,
                                       MutableArrayRef<Value> sums) {
  const auto &factors = tiles.factorOf[number];
  unsigned b = factors[0] >= 0 ? factors[0] : factors[1];
  const LoopNest &nest = schedule.steps[number].nest;
  const Fragment &tile =
      fragments.at(nest.inputs[factors[0] >= 0 ? 1 : 0].root);
  Type type = stages[b].getElementType();
  for (int64_t k = 0; k < swept; k += coreTerms) {
    SmallVector<Value> values;
    for (unsigned i = k / 2; i < k / 2 + 8; ++i) {
      Value value = tile[i];
      if (Value exists = emitIsSwept(getElement(i)))
        value =
            arith::SelectOp::create(builder, loc, exists, value,
                                    emitZero(builder, loc, value.getType()));
      values.push_back(value);
    }
    SmallVector<SmallVector<Value>> parts =
        takeApart(values, type, tiles.partsOf[number]);
    for (int64_t n = 0; n < tiles.factors[b].getPaddedSide();
         n += 2 * coreColumns) {
      SmallVector<Value> right = stages[b].loadSweptTerms(n, k);
      for (const SmallVector<Value> &left : parts)
        for (int64_t i = 0; i < 2; ++i) {
          MutableArrayRef<Value> mine =
              sums.slice((n / coreColumns + i) * 4, 4);
          llvm::copy(emitTensorCore(builder, loc, type, left,
                                    ArrayRef(right).slice(2 * i, 2), mine),
                     mine.begin());
        }
    }
  }
}

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
  auto found = llvm::find_if(lines, [&](const Line &line) {
    return line.root == wanted->root && line.ofRows == wanted->ofRows &&
           line.isInverse == isInverse && line.offset == wanted->offset &&
           line.coefficient == wanted->coefficient;
  });
  return found == lines.end() ? nullptr : &*found;
}

/// The argument of a body that an f32 is divided by; null if it is none.
static BlockArgument getDivisor(arith::DivFOp op, const LoopNest &nest) {
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
      if (!line || findLine(number, input, isInverse))
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

/// The element of an input of a step.
Value RegisterTileEmission::emitInput(const LoopNest &nest, unsigned number,
                                      unsigned input, Element e) {
  const Access &access = nest.inputs[input];
  if (access.scalar)
    return launch.context.scalars.lookupOrDefault(access.scalar);
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

/// Computes the elements of a tile, or adds them to what each row has in
/// `sums`.
LogicalResult RegisterTileEmission::emitElements(unsigned number,
                                                 MutableArrayRef<Value> sums) {
  const RowStep &step = schedule.steps[number];
  unsigned column = plan.steps[number].columnLoop;
  LoopNest nest = openStep(number);
  int64_t row = nest.findLoop(step.rows.back()) - nest.loops.data();
  SmallVector<Accumulator> accumulators = findSums(nest, number);
  SmallVector<Fragment> made(nest.outputs.size());
  // Of each sum, what the tile adds to the two rows.
  SmallVector<std::array<Value, 2>> added(accumulators.size());
  loaded.clear();
  for (unsigned place = 0; place < swept / 2; ++place) {
    Element e = getElement(place);
    BodyEmitter body(*nest.body, launch.context);
    for (auto [input, argument] : llvm::enumerate(
             nest.body->getArguments().take_front(nest.inputs.size())))
      body.defineArgument(argument, 0, [&, input = input](OpBuilder &) {
        return emitInput(nest, number, input, e);
      });
    for (const auto &[loopNumber, loop] : llvm::enumerate(nest.loops))
      if (loop.dims.size() == 1)
        body.defineIndex(
            loop.dims[0], 0, [&, n = loopNumber](OpBuilder &) -> Value {
              const Loop &mine = nest.loops[n];
              if (mine.isOpen())
                return mine.index;
              if (int64_t(n) == row)
                return add(mine.begin, getPlace(e, true));
              return n == column ? add(columnBegin, getPlace(e, false))
                                 : index(0);
            });
    // A quotient by what a row has is a product with its reciprocal.
    for (auto op : nest.body->getOps<arith::DivFOp>()) {
      BlockArgument divisor = getDivisor(op, nest);
      if (!divisor ||
          !getLine(number, divisor.getArgNumber(), /*isInverse=*/true))
        continue;
      body.defineOp(op, [&, left = op.getLhs(),
                         input = divisor.getArgNumber()](OpBuilder &) {
        Value factor = emitInverse(nest, number, input, e);
        Value product =
            arith::MulFOp::create(builder, loc, body.lookup(left), factor);
        return SmallVector<Value>{product};
      });
    }
    for (auto op : nest.body->getOps<math::ExpOp>())
      if (op.getType().isF32())
        body.defineOp(op, [&, power = op.getOperand()](OpBuilder &) {
          return SmallVector<Value>{emitExp(builder, loc, body.lookup(power))};
        });
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
            convertFloat(builder, loc,
                         arith::ConstantOp::create(
                             builder, loc,
                             *arith::getNeutralElement(accumulator.combiner)),
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
        isa<BlockArgument>(access.root)) {
      for (auto [place, value] : llvm::enumerate(made[output])) {
        OpBuilder::InsertionGuard guard(builder);
        Element e = getElement(place);
        for (Value exists : {emitIsSwept(e), emitIsOwned(e.h)})
          if (exists)
            openIf(builder, loc, exists);
        launch.context.store(
            builder, loc, value, access.root,
            emitAddress(nest, access, column, row,
                        add(nest.loops[row].begin, getPlace(e, true)),
                        add(columnBegin, getPlace(e, false))));
      }
    }
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
          builder, loc, *arith::getNeutralElement(accumulator.combiner));
      inits.append(2, convertFloat(builder, loc, neutral, accumulator.type));
    }
  }
  return inits;
}

LogicalResult RegisterTileEmission::emitTile(const TilePass &pass,
                                             SmallVector<Value> &sums) {
  fragments.clear();
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
      if (failed(emitElements(number, mine)))
        return failure();
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
  setSwept(begin);
  addLines(pass);
  loadOwnedLines();
  loadNextLines();
  storeNextLines(index(0));
  if (isMade(missing) && failed(emitFactors(pass.steps)))
    return failure();
  stage(missing, /*owned=*/true, Value());
  if (hasMissing) {
    emitCopyGroup(builder, loc);
    emitCopyWait(builder, loc, 0);
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
  // Steps for rows only that each tile of rows needs are done when it is there.
  std::vector<bool> others = factors;
  for (unsigned number = 0; number < others.size(); ++number)
    others[number] = others[number] && !tiles.isOwned(tiles.factors[number]);
  bool makes = isMade(others), repeats = makes;
  for (unsigned number = 0; number < pass.steps.size(); ++number)
    repeats |=
        pass.steps[number] && plan.steps[number].kind == TiledStep::RowsOnly;
  if (!repeats)
    stage(factors, /*owned=*/false, index(0));
  emitCopyGroup(builder, loc);

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
      emitCopyWait(builder, loc, 0);
    } else {
      Value next = add(tile, index(1));
      {
        OpBuilder::InsertionGuard inner(builder);
        openIf(builder, loc, isBelow(next, end));
        setSwept(next);
        stage(factors, /*owned=*/false,
              arith::SubIOp::create(builder, loc, index(1), half, nsw));
      }
      emitCopyGroup(builder, loc);
      emitCopyWait(builder, loc, 1);
      setSwept(tile);
    }
    // What is read of the next tile arrives while this one is computed.
    setSwept(arith::MinSIOp::create(builder, loc, add(tile, index(1)),
                                    add(end, index(-1))));
    loadNextLines();
    setSwept(tile);
    launch.emitBarrier(loc);
    for (unsigned number = 0; number < factors.size(); ++number)
      if (factors[number] && !tiles.isOwned(tiles.factors[number]))
        stages[number].setPlace(warpBegin, half);
    SmallVector<Value> updated(loop.getRegionIterArgs());
    if (failed(emitTile(pass, updated)))
      return failure();
    storeNextLines(arith::SubIOp::create(builder, loc, index(1), half, nsw));
    launch.emitBarrier(loc);
    scf::YieldOp::create(builder, loc, updated);
  }
  sums.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

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

void RegisterTileEmission::storeProduct(unsigned number, ArrayRef<Value> sums) {
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
    Value base = emitAddress(nest, made, column, row, rowPlace, columnPlace);
    for (unsigned place = 0; place < sums.size(); ++place) {
      Element e = getElement(place);
      if (e.h != h)
        continue;
      OpBuilder::InsertionGuard inner(builder);
      Value point = getSwept(e);
      if (factor.side != factor.getPaddedSide())
        openIf(builder, loc, isBelow(point, index(factor.side)));
      launch.context.store(
          builder, loc,
          convertFloat(builder, loc, sums[place], made.elementType), made.root,
          add(base, mul(point, made.coefficients[side])));
    }
  }
}

/// Stores what a pass has reduced, for steps that follow.
LogicalResult RegisterTileEmission::finish(const TilePass &pass,
                                           ArrayRef<Value> sums) {
  for (unsigned number : pass.ends) {
    int64_t count = countSums(number);
    if (schedule.steps[number].isContraction &&
        plan.steps[number].kind != TiledStep::Tile)
      storeProduct(number, sums.take_front(count));
    else if (count != 0)
      finishReduction(number, sums.take_front(count));
    sums = sums.drop_front(count);
  }
  launch.emitBarrier(loc);
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
