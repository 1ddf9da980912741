//===- Jacobi.cpp - rotations of pairs of columns -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jacobi.h"

#include "Sorts.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Sweeps converge quadratically in the end; how many come before that grows
/// with the size and with how different eigenvalues are. These were enough for
/// matrices of 14 decades in f64, and of 8 in f32, also with eigenvalues that
/// are equal, with two to spare.
static constexpr int64_t firstSweeps = 7;

/// What is less than this share of the largest product of two columns waits. As
/// convergence is quadratic in the end, no sweep is lost where it need not.
static constexpr double waitingShare = 1e-3;

/// What is off the diagonal may be this much larger than the type's precision,
/// for each term.
static constexpr double offDiagonalSlack = 64;

Tournament::Tournament(Indexed &math, int64_t count, Type element)
    : math(math), count(count), element(element) {
  assert(count % 2 == 0 && "columns are in pairs");
  int64_t half = count / 2;
  auto from = llvm::to_vector(llvm::seq<int64_t>(0, count));
  // The first one stays, and all others go around.
  for (int64_t place = 1; half > 1 && place < count; ++place)
    from[place] = place == 1           ? half
                  : place < half       ? place - 1
                  : place == count - 1 ? half - 1
                                       : place + 1;
  sources = arith::ConstantOp::create(
      math.builder, math.loc,
      DenseElementsAttr::get(
          RankedTensorType::get({count}, math.builder.getI64Type()),
          ArrayRef(from)));
}

int64_t Tournament::countRounds() const {
  if (count <= 2)
    return 1;
  int64_t doublings = llvm::Log2_64_Ceil(count);
  int64_t sweeps = firstSweeps + (element.isF64() ? 2 : 1) * doublings;
  return sweeps * (count - 1);
}

Rotations Tournament::createRotations(Value first, Value second,
                                      Value products) {
  auto number = [&](OpBuilder &nested, Location loc, double value) {
    return createConstant(nested, loc, element, value);
  };
  // The smaller one of the two angles: tan = sign(z) / (|z| + sqrt(1 + z^2)).
  Value tangents = math.map(
      "bp,bp,bp->bp", {first, second, products},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value zero = number(nested, loc, 0.0), one = number(nested, loc, 1.0);
        Value isZero = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, args[2], zero);
        Value difference = arith::SubFOp::create(nested, loc, args[1], args[0]);
        Value twice = arith::AddFOp::create(nested, loc, args[2], args[2]);
        Value z = arith::DivFOp::create(nested, loc, difference, twice);
        Value size = math::AbsFOp::create(nested, loc, z);
        Value root = math::SqrtOp::create(
            nested, loc,
            arith::AddFOp::create(nested, loc, one,
                                  arith::MulFOp::create(nested, loc, z, z))
                .getResult());
        Value tangent = arith::DivFOp::create(
            nested, loc, one, arith::AddFOp::create(nested, loc, size, root));
        Value isNegative = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OLT, z, zero);
        tangent = arith::SelectOp::create(
            nested, loc, isNegative,
            arith::NegFOp::create(nested, loc, tangent), tangent);
        return arith::SelectOp::create(nested, loc, isZero, zero, tangent);
      });
  Value cosines = math.map(
      "bp->bp", tangents,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value one = number(nested, loc, 1.0);
        Value square = arith::MulFOp::create(nested, loc, args[0], args[0]);
        Value root = math::SqrtOp::create(
            nested, loc,
            arith::AddFOp::create(nested, loc, one, square).getResult());
        return arith::DivFOp::create(nested, loc, one, root);
      });
  return {cosines, math.multiply(tangents, cosines)};
}

Value Tournament::createWorthwhile(Value products, Value sizes, Value largest) {
  return math.map(
      "bp,bp,b->bp", {products, sizes, largest},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value least = arith::MulFOp::create(
            nested, loc, args[2],
            createConstant(nested, loc, element, waitingShare));
        Value waits = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OLT, args[1], least);
        return arith::SelectOp::create(
            nested, loc, waits, createConstant(nested, loc, element, 0.0),
            args[0]);
      });
}

Tournament::Mix Tournament::createMix(OpBuilder &nested, Location loc,
                                      const Rotations &rotations, Value batch,
                                      Value column) {
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(nested, loc, nested.getIndexType(),
                                      value);
  };
  Value half = createIndex(nested, loc, count / 2);
  Value from = toIndex(tensor::ExtractOp::create(nested, loc, sources, column));
  Value isFirst =
      arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult, from, half);
  Value behind = arith::SubIOp::create(nested, loc, from, half),
        ahead = arith::AddIOp::create(nested, loc, from, half);
  Value pair = arith::SelectOp::create(nested, loc, isFirst, from, behind),
        partner = arith::SelectOp::create(nested, loc, isFirst, ahead, behind);
  Value cosine = tensor::ExtractOp::create(nested, loc, rotations.cosines,
                                           ValueRange{batch, pair}),
        sine = tensor::ExtractOp::create(nested, loc, rotations.sines,
                                         ValueRange{batch, pair});
  // The first of a pair loses the other one, and the second gains it.
  Value other = arith::SelectOp::create(
      nested, loc, isFirst, arith::NegFOp::create(nested, loc, sine), sine);
  return {from, partner, cosine, other};
}

static Value createWeighted(OpBuilder &nested, Location loc, Value a, Value x,
                            Value b, Value y) {
  return arith::AddFOp::create(nested, loc,
                               arith::MulFOp::create(nested, loc, a, x),
                               arith::MulFOp::create(nested, loc, b, y));
}

