//===- RegisterTileMasks.cpp - what is known of whole tiles ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks compare rows with columns: causal ones, windows of neighbours, limits.
// In most tiles such a comparison has one result for all elements. So there are
// two bodies: one for tiles in which all comparisons have the results that most
// tiles have, and all rows and columns exist; the other compares elements.
//
//===----------------------------------------------------------------------===//

#include "ContractArithmetic.h"
#include "RegisterTileEmission.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

using Predicate = arith::CmpIPredicate;

/// Coefficients, numbers of rows or columns, and offsets up to which sums of
/// their products do not overflow.
static constexpr int64_t maxFactor = int64_t(1) << 30;
static constexpr int64_t maxOffset = int64_t(1) << 59;
/// Tiles in one direction that are looked at to find what most have.
static constexpr int64_t maxProbes = 64;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

namespace {
/// Integers of a body as sums of the row and the column, where they do not wrap
/// around.
class IndexAnalysis {
public:
  IndexAnalysis(unsigned rowDim, unsigned columnDim, int64_t rows,
                int64_t columns)
      : rowDim(rowDim), columnDim(columnDim), rows(rows), columns(columns) {}

  std::pair<int64_t, int64_t> getRange(const AffineForm &form) const {
    return form.getRange(0, rows - 1, 0, columns - 1);
  }
  bool isKept(const AffineForm &form, Type type) const {
    if (std::abs(form.ofRow) > maxFactor ||
        std::abs(form.ofColumn) > maxFactor ||
        std::abs(form.offset) > maxOffset)
      return false;
    if (isa<IndexType>(type))
      return true;
    unsigned width = type.getIntOrFloatBitWidth();
    auto [least, most] = getRange(form);
    return llvm::isIntN(width, least) && llvm::isIntN(width, most);
  }
  std::optional<AffineForm> find(Value value);

private:
  std::optional<AffineForm> compute(Value value);

  const unsigned rowDim, columnDim;
  const int64_t rows, columns;
  /// What is known of values, each of which may be read often.
  DenseMap<Value, std::optional<AffineForm>> known;
};
} // namespace

std::optional<AffineForm> IndexAnalysis::find(Value value) {
  auto found = known.find(value);
  if (found == known.end())
    found = known.try_emplace(value, compute(value)).first;
  return found->second;
}

std::optional<AffineForm> IndexAnalysis::compute(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number))) {
    AffineForm form{0, 0,
                    number.getSignificantBits() <= 59 ? number.getSExtValue()
                                                      : maxOffset + 1};
    return isKept(form, value.getType()) ? std::optional(form) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    if (index.getDim() == rowDim)
      return AffineForm{1, 0, 0};
    return index.getDim() == columnDim ? std::optional(AffineForm{0, 1, 0})
                                       : std::nullopt;
  }
  std::optional<AffineForm> a, b;
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp,
          arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    a = find(op->getOperand(0));
    // Without a sign, only what has none stays the same.
    if (a && isa<arith::IndexCastUIOp, arith::ExtUIOp>(op) &&
        getRange(*a).first < 0)
      return std::nullopt;
  } else if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    a = find(op->getOperand(0));
    b = find(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::MulIOp>(op)) {
      if (a->isConstant())
        std::swap(a, b);
      if (!b->isConstant() || std::abs(b->offset) > maxFactor ||
          std::abs(a->offset) > maxFactor)
        return std::nullopt;
      a = AffineForm{a->ofRow * b->offset, a->ofColumn * b->offset,
                     a->offset * b->offset};
    } else {
      a = a->plus(*b, isa<arith::AddIOp>(op) ? 1 : -1);
    }
  }
  return a && isKept(*a, value.getType()) ? a : std::nullopt;
}

/// The same with signs, of numbers that have none.
static Predicate getSigned(Predicate predicate) {
  switch (predicate) {
  case Predicate::ult:
    return Predicate::slt;
  case Predicate::ule:
    return Predicate::sle;
  case Predicate::ugt:
    return Predicate::sgt;
  case Predicate::uge:
    return Predicate::sge;
  default:
    return predicate;
  }
}

