//===- LastUpdates.cpp - the one update that counts for an element --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where updates overwrite each other, the last one of a place counts. Its
// number is written to the place, which is an addition to zero as all others
// count for nothing, and each element then reads the update of this number.
//
//===----------------------------------------------------------------------===//

#include "Scatters.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Of more updates, not all pairs are compared.
static constexpr int64_t maxPairs = 1024;

/// For each update 1 if a later one goes to the same place. The last one of a
/// place is found bit by bit of its number, the highest first: where one that
/// is left has the bit, those without it are not the last.
Value ScatterBuilder::findShadowedByBits() {
  int64_t count = countPlaces();
  Type wide = builder.getI64Type();
  auto type = RankedTensorType::get({count}, wide);
  SmallVector<Value> parts;
  SmallVector<int64_t> shape;
  for (Value part : places.parts)
    parts.push_back(createReshape(builder, loc, part, {count}));
  for (int64_t dim = 0; dim < this->type.getRank(); ++dim)
    if (llvm::is_contained(places.dims, dim))
      shape.push_back(this->type.getDimSize(dim));
  AffineMap map = builder.getMultiDimIdentityMap(1);
  Value left = createInteger(builder, loc, type, 1);
  auto takePlace = [&](OpBuilder &nested, ValueRange elements) {
    auto [place, valid] = createPlace(nested, loc, elements);
    SmallVector<Value> indices;
    for (Value index : place)
      if (index)
        indices.push_back(index);
    return std::pair(indices, valid);
  };
  auto takeBit = [&](OpBuilder &nested, Value number, unsigned bit) -> Value {
    number = arith::IndexCastOp::create(nested, loc, wide, number);
    number = arith::ShRUIOp::create(nested, loc, number,
                                    createInteger(nested, loc, wide, bit));
    return arith::AndIOp::create(nested, loc, number,
                                 createInteger(nested, loc, wide, 1));
  };
  for (unsigned bit = llvm::Log2_64_Ceil(count); bit-- > 0;) {
    SmallVector<Value> inputs(parts);
    inputs.push_back(left);
    SmallVector<AffineMap> maps(inputs.size(), map);
    Value table = createSumScatter(
        createZeros(builder, loc, RankedTensorType::get(shape, wide)), inputs,
        maps, count,
        [&](OpBuilder &nested, ValueRange points, ValueRange elements) {
          auto [yields, valid] = takePlace(nested, elements.drop_back());
          Value term = arith::AndIOp::create(nested, loc, elements.back(),
                                             takeBit(nested, points[0], bit));
          yields.push_back(arith::SelectOp::create(
              nested, loc, valid, term, createInteger(nested, loc, wide, 0)));
          YieldOp::create(nested, loc, yields);
        });
    maps.push_back(map);
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), wide);
    left =
        createGeneric(
            builder, loc, inputs, empty, maps, 1, 0,
            [&](OpBuilder &nested, Location loc, ValueRange args) {
              auto [place, valid] =
                  takePlace(nested, args.take_front(parts.size()));
              Value found =
                  tensor::ExtractOp::create(nested, loc, table, place);
              Value own =
                  takeBit(nested, linalg::IndexOp::create(nested, loc, 0), bit);
              Value isLast = arith::CmpIOp::create(
                  nested, loc, arith::CmpIPredicate::ule,
                  arith::MinUIOp::create(nested, loc, found,
                                         createInteger(nested, loc, wide, 1)),
                  own);
              Value stays = arith::ExtUIOp::create(nested, loc, wide, isLast);
              linalg::YieldOp::create(
                  nested, loc,
                  arith::AndIOp::create(nested, loc, args[parts.size()], stays)
                      .getResult());
            })
            .getResult(0);
  }
  return createElementwise(
      builder, loc, createReshape(builder, loc, left, places.shape),
      RankedTensorType::get(places.shape, builder.getI32Type()),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Type narrow = nested.getI32Type();
        Value bit = arith::TruncIOp::create(nested, loc, narrow, args[0]);
        return arith::XOrIOp::create(nested, loc, bit,
                                     createInteger(nested, loc, narrow, 1));
      });
}

/// Whether a later update goes to the same place, for each.
Value ScatterBuilder::findShadowed() {
  int64_t count = countPlaces();
  if (count > maxPairs)
    return findShadowedByBits();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (unsigned side = 0; side < 2; ++side)
    for (Value part : places.parts) {
      inputs.push_back(createReshape(builder, loc, part, {count}));
      maps.push_back(AffineMap::get(2, 0, builder.getAffineDimExpr(side)));
    }
  maps.push_back(AffineMap::get(2, 0, builder.getAffineDimExpr(0)));
  Value zeros = createZeros(
      builder, loc, RankedTensorType::get({count}, builder.getI32Type()));
  Value shadowed =
      createGeneric(
          builder, loc, inputs, zeros, maps, 1, 1,
          [&](OpBuilder &nested, Location loc, ValueRange args) {
            unsigned parts = places.parts.size();
            Value same =
                arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt,
                                      linalg::IndexOp::create(nested, loc, 0),
                                      linalg::IndexOp::create(nested, loc, 1));
            for (unsigned i = 0; i < parts; ++i) {
              Value equal =
                  arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq,
                                        args[i], args[parts + i]);
              same = arith::AndIOp::create(nested, loc, same, equal);
            }
            Value bit =
                arith::ExtUIOp::create(nested, loc, nested.getI32Type(), same);
            linalg::YieldOp::create(
                nested, loc,
                arith::MaxSIOp::create(nested, loc, args.back(), bit)
                    .getResult());
          })
          .getResult(0);
  return createReshape(builder, loc, shadowed, places.shape);
}

