//===- Blocks.cpp - triangular systems and factors in blocks --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Larger ones are halved: products are faster than a loop, whose iterations
/// copy what they carry.
static constexpr int64_t largestLoop = 64;

Value Blocks::slice(Value matrix, int64_t row, int64_t rows, int64_t column,
                    int64_t columns) {
  auto type = cast<RankedTensorType>(matrix.getType());
  SmallVector<int64_t> begin(type.getRank(), 0), strides(type.getRank(), 1),
      sizes(type.getShape());
  begin[type.getRank() - 2] = row;
  begin[type.getRank() - 1] = column;
  sizes[type.getRank() - 2] = rows;
  sizes[type.getRank() - 1] = columns;
  return createSlice(builder, loc, matrix, begin, sizes, strides);
}

Value Blocks::concat(int64_t dimFromEnd, ValueRange parts) {
  if (parts.size() == 1)
    return parts[0];
  return tensor::ConcatOp::create(builder, loc, getRank(parts[0]) - dimFromEnd,
                                  parts);
}

AffineMap Blocks::makeMap(int64_t batches, int64_t loops,
                          ArrayRef<AffineExpr> exprs) {
  SmallVector<AffineExpr> all;
  for (int64_t dim = 0; dim < batches; ++dim)
    all.push_back(builder.getAffineDimExpr(dim));
  llvm::append_range(all, exprs);
  return AffineMap::get(loops, 0, all, builder.getContext());
}

Value Blocks::transpose(Value matrix) {
  int64_t rank = cast<RankedTensorType>(matrix.getType()).getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return createTranspose(builder, loc, matrix, permutation);
}

Value Blocks::subtractProduct(Value c, Value a, Value b, bool isTransposed) {
  auto type = cast<RankedTensorType>(c.getType());
  int64_t rank = type.getRank(), batches = rank - 2;
  AffineExpr row = builder.getAffineDimExpr(batches),
             column = builder.getAffineDimExpr(batches + 1),
             inner = builder.getAffineDimExpr(rank);
  AffineMap left = makeMap(batches, rank + 1, {row, inner}),
            right = isTransposed ? makeMap(batches, rank + 1, {column, inner})
                                 : makeMap(batches, rank + 1, {inner, column});
  Value product =
      createGeneric(
          builder, loc, {a, b}, createZeros(builder, loc, type),
          {left, right, createLoopsMap(builder, rank + 1, 0, rank)}, rank, 1,
          [](OpBuilder &nested, Location loc, ValueRange args) {
            Value product =
                arith::MulFOp::create(nested, loc, args[0], args[1]);
            linalg::YieldOp::create(nested, loc,
                                    createSum(nested, loc, args[2], product));
          })
          .getResult(0);
  return createElementwise(
      builder, loc, {c, product}, type,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::SubFOp::create(nested, loc, args[0], args[1]);
      });
}

/// `first` without the products of the pairs in `factors`.
static Value subtractProducts(OpBuilder &nested, Location loc, Value first,
                              ValueRange factors) {
  for (size_t i = 0; i < factors.size(); i += 2) {
    Value product =
        arith::MulFOp::create(nested, loc, factors[i], factors[i + 1]);
    first = arith::SubFOp::create(nested, loc, first, product);
  }
  return first;
}

Value Blocks::solveSmall(Value a, Value b, bool isLower) {
  auto type = cast<RankedTensorType>(b.getType());
  int64_t size = getSize(a), rank = type.getRank(), batches = rank - 2;
  SmallVector<int64_t> shape(type.getShape()), rowShape(shape);
  shape.erase(shape.end() - 2);
  rowShape[batches] = 1;
  AffineExpr column = builder.getAffineDimExpr(batches);
  AffineMap all = makeMap(batches, rank - 1, column);
  auto at = [&](int64_t row, int64_t column) {
    return makeMap(batches, rank - 1,
                   {builder.getAffineConstantExpr(row),
                    builder.getAffineConstantExpr(column)});
  };
  SmallVector<Value> rows(size), parts;
  SmallVector<int64_t> solved;
  for (int64_t step = 0; step < size; ++step) {
    int64_t row = isLower ? step : size - 1 - step;
    SmallVector<Value> inputs = {b, a};
    SmallVector<AffineMap> maps = {
        makeMap(batches, rank - 1,
                {builder.getAffineConstantExpr(row), column}),
        at(row, row)};
    for (int64_t other : solved) {
      inputs.append({a, rows[other]});
      maps.append({at(row, other), all});
    }
    maps.push_back(all);
    Value empty =
        tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
    rows[row] =
        createGeneric(builder, loc, inputs, empty, maps, rank - 1, 0,
                      [&](OpBuilder &nested, Location loc, ValueRange args) {
                        Value x =
                            subtractProducts(nested, loc, args[0],
                                             args.drop_front(2).drop_back());
                        if (!hasUnitDiagonal)
                          x = arith::DivFOp::create(nested, loc, x, args[1]);
                        linalg::YieldOp::create(nested, loc, x);
                      })
            .getResult(0);
    solved.push_back(row);
  }
  for (Value row : rows)
    parts.push_back(createReshape(builder, loc, row, rowShape));
  return concat(2, parts);
}

