//===- RegisterTileFactors.cpp - factors of tiles in registers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmission.h"
#include "VectorAccess.h"
#include "WarpOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

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