/// For each place that is written the number of its update and 1, else 0. With
/// `isFine`, updates are elements and not slices.
Value ScatterBuilder::createNumbers(bool isUnique, bool isFine) {
  ArrayRef<int64_t> space =
      isFine ? ArrayRef(updateShape) : ArrayRef(places.shape);
  unsigned loops = space.size();
  SmallVector<unsigned> placeLoops;
  for (unsigned i = 0; i < places.shape.size(); ++i)
    placeLoops.push_back(isFine ? placeDims[i] : i);
  SmallVector<Value> inputs(places.parts);
  if (!isUnique && countPlaces() > 1)
    inputs.push_back(findShadowed());
  SmallVector<AffineMap> maps(inputs.size(), getPlaceMap(loops, placeLoops));
  bool hasShadowed = inputs.size() > places.parts.size();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (isFine || llvm::is_contained(places.dims, dim))
      shape.push_back(type.getDimSize(dim));
  Value zeros = createZeros(builder, loc,
                            RankedTensorType::get(shape, builder.getI64Type()));
  return createSumScatter(
      zeros, inputs, maps, space,
      [&](OpBuilder &nested, ValueRange points, ValueRange elements) {
        auto [place, valid] =
            createPlace(nested, loc, elements.take_front(places.parts.size()));
        if (isFine)
          addWindow(nested, place, points);
        if (hasShadowed) {
          Value isLast = arith::CmpIOp::create(
              nested, loc, arith::CmpIPredicate::eq, elements.back(),
              createInteger(nested, loc, nested.getI32Type(), 0));
          valid = arith::AndIOp::create(nested, loc, valid, isLast);
        }
        Value number = createIndex(nested, loc, 0);
        for (auto [point, size] : llvm::zip(points, space))
          number = arith::AddIOp::create(
              nested, loc,
              arith::MulIOp::create(nested, loc, number,
                                    createIndex(nested, loc, size)),
              point);
        number = arith::AddIOp::create(nested, loc, number,
                                       createIndex(nested, loc, 1));
        number = arith::IndexCastOp::create(nested, loc, nested.getI64Type(),
                                            number);
        number = arith::SelectOp::create(
            nested, loc, valid, number,
            createInteger(nested, loc, nested.getI64Type(), 0));
        SmallVector<Value> yields;
        for (Value index : place)
          if (index)
            yields.push_back(index);
        yields.push_back(number);
        YieldOp::create(nested, loc, yields);
      });
}

/// What each element becomes by the one update that counts for it.
FailureOr<SmallVector<Value>> ScatterBuilder::combine(bool isUnique) {
  bool isFine = hasWindows();
  Value numbers = createNumbers(isUnique, isFine);
  ArrayRef<int64_t> space =
      isFine ? ArrayRef(updateShape) : ArrayRef(places.shape);
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (isFine || llvm::is_contained(places.dims, dim))
      exprs.push_back(builder.getAffineDimExpr(dim));
  SmallVector<AffineMap> maps = {
      AffineMap::get(rank, 0, exprs, builder.getContext())};
  SmallVector<Value> inputs = {numbers};
  llvm::append_range(inputs, operands);
  SmallVector<Value> inits;
  for (Value operand : operands)
    inits.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            getElementTypeOrSelf(operand)));
  maps.append(2 * operands.size(), builder.getMultiDimIdentityMap(rank));
  bool isBuilt = true;
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value zero = createIndex(nested, loc, 0), one = createIndex(nested, loc, 1);
    Value number =
        arith::IndexCastOp::create(nested, loc, nested.getIndexType(), args[0]);
    Value written = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::sgt, number, zero);
    number = arith::SelectOp::create(
        nested, loc, written, arith::SubIOp::create(nested, loc, number, one),
        zero);
    SmallVector<Value> coordinates(updateShape.size());
    for (unsigned i = space.size(); i-- > 0;) {
      Value size = createIndex(nested, loc, space[i]);
      coordinates[isFine ? i : placeDims[i]] =
          i == 0
              ? number
              : arith::RemUIOp::create(nested, loc, number, size).getResult();
      if (i > 0)
        number = arith::DivUIOp::create(nested, loc, number, size);
    }
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!isFine && windowDims[dim] >= 0)
        coordinates[windowDims[dim]] =
            getWindowSize(dim) == 1
                ? zero
                : linalg::IndexOp::create(nested, loc, dim).getResult();
    SmallVector<Value> elements;
    for (Value update : updates)
      elements.push_back(
          tensor::ExtractOp::create(nested, loc, update, coordinates));
    auto combined =
        combineElements(nested, args.slice(1, operands.size()), elements);
    isBuilt = succeeded(combined) && combined->size() == operands.size();
    SmallVector<Value> yields;
    for (unsigned i = 0; i < operands.size(); ++i)
      yields.push_back(isBuilt ? arith::SelectOp::create(nested, loc, written,
                                                         (*combined)[i],
                                                         args[1 + i])
                                     .getResult()
                               : args[1 + i]);
    linalg::YieldOp::create(nested, loc, yields);
  };
  auto generic =
      createGeneric(builder, loc, inputs, inits, maps, rank, 0, body);
  if (!isBuilt)
    return failure();
  return llvm::to_vector_of<Value>(generic.getResults());
}