/// Finds what a step compares.
void RegisterTileEmission::findComparisons() {
  comparisons.resize(schedule.steps.size());
  for (auto [number, step] : llvm::enumerate(schedule.steps)) {
    int column = plan.steps[number].columnLoop;
    int64_t row = getRowLoop(number);
    const LoopNest &nest = step.nest;
    // Rows of several runs in one loop are not those of a tile.
    if (step.isContraction || column < 0 || row < 0 ||
        nest.loops[row].size != schedule.runRows ||
        nest.loops[column].dims.size() != 1 ||
        std::max(schedule.runRows, plan.columns) > maxFactor)
      continue;
    IndexAnalysis indices(nest.loops[row].dims.front(),
                          nest.loops[column].dims.front(), schedule.runRows,
                          plan.columns);
    for (auto op : nest.body->getOps<arith::CmpIOp>()) {
      auto a = indices.find(op.getLhs()), b = indices.find(op.getRhs());
      if (!a || !b)
        continue;
      Predicate predicate = getSigned(op.getPredicate());
      if (predicate != op.getPredicate() &&
          (indices.getRange(*a).first < 0 || indices.getRange(*b).first < 0))
        continue;
      AffineForm form = a->plus(*b, -1);
      auto [least, most] =
          form.getRange(0, schedule.runRows + schedule.blockRows, 0,
                        plan.columns + plan.tileColumns);
      if (!form.isConstant() && llvm::isInt<31>(least) && llvm::isInt<31>(most))
        comparisons[number].push_back(
            {op, form, predicate, /*isInner=*/true, /*first=*/Value()});
    }
  }
}

/// Whether numbers from `least` to `most` all compare with 0 like this.
static bool isTrueFor(Predicate predicate, int64_t least, int64_t most) {
  switch (predicate) {
  case Predicate::slt:
    return most < 0;
  case Predicate::sle:
    return most <= 0;
  case Predicate::sgt:
    return least > 0;
  case Predicate::sge:
    return least >= 0;
  case Predicate::ne:
    return most < 0 || least > 0;
  default:
    return least == 0 && most == 0;
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The comparisons of a pass.
SmallVector<RegisterTileEmission::Comparison *>
RegisterTileEmission::getComparisons(const TilePass &pass) {
  SmallVector<Comparison *> found;
  for (auto [mine, isDone] : llvm::zip(comparisons, pass.steps))
    if (isDone)
      for (Comparison &comparison : mine)
        found.push_back(&comparison);
  return found;
}

/// Looks for the results of comparisons that most tiles have. False if there is
/// nothing to know, or if no tile is like this.
bool RegisterTileEmission::findInnerTiles(const TilePass &pass) {
  SmallVector<Comparison *> mine = getComparisons(pass);
  if (mine.empty() && isWhole(tiles.overRows))
    return false;
  const int64_t rowTiles = countRowTiles(), columnTiles = plan.countTiles(),
                rowStep = llvm::divideCeil(rowTiles, maxProbes),
                columnStep = llvm::divideCeil(columnTiles, maxProbes);
  const bool isHiding = hidesColumns(pass.steps);
  std::map<std::vector<bool>, int64_t> counts;
  for (int64_t i = 0; i < rowTiles; i += rowStep)
    for (int64_t j = 0; j < columnTiles; j += columnStep) {
      int64_t row = i * schedule.blockRows, column = j * plan.tileColumns,
              lastRow = row + schedule.blockRows - 1,
              lastColumn = column + plan.tileColumns - 1;
      if (isHiding && column > lastRow + schedule.masked.shift - 1)
        continue;
      if (tiles.overRows
              ? lastRow >= schedule.runRows || schedule.blockRows != swept
              : lastColumn >= plan.columns)
        continue;
      std::vector<bool> results;
      for (Comparison *comparison : mine) {
        auto [least, most] =
            comparison->form.getRange(row, lastRow, column, lastColumn);
        if (isTrueFor(comparison->predicate, least, most))
          results.push_back(true);
        else if (isTrueFor(arith::invertPredicate(comparison->predicate), least,
                           most))
          results.push_back(false);
      }
      if (results.size() == mine.size())
        ++counts[results];
    }
  auto most = llvm::max_element(
      counts, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most == counts.end())
    return false;
  for (auto [comparison, result] : llvm::zip(mine, most->first))
    comparison->isInner = result;
  return true;
}

/// Whether the tile at hand is one of those.
Value RegisterTileEmission::emitIsInner(const TilePass &pass) {
  Value all;
  auto require = [&](Value condition) {
    all = all ? arith::AndIOp::create(builder, loc, all, condition) : condition;
  };
  if (!isWhole(tiles.overRows))
    require(arith::CmpIOp::create(builder, loc, Predicate::sge,
                                  emitCount(tiles.overRows), index(swept)));
  for (Comparison *comparison : getComparisons(pass)) {
    const AffineForm &form = comparison->form;
    auto emitEnd = [&](bool isMost) {
      auto getPlace = [&](Value begin, int64_t size, int64_t coefficient) {
        bool isLast = (coefficient > 0) == isMost;
        return mul(isLast ? add(begin, index(size - 1)) : begin, coefficient);
      };
      return add(
          add(getPlace(position.blockBegin, schedule.blockRows, form.ofRow),
              getPlace(columnBegin, plan.tileColumns, form.ofColumn)),
          index(form.offset));
    };
    auto compare = [&](Predicate predicate, bool isMost) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, emitEnd(isMost),
                                   index(0));
    };
    Predicate predicate = comparison->isInner
                              ? comparison->predicate
                              : arith::invertPredicate(comparison->predicate);
    if (predicate == Predicate::slt || predicate == Predicate::sle) {
      require(compare(predicate, /*isMost=*/true));
    } else if (predicate == Predicate::sgt || predicate == Predicate::sge) {
      require(compare(predicate, /*isMost=*/false));
    } else if (predicate == Predicate::ne) {
      require(arith::OrIOp::create(builder, loc, compare(Predicate::slt, true),
                                   compare(Predicate::sgt, false)));
    } else {
      require(compare(Predicate::sge, false));
      require(compare(Predicate::sle, true));
    }
  }
  return all;
}

