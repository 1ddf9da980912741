//===- OptimizerTensors.cpp - operations of updates -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerTensors.h"

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace remat;

AffineMap OptimizerLoops::getMap(std::optional<unsigned> omitted) const {
  AffineMap map = builder.getMultiDimIdentityMap(getRank());
  return omitted ? map.dropResult(*omitted) : map;
}

SmallVector<Value> OptimizerLoops::createOp(ArrayRef<OptimizerOperand> inputs,
                                            ArrayRef<Value> inits,
                                            AffineMap initMap,
                                            Body body) const {
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const OptimizerOperand &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(input.map);
  }
  maps.append(inits.size(), initMap);
  SmallVector<utils::IteratorType> iterators;
  for (unsigned dim = 0; dim < getRank(); ++dim)
    iterators.push_back(initMap.isFunctionOfDim(dim)
                            ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction);
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange(ValueRange(inits)), tensors, inits, maps,
      iterators, [&](OpBuilder &nested, Location loc, ValueRange elements) {
        SmallVector<OptimizerScalar> scalars;
        for (Value element : elements)
          scalars.push_back({&nested, element});
        SmallVector<Value> results;
        for (OptimizerScalar result : body(scalars))
          results.push_back(result.value);
        linalg::YieldOp::create(nested, loc, results);
      });
  return llvm::to_vector_of<Value>(generic.getResults());
}

SmallVector<Value> OptimizerLoops::map(ArrayRef<OptimizerOperand> inputs,
                                       ArrayRef<Type> elements,
                                       Body body) const {
  SmallVector<Value> inits;
  for (Type element : elements)
    inits.push_back(tensor::EmptyOp::create(builder, loc, shape, element));
  return createOp(inputs, inits, getMap(), body);
}

Value OptimizerLoops::sum(ArrayRef<OptimizerOperand> inputs, AffineMap kept,
                          Type element, Term term) const {
  SmallVector<int64_t> sizes = kept.compose(shape);
  Value zeros =
      createZeros(builder, loc, RankedTensorType::get(sizes, element));
  return createOp(inputs, zeros, kept,
                  [&](ArrayRef<OptimizerScalar> elements)
                      -> SmallVector<OptimizerScalar> {
                    return {elements.back() + term(elements.drop_back())};
                  })
      .front();
}

OptimizerScalar remat::convertNumber(OptimizerScalar number, Type element) {
  Type from = getElementTypeOrSelf(number.value);
  if (from == element || !isa<FloatType>(from))
    return number;
  Type type = element;
  if (isa<RankedTensorType>(number.value.getType()))
    type = RankedTensorType::get({}, element);
  OpBuilder &builder = *number.builder;
  Location loc = number.value.getLoc();
  bool isWider = from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth();
  if (isWider)
    return {&builder, arith::ExtFOp::create(builder, loc, type, number.value)};
  return {&builder, arith::TruncFOp::create(builder, loc, type, number.value)};
}
