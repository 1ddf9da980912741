//===- Interface.cpp - what derivative rules share ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/DifferentiableOpInterface.h"

#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/SetVector.h"

#include "Emit.h"
#include "Idioms.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

#include "remat/AutoDiff/DifferentiableOpInterface.cpp.inc"

bool remat::isDifferentiableType(Type type) {
  return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
}

SmallVector<Value> remat::getDependencies(Operation *op) {
  // No derivative goes through what computes the values of a custom rule.
  if (auto rule = dyn_cast<CustomRuleOp>(op))
    return rule.getInputs();
  if (auto hook = dyn_cast<GradientHookOp>(op))
    return hook.getValues();
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

void ReverseContext::accumulateSlice(Value forward, Value term,
                                     ArrayRef<int64_t> offsets,
                                     ArrayRef<int64_t> sizes,
                                     ArrayRef<int64_t> strides) {
  if (!isActive(forward) || !term)
    return;
  Value zeros = createZeros(getBuilder(), getLoc(),
                            cast<RankedTensorType>(forward.getType()));
  accumulate(forward, createInsertSlice(getBuilder(), getLoc(), term, zeros,
                                        offsets, sizes, strides));
}

void ForwardContext::addTangent(Value forward, Value term) {
  if (!term || !isActive(forward))
    return;
  Value known = tangent(forward);
  setTangent(forward,
             known ? createSum(getBuilder(), getLoc(), known, term) : term);
}

Value ForwardContext::tangentOrZero(Value forward) {
  if (!isDifferentiableType(forward.getType()))
    return nullptr;
  if (Value known = tangent(forward))
    return known;
  if (auto type = dyn_cast<RankedTensorType>(forward.getType()))
    return createZeros(getBuilder(), getLoc(), type);
  return createZeroConstant(getBuilder(), getLoc(), forward.getType());
}

namespace {
/// Takes down what a rule asks for and drops what it emits.
class ProbeContext : public ReverseContext {
public:
  ProbeContext(OpBuilder &builder, Block &scratch, const Activity &activity)
      : DerivativeContext(builder), scratch(scratch), activity(activity) {}

  bool isActive(Value value) const override { return activity.isActive(value); }
  Value primal(Value forward) override {
    needed.insert(forward);
    return forward;
  }
  Value cotangent(Value forward) override {
    if (!isActive(forward))
      return nullptr;
    Value &value = cotangents[forward];
    if (!value)
      value = scratch.addArgument(forward.getType(), forward.getLoc());
    return value;
  }
  void accumulate(Value, Value) override {}
  void accumulateSlice(Value, Value, ArrayRef<int64_t>, ArrayRef<int64_t>,
                       ArrayRef<int64_t>) override {}

  SetVector<Value> needed;

private:
  Block &scratch;
  const Activity &activity;
  DenseMap<Value, Value> cotangents;
};
} // namespace

SmallVector<Value> remat::probeNeededPrimals(Operation *op,
                                             const Activity &activity) {
  Block scratch;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  ProbeContext context(builder, scratch, activity);
  context.setLoc(op->getLoc());
  IdiomLog idioms;
  context.setIdiomLog(&idioms);
  // A rule that fails has said why; then nothing is needed.
  if (failed(emitDerivative(op, context)))
    return {};
  return context.needed.takeVector();
}