/// The result of a comparison for an element: words of 32 bits, of which only a
/// constant differs from one element of the thread to the next.
Value RegisterTileEmission::emitComparison(Comparison &comparison, Element e) {
  if (isInner)
    return arith::ConstantOp::create(builder, loc,
                                     builder.getBoolAttr(comparison.isInner));
  const AffineForm &form = comparison.form;
  Type i32 = builder.getI32Type();
  Value &first = comparison.first;
  if (!first) {
    Element none{0, 0, 0};
    Value all =
        add(add(mul(add(position.blockBegin, getPlace(none, true)), form.ofRow),
                mul(add(columnBegin, getPlace(none, false)), form.ofColumn)),
            index(form.offset));
    first = arith::IndexCastOp::create(builder, loc, i32, all);
  }
  int64_t ofOwned = tiles.overRows ? form.ofColumn : form.ofRow,
          ofSwept = tiles.overRows ? form.ofRow : form.ofColumn;
  int64_t distance = ofOwned * 8 * e.h + ofSwept * (8 * e.q + e.c);
  return arith::CmpIOp::create(
      builder, loc, comparison.predicate, first,
      arith::ConstantOp::create(builder, loc,
                                builder.getI32IntegerAttr(int32_t(-distance))));
}

/// Adds what the tile at hand has to the sums of a pass, in one of two bodies.
LogicalResult RegisterTileEmission::emitSplitTile(const TilePass &pass,
                                                  SmallVector<Value> &sums) {
  auto emit = [&]() {
    for (Comparison *comparison : getComparisons(pass))
      comparison->first = Value();
    for (MatrixStage &stage : stages)
      stage.forgetPointers();
    return emitTile(pass, sums);
  };
  if (!findInnerTiles(pass))
    return emit();
  auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(sums)),
                                  emitIsInner(pass), /*withElseRegion=*/true);
  SmallVector<Value> before = sums;
  for (bool inner : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = inner ? branch.thenBlock() : branch.elseBlock();
    builder.setInsertionPointToStart(block);
    isInner = inner;
    sums = before;
    if (failed(emit()))
      return failure();
    if (!sums.empty())
      scf::YieldOp::create(builder, loc, sums);
    contractArithmetic(*block);
  }
  isInner = false;
  sums.assign(branch.getResults().begin(), branch.getResults().end());
  return success();
}
