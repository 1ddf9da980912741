//===- Reduction.cpp - outputs that a nest adds up ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/Reduction.h"

#include "remat/Utils/ReductionOrder.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

Block::BlockArgListType
remat::codegen::getOutputArguments(const LoopNest &nest) {
  return nest.body->getArguments().drop_front(nest.inputs.size());
}

SmallVector<Accumulator>
remat::codegen::findAccumulators(const LoopNest &nest) {
  SmallVector<Accumulator> accumulators;
  int64_t length = 1;
  bool reduces = false;
  for (const Loop &loop : nest.loops)
    if (loop.isReduction) {
      length *= loop.size;
      reduces |= !loop.isOpen();
    }
  if (nest.sequential || !reduces)
    return accumulators;
  for (auto [number, access] : llvm::enumerate(nest.outputs)) {
    bool invariant = true;
    for (auto [loop, coefficient] : llvm::zip(nest.loops, access.coefficients))
      invariant = invariant && (!loop.isReduction || coefficient == 0);
    if (!invariant)
      continue;
    Accumulator accumulator{
        static_cast<unsigned>(number),
        findCombiner(*nest.body, getOutputArguments(nest)[number], number),
        access.elementType, Value()};
    auto type = dyn_cast<FloatType>(access.elementType);
    if (type && isa_and_nonnull<arith::AddFOp>(accumulator.combiner)) {
      MLIRContext *context = type.getContext();
      if (length >= longSum && type.getWidth() <= 32)
        accumulator.type = Float64Type::get(context);
      else if (type.getWidth() < 32)
        accumulator.type = Float32Type::get(context);
    }
    accumulators.push_back(accumulator);
  }
  return accumulators;
}

Value remat::codegen::convertFloat(OpBuilder &builder, Location loc,
                                   Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value remat::codegen::emitTerm(OpBuilder &builder, const LoopNest &nest,
                               BodyEmitter &body,
                               const Accumulator &accumulator) {
  Operation *combiner = accumulator.combiner;
  Value argument = getOutputArguments(nest)[accumulator.output];
  unsigned other = combiner->getOperand(0) == argument ? 1 : 0;
  return convertFloat(builder, combiner->getLoc(),
                      body.lookup(combiner->getOperand(other)),
                      accumulator.type);
}

Value remat::codegen::emitCombination(OpBuilder &builder, const LoopNest &nest,
                                      const Accumulator &accumulator, Value old,
                                      Value term, arith::FastMathFlags flags) {
  Operation *combiner = accumulator.combiner;
  Location loc = combiner->getLoc();
  if (isa<arith::AddFOp>(combiner))
    return arith::AddFOp::create(builder, loc, old, term, flags);
  if (isa<arith::MulFOp>(combiner))
    return arith::MulFOp::create(builder, loc, old, term, flags);
  Value argument = getOutputArguments(nest)[accumulator.output];
  unsigned other = combiner->getOperand(0) == argument ? 1 : 0;
  IRMapping mapping;
  mapping.map(argument, old);
  mapping.map(combiner->getOperand(other), term);
  return builder.clone(*combiner, mapping)->getResult(0);
}

void remat::codegen::requireResults(BodyEmitter &body, const LoopNest &nest,
                                    ArrayRef<Accumulator> accumulators) {
  for (auto [number, value] :
       llvm::enumerate(nest.body->getTerminator()->getOperands())) {
    const Accumulator *found = nullptr;
    for (const Accumulator &accumulator : accumulators)
      if (accumulator.output == number)
        found = &accumulator;
    if (!found || !found->combiner) {
      body.require(value);
      continue;
    }
    body.skip(found->combiner);
    for (Value operand : found->combiner->getOperands())
      if (operand != getOutputArguments(nest)[number])
        body.require(operand);
  }
}