/// A row of x in each iteration. Those that are not known yet are zeros.
Value Blocks::solveInLoop(Value a, Value b, bool isLower) {
  Indexed math(builder, loc);
  int64_t size = getSize(a);
  using Predicate = arith::CmpIPredicate;
  auto step = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value row = index;
    if (!isLower)
      row = arith::SubIOp::create(builder, loc,
                                  createIndex(builder, loc, size - 1), index);
    Value coefficients = createTakenAt(math, a, 1, row);
    Value known = math.map(
        "bn->bn", coefficients,
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value isKnown = arith::CmpIOp::create(
              nested, loc, isLower ? Predicate::ult : Predicate::ugt,
              linalg::IndexOp::create(nested, loc, 1), row);
          return arith::SelectOp::create(
              nested, loc, isKnown, args[0],
              createConstant(nested, loc, args[0].getType(), 0.0));
        });
    Value found = math.map(
        "bm,bm,b->bm",
        {createTakenAt(math, b, 1, row),
         math.contract("bn,bnm->bm", known, carried[0]),
         createTakenAt(math, coefficients, 1, row)},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value rest = arith::SubFOp::create(nested, loc, args[0], args[1]);
          if (hasUnitDiagonal)
            return rest;
          return arith::DivFOp::create(nested, loc, rest, args[2]);
        });
    return {math.map(
        "bnm,bm->bnm", {carried[0], found},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value isHere = arith::CmpIOp::create(
              nested, loc, Predicate::eq,
              linalg::IndexOp::create(nested, loc, 1), row);
          return arith::SelectOp::create(nested, loc, isHere, args[1], args[0]);
        })};
  };
  Value zeros = createZeros(builder, loc, cast<RankedTensorType>(b.getType()));
  return createLoop(builder, loc, size, zeros, step).front();
}

Value Blocks::solve(Value a, Value b, bool isLower) {
  int64_t size = getSize(a), columns = getSize(b);
  if (size <= smallSize)
    return solveSmall(a, b, isLower);
  if (size <= largestLoop)
    return solveInLoop(a, b, isLower);
  int64_t half = size / 2, rest = size - half;
  // The block that is solved first, and the other one.
  int64_t first = isLower ? 0 : rest, second = isLower ? half : 0;
  Value x = solve(slice(a, first, half, first, half),
                  slice(b, first, half, 0, columns), isLower);
  Value other = subtractProduct(slice(b, second, rest, 0, columns),
                                slice(a, second, rest, first, half), x, false);
  Value y = solve(slice(a, second, rest, second, rest), other, isLower);
  return isLower ? concat(2, {x, y}) : concat(2, {y, x});
}

Value Blocks::factorSmall(Value a) {
  auto type = cast<RankedTensorType>(a.getType());
  int64_t size = getSize(a), rank = type.getRank(), batches = rank - 2;
  Type element = type.getElementType();
  SmallVector<int64_t> batchShape(type.getShape().drop_back(2)),
      shape(type.getShape().drop_back()), columnShape(type.getShape());
  columnShape.back() = 1;
  AffineExpr row = builder.getAffineDimExpr(batches);
  SmallVector<Value> columns, parts;
  for (int64_t column = 0; column < size; ++column) {
    AffineExpr own = builder.getAffineConstantExpr(column);
    // The element of the diagonal, of which those below are divided.
    SmallVector<Value> inputs = {a};
    SmallVector<AffineMap> maps = {makeMap(batches, batches, {own, own})};
    for (Value other : columns) {
      inputs.append({other, other});
      maps.append(2, makeMap(batches, batches, own));
    }
    maps.push_back(makeMap(batches, batches, {}));
    Value empty = tensor::EmptyOp::create(builder, loc, batchShape, element);
    Value pivot =
        createGeneric(
            builder, loc, inputs, empty, maps, batches, 0,
            [](OpBuilder &nested, Location loc, ValueRange args) {
              Value rest = subtractProducts(nested, loc, args[0],
                                            args.drop_front().drop_back());
              linalg::YieldOp::create(
                  nested, loc,
                  math::SqrtOp::create(nested, loc, rest).getResult());
            })
            .getResult(0);
    inputs = {a, pivot};
    maps = {makeMap(batches, rank - 1, {row, own}),
            makeMap(batches, rank - 1, {})};
    for (Value other : columns) {
      inputs.append({other, other});
      maps.append(
          {makeMap(batches, rank - 1, row), makeMap(batches, rank - 1, own)});
    }
    maps.push_back(makeMap(batches, rank - 1, row));
    empty = tensor::EmptyOp::create(builder, loc, shape, element);
    auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
      Value below = subtractProducts(nested, loc, args[0],
                                     args.drop_front(2).drop_back());
      below = arith::DivFOp::create(nested, loc, below, args[1]);
      Value index = linalg::IndexOp::create(nested, loc, batches),
            diagonal = createIndex(nested, loc, column);
      auto compare = [&](arith::CmpIPredicate predicate) {
        return arith::CmpIOp::create(nested, loc, predicate, index, diagonal);
      };
      Value above = createConstant(nested, loc, element, 0.0);
      above = arith::SelectOp::create(
          nested, loc, compare(arith::CmpIPredicate::eq), args[1], above);
      Value chosen = arith::SelectOp::create(
          nested, loc, compare(arith::CmpIPredicate::ugt), below, above);
      linalg::YieldOp::create(nested, loc, chosen);
    };
    columns.push_back(
        createGeneric(builder, loc, inputs, empty, maps, rank - 1, 0, body)
            .getResult(0));
  }
  for (Value column : columns)
    parts.push_back(createReshape(builder, loc, column, columnShape));
  return concat(1, parts);
}