Value Tournament::rotateColumns(Value matrices, const Rotations &rotations) {
  return math.map("bmn->bmn", matrices,
                  [&](OpBuilder &nested, Location loc, ValueRange) -> Value {
                    Value batch = linalg::IndexOp::create(nested, loc, 0),
                          row = linalg::IndexOp::create(nested, loc, 1),
                          column = linalg::IndexOp::create(nested, loc, 2);
                    Mix mix = createMix(nested, loc, rotations, batch, column);
                    auto read = [&](Value from) -> Value {
                      return tensor::ExtractOp::create(
                          nested, loc, matrices, ValueRange{batch, row, from});
                    };
                    return createWeighted(nested, loc, mix.own, read(mix.from),
                                          mix.other, read(mix.partner));
                  });
}

Value Tournament::rotateBoth(Value matrices, const Rotations &rotations) {
  return math.map(
      "bmn->bmn", matrices,
      [&](OpBuilder &nested, Location loc, ValueRange) -> Value {
        Value batch = linalg::IndexOp::create(nested, loc, 0);
        Mix row = createMix(nested, loc, rotations, batch,
                            linalg::IndexOp::create(nested, loc, 1)),
            column = createMix(nested, loc, rotations, batch,
                               linalg::IndexOp::create(nested, loc, 2));
        auto read = [&](Value from) -> Value {
          auto at = [&](Value place) -> Value {
            return tensor::ExtractOp::create(nested, loc, matrices,
                                             ValueRange{batch, from, place});
          };
          return createWeighted(nested, loc, column.own, at(column.from),
                                column.other, at(column.partner));
        };
        return createWeighted(nested, loc, row.own, read(row.from), row.other,
                              read(row.partner));
      });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value foreign::createSortedOrder(Indexed &math, Value keys, bool isDescending) {
  return createOrder(math.builder, math.loc, keys,
                     [&](OpBuilder &nested, Location loc, ArrayRef<Value> a,
                         ArrayRef<Value> b) -> Value {
                       return arith::CmpFOp::create(
                           nested, loc,
                           isDescending ? arith::CmpFPredicate::OGT
                                        : arith::CmpFPredicate::OLT,
                           a[0], b[0]);
                     });
}

Value foreign::createOrdered(Indexed &math, Value values, Value order) {
  return createReadInOrder(math.builder, math.loc, values, order);
}

Value foreign::createOrderedColumns(Indexed &math, Value matrices,
                                    Value order) {
  return math.map(
      "bmn,bn->bmn", {matrices, order},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value batch = linalg::IndexOp::create(nested, loc, 0),
              row = linalg::IndexOp::create(nested, loc, 1);
        Value column = arith::IndexCastOp::create(
            nested, loc, nested.getIndexType(), args[1]);
        return tensor::ExtractOp::create(nested, loc, matrices,
                                         ValueRange{batch, row, column});
      });
}

Value foreign::createLargest(Indexed &math, Value matrices,
                             bool isOffDiagonal) {
  Type element = getElementTypeOrSelf(matrices);
  Value zero = createConstant(math.builder, math.loc, element, 0.0);
  return math.reduce(
      "bmn->b", matrices, zero,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value size = math::AbsFOp::create(nested, loc, args[0]);
        if (isOffDiagonal) {
          Value row = linalg::IndexOp::create(nested, loc, 1),
                column = linalg::IndexOp::create(nested, loc, 2);
          Value isDiagonal = arith::CmpIOp::create(
              nested, loc, arith::CmpIPredicate::eq, row, column);
          size = arith::SelectOp::create(
              nested, loc, isDiagonal,
              createConstant(nested, loc, element, 0.0), size);
        }
        return arith::MaximumFOp::create(nested, loc, args[1], size);
      });
}

Value foreign::createIsDiagonal(Indexed &math, Value matrices,
                                int64_t numTerms) {
  OpBuilder &builder = math.builder;
  Type element = getElementTypeOrSelf(matrices);
  double precision = element.isF64() ? std::numeric_limits<double>::epsilon()
                                     : std::numeric_limits<float>::epsilon();
  double bound = offDiagonalSlack * precision * static_cast<double>(numTerms);
  return math.map(
      "b,b->b",
      {createLargest(math, matrices, /*isOffDiagonal=*/true),
       createLargest(math, matrices, /*isOffDiagonal=*/false)},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value allowed = arith::MulFOp::create(
            nested, loc, args[1], createConstant(nested, loc, element, bound));
        return arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OLE,
                                     args[0], allowed);
      },
      builder.getI1Type());
}

Value foreign::createChecked(Indexed &math, Value values, Value isDone) {
  bool isMatrix = cast<RankedTensorType>(values.getType()).getRank() == 3;
  return math.map(
      isMatrix ? "bmn,b->bmn" : "bn,b->bn", {values, isDone},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value nan = createConstant(nested, loc, args[0].getType(),
                                   std::numeric_limits<double>::quiet_NaN());
        return arith::SelectOp::create(nested, loc, args[1], args[0], nan);
      });
}

Value foreign::createReciprocalGaps(Indexed &math, Value values) {
  return math.map(
      "bi,bj->bij", {values, values},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Type type = args[0].getType();
        Value one = createConstant(nested, loc, type, 1.0),
              zero = createConstant(nested, loc, type, 0.0);
        Value i = linalg::IndexOp::create(nested, loc, 1),
              j = linalg::IndexOp::create(nested, loc, 2);
        Value isDiagonal =
            arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq, i, j);
        Value gap = arith::SelectOp::create(
            nested, loc, isDiagonal, one,
            arith::SubFOp::create(nested, loc, args[1], args[0]));
        return arith::SelectOp::create(
            nested, loc, isDiagonal, zero,
            arith::DivFOp::create(nested, loc, one, gap));
      });
}
