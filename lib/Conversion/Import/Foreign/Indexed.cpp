//===- Indexed.cpp - operations as einsum writes them ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indexed.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

Value Indexed::build(StringRef indices, ValueRange operands, Value start,
                     Type element, ScalarBody body) {
  auto [given, made] = indices.split("->");
  SmallVector<StringRef> terms;
  given.split(terms, ',');
  assert(terms.size() == operands.size() && "indices of each operand");
  std::string letters = made.str();
  for (StringRef term : terms)
    for (char letter : term)
      if (!StringRef(letters).contains(letter))
        letters += letter;
  SmallVector<int64_t> sizes(letters.size(), 1);
  SmallVector<AffineMap> maps;
  auto addMap = [&](StringRef term) {
    SmallVector<AffineExpr> exprs;
    for (char letter : term)
      exprs.push_back(
          builder.getAffineDimExpr(StringRef(letters).find(letter)));
    maps.push_back(
        AffineMap::get(letters.size(), 0, exprs, builder.getContext()));
  };
  for (auto [term, operand] : llvm::zip_equal(terms, operands)) {
    auto shape = cast<RankedTensorType>(operand.getType()).getShape();
    for (auto [letter, size] : llvm::zip_equal(term, shape))
      sizes[StringRef(letters).find(letter)] = size;
    addMap(term);
  }
  addMap(made);
  auto shape = ArrayRef(sizes).take_front(made.size());
  unsigned reduced = letters.size() - made.size();
  assert((reduced == 0 || start) && "a reduction begins with something");
  Value init =
      start ? createFilled(builder, loc, RankedTensorType::get(shape, element),
                           start)
            : tensor::EmptyOp::create(builder, loc, shape, element).getResult();
  return createGeneric(
             builder, loc, operands, init, maps, made.size(), reduced,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               linalg::YieldOp::create(
                   nested, loc,
                   body(nested, loc, start ? args : args.drop_back()));
             })
      .getResult(0);
}

Value Indexed::map(StringRef indices, ValueRange operands, ScalarBody body,
                   Type element) {
  if (!element)
    element = getElementTypeOrSelf(operands[0]);
  return build(indices, operands, {}, element, body);
}

Value Indexed::reduce(StringRef indices, ValueRange operands, Value start,
                      ScalarBody body) {
  return build(indices, operands, start, start.getType(), body);
}

Value Indexed::contract(StringRef indices, Value a, Value b) {
  Value zero = createConstant(builder, loc, getElementTypeOrSelf(a), 0.0);
  return reduce(indices, {a, b}, zero,
                [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
                  Value product =
                      arith::MulFOp::create(nested, loc, args[0], args[1]);
                  return arith::AddFOp::create(nested, loc, args[2], product);
                });
}

Value Indexed::sum(StringRef indices, Value a) {
  Value zero = createConstant(builder, loc, getElementTypeOrSelf(a), 0.0);
  return reduce(indices, a, zero,
                [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
                  return arith::AddFOp::create(nested, loc, args[1], args[0]);
                });
}

Value Indexed::add(Value a, Value b) {
  return createElementwise(
      builder, loc, {a, b}, cast<RankedTensorType>(a.getType()),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::AddFOp::create(nested, loc, args[0], args[1]);
      });
}

Value Indexed::subtract(Value a, Value b) {
  return createElementwise(
      builder, loc, {a, b}, cast<RankedTensorType>(a.getType()),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::SubFOp::create(nested, loc, args[0], args[1]);
      });
}

Value Indexed::multiply(Value a, Value b) {
  return createElementwise(
      builder, loc, {a, b}, cast<RankedTensorType>(a.getType()),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MulFOp::create(nested, loc, args[0], args[1]);
      });
}

Value Indexed::scale(Value a, double factor) {
  return createElementwise(
      builder, loc, a, cast<RankedTensorType>(a.getType()),
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MulFOp::create(
            nested, loc, args[0],
            createConstant(nested, loc, args[0].getType(), factor));
      });
}