/// A column of the factor in each iteration. Those that are not known yet are
/// zeros.
Value Blocks::factorInLoop(Value a) {
  Indexed math(builder, loc);
  auto step = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value known = carried[0];
    Value rest =
        math.subtract(createTakenAt(math, a, 2, index),
                      math.contract("bij,bj->bi", known,
                                    createTakenAt(math, known, 1, index)));
    Value pivot =
        math.map("b->b", createTakenAt(math, rest, 1, index),
                 [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
                   return math::SqrtOp::create(nested, loc, args[0]);
                 });
    auto isIndex = [&](OpBuilder &nested, Location loc, unsigned loop,
                       arith::CmpIPredicate predicate) -> Value {
      return arith::CmpIOp::create(nested, loc, predicate,
                                   linalg::IndexOp::create(nested, loc, loop),
                                   index);
    };
    return {math.map(
        "bmn,bm,b->bmn", {known, rest, pivot},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value below = arith::SelectOp::create(
              nested, loc, isIndex(nested, loc, 1, arith::CmpIPredicate::ugt),
              arith::DivFOp::create(nested, loc, args[1], args[2]), args[0]);
          Value found = arith::SelectOp::create(
              nested, loc, isIndex(nested, loc, 1, arith::CmpIPredicate::eq),
              args[2], below);
          return arith::SelectOp::create(
              nested, loc, isIndex(nested, loc, 2, arith::CmpIPredicate::eq),
              found, args[0]);
        })};
  };
  Value zeros = createZeros(builder, loc, cast<RankedTensorType>(a.getType()));
  return createLoop(builder, loc, getSize(a), zeros, step).front();
}

Value Blocks::factor(Value a) {
  int64_t size = getSize(a);
  auto type = cast<RankedTensorType>(a.getType());
  if (size <= smallSize)
    return factorSmall(a);
  if (size <= largestLoop)
    return factorInLoop(a);
  int64_t half = size / 2, rest = size - half;
  Value first = factor(slice(a, 0, half, 0, half));
  Value below =
      transpose(solve(first, transpose(slice(a, half, rest, 0, half)), true));
  Value second = factor(
      subtractProduct(slice(a, half, rest, half, rest), below, below, true));
  SmallVector<int64_t> shape(type.getShape());
  shape[type.getRank() - 2] = half;
  shape[type.getRank() - 1] = rest;
  Value zeros = createZeroConstant(
      builder, loc, RankedTensorType::get(shape, type.getElementType()));
  return concat(2, {concat(1, {first, zeros}), concat(1, {below, second})});
}

Value Blocks::spoil(Value factor) {
  auto type = cast<RankedTensorType>(factor.getType());
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineExpr> exprs(all.getResults());
  exprs[type.getRank() - 2] = exprs[type.getRank() - 1] =
      builder.getAffineConstantExpr(getSize(factor) - 1);
  AffineMap last =
      AffineMap::get(type.getRank(), 0, exprs, builder.getContext());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return createGeneric(builder, loc, {factor, factor}, empty, {all, last, all},
                       type.getRank(), 0,
                       [](OpBuilder &nested, Location loc, ValueRange args) {
                         Value isNumber = arith::CmpFOp::create(
                             nested, loc, arith::CmpFPredicate::ORD, args[1],
                             args[1]);
                         Value chosen = arith::SelectOp::create(
                             nested, loc, isNumber, args[0], args[1]);
                         linalg::YieldOp::create(nested, loc, chosen);
                       })
      .getResult(0);
}
