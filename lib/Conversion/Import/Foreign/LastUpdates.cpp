//===- LastUpdates.cpp - the one update that counts for an element --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where updates overwrite each other, the last one of a place counts: the one
// with the greatest number. Each element then reads the update of this number.
//
//===----------------------------------------------------------------------===//

#include "Scatters.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// For each place that is written the number of its update and 1, else 0. With
/// `isFine`, updates are elements and not slices.
Value ScatterBuilder::createNumbers(bool isFine) {
  ArrayRef<int64_t> space =
      isFine ? ArrayRef(updateShape) : ArrayRef(places.shape);
  unsigned loops = space.size();
  SmallVector<unsigned> placeLoops;
  for (unsigned i = 0; i < places.shape.size(); ++i)
    placeLoops.push_back(isFine ? placeDims[i] : i);
  SmallVector<AffineMap> maps(places.parts.size(),
                              getPlaceMap(loops, placeLoops));
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (isFine || llvm::is_contained(places.dims, dim))
      shape.push_back(type.getDimSize(dim));
  Value zeros = createZeros(builder, loc,
                            RankedTensorType::get(shape, builder.getI64Type()));
  return createScatter(
      zeros, places.parts, maps, space,
      [&](OpBuilder &nested, ValueRange points, ValueRange elements) {
        auto [place, valid] = createPlace(nested, loc, elements);
        if (isFine)
          addWindow(nested, place, points);
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
      },
      /*isMaximum=*/true);
}

/// What each element becomes by the one update that counts for it.
FailureOr<SmallVector<Value>> ScatterBuilder::combine() {
  bool isFine = hasWindows();
  Value numbers = createNumbers(isFine);
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
