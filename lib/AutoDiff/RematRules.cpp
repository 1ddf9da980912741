//===- RematRules.cpp - derivatives of remat's operations -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

#include "Emit.h"
#include "Rules.h"

using namespace mlir;
using namespace remat;

namespace {

struct TagModel : DerivativeRule<TagModel, TagOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    context.accumulate(op->getOperand(0), context.cotangent(op->getResult(0)));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    context.addTangent(op->getResult(0), context.tangent(op->getOperand(0)));
    return success();
  }
};

struct StackModel : DerivativeRule<StackModel, StackOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    Value cotangent = context.cotangent(op->getResult(0));
    if (!cotangent)
      return success();
    auto elements = UnstackOp::create(context.getBuilder(), context.getLoc(),
                                      op->getOperandTypes(), cotangent);
    for (auto [operand, element] :
         llvm::zip(op->getOperands(), elements.getResults()))
      if (context.isActive(operand))
        context.accumulate(operand, element);
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    SmallVector<Value> tangents;
    for (Value operand : op->getOperands())
      tangents.push_back(context.tangentOrZero(operand));
    context.addTangent(op->getResult(0),
                       StackOp::create(context.getBuilder(), context.getLoc(),
                                       op->getResult(0).getType(), tangents));
    return success();
  }
};

struct ScatterModel : DerivativeRule<ScatterModel, ScatterOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    return emitStructuredVJP(cast<ScatterOp>(op), context);
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    return emitStructuredJVP(cast<ScatterOp>(op), context);
  }
};

/// Clones the operations of a derivative region with `arguments`, and returns
/// what it yields. What it uses of the forward computation comes from
/// `context`.
SmallVector<Value> emitRegion(Region &region, ValueRange arguments,
                              DerivativeContext &context) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(region, captured);
  for (Value value : captured)
    mapping.map(value, context.primal(value));
  Block &block = region.front();
  for (Operation &op : block.without_terminator())
    context.getBuilder().clone(op, mapping)->setLoc(context.getLoc());
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}

SmallVector<Value> getDifferentiable(ValueRange values) {
  return llvm::filter_to_vector(values, [](Value value) {
    return isDifferentiableType(value.getType());
  });
}

/// The cotangents of `values`, or zeros; none if all are zero.
SmallVector<Value> getCotangents(ValueRange values, ReverseContext &context) {
  SmallVector<Value> cotangents;
  bool any = false;
  for (Value value : values) {
    Value cotangent = context.cotangent(value);
    any |= cotangent != nullptr;
    if (!cotangent)
      cotangent = createZeros(context.getBuilder(), context.getLoc(),
                              cast<RankedTensorType>(value.getType()));
    cotangents.push_back(cotangent);
  }
  return any ? cotangents : SmallVector<Value>();
}

struct UnstackModel : DerivativeRule<UnstackModel, UnstackOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    SmallVector<Value> cotangents = getCotangents(op->getResults(), context);
    if (!cotangents.empty())
      context.accumulate(op->getOperand(0),
                         StackOp::create(context.getBuilder(), context.getLoc(),
                                         op->getOperand(0).getType(),
                                         cotangents));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    Value tangent = context.tangent(op->getOperand(0));
    auto elements = UnstackOp::create(context.getBuilder(), context.getLoc(),
                                      op->getResultTypes(), tangent);
    for (auto [result, element] :
         llvm::zip(op->getResults(), elements.getResults()))
      context.addTangent(result, element);
    return success();
  }
};

/// The rule is in the program.
struct CustomRuleModel : DerivativeRule<CustomRuleModel, CustomRuleOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    auto rule = cast<CustomRuleOp>(op);
    if (rule.getVjp().empty())
      return rule.emitOpError("has no region 'vjp' for reverse mode");
    SmallVector<Value> inputs = getDifferentiable(rule.getInputs());
    SmallVector<Value> cotangents =
        getCotangents(getDifferentiable(rule.getResults()), context);
    if (cotangents.empty())
      return success();
    SmallVector<Value> terms = emitRegion(rule.getVjp(), cotangents, context);
    for (auto [input, term] : llvm::zip_equal(inputs, terms))
      context.accumulate(input, term);
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto rule = cast<CustomRuleOp>(op);
    if (rule.getJvp().empty())
      return emitTransposedVJP(op, context);
    SmallVector<Value> tangents;
    for (Value input : getDifferentiable(rule.getInputs()))
      tangents.push_back(context.tangentOrZero(input));
    SmallVector<Value> terms = emitRegion(rule.getJvp(), tangents, context);
    for (auto [result, term] :
         llvm::zip_equal(getDifferentiable(rule.getResults()), terms))
      context.addTangent(result, term);
    return success();
  }
};

/// Gradients pass through the region once all are known.
struct GradientHookModel : DerivativeRule<GradientHookModel, GradientHookOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    auto hook = cast<GradientHookOp>(op);
    SmallVector<Value> cotangents = getCotangents(hook.getResults(), context);
    if (cotangents.empty())
      return success();
    // One that waits until all is added is applied by who adds.
    SmallVector<Value> terms = hook.getAccumulated()
                                   ? cotangents
                                   : emitHook(hook, cotangents, context);
    for (auto [value, term] : llvm::zip_equal(hook.getValues(), terms))
      context.accumulate(value, term);
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto hook = cast<GradientHookOp>(op);
    for (auto [value, result] :
         llvm::zip_equal(hook.getValues(), hook.getResults()))
      context.addTangent(result, context.tangent(value));
    return success();
  }
};

/// The derivative of the trilinear form by one factor, given the two others.
struct ConvModel : DerivativeRule<ConvModel, ConvOp> {
  enum Factor { Input, Filter, Output };

  /// The two operands of a kind, in order, and its result.
  static std::array<Factor, 3> getFactors(ConvKind kind) {
    switch (kind) {
    case ConvKind::Forward:
      return {Input, Filter, Output};
    case ConvKind::InputGrad:
      return {Output, Filter, Input};
    case ConvKind::FilterGrad:
      return {Input, Output, Filter};
    }
    llvm_unreachable("unknown convolution kind");
  }

  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    auto conv = cast<ConvOp>(op);
    Value cotangent = context.cotangent(conv.getResult());
    if (!cotangent)
      return success();
    std::array<Factor, 3> factors = getFactors(conv.getKind());
    for (unsigned number : {0, 1}) {
      Value operand = op->getOperand(number);
      if (!context.isActive(operand))
        continue;
      // The other operand and the cotangent take their places in the kind
      // that computes this factor.
      for (ConvKind kind :
           {ConvKind::Forward, ConvKind::InputGrad, ConvKind::FilterGrad}) {
        std::array<Factor, 3> wanted = getFactors(kind);
        if (wanted[2] != factors[number])
          continue;
        Value other = context.primal(op->getOperand(1 - number));
        bool otherFirst = wanted[0] == factors[1 - number];
        context.accumulate(operand,
                           emit(conv, kind, otherFirst ? other : cotangent,
                                otherFirst ? cotangent : other,
                                operand.getType(), context));
      }
    }
    return success();
  }

  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto conv = cast<ConvOp>(op);
    for (unsigned number : {0, 1}) {
      Value tangent = context.tangent(op->getOperand(number));
      if (!tangent)
        continue;
      Value other = context.primal(op->getOperand(1 - number));
      context.addTangent(conv.getResult(),
                         emit(conv, conv.getKind(),
                              number == 0 ? tangent : other,
                              number == 0 ? other : tangent,
                              conv.getResult().getType(), context));
    }
    return success();
  }

  static Value emit(ConvOp conv, ConvKind kind, Value lhs, Value rhs, Type type,
                    DerivativeContext &context) {
    return ConvOp::create(context.getBuilder(), context.getLoc(), type, kind,
                          lhs, rhs, conv.getStrides(), conv.getDilations(),
                          conv.getPadding(), conv.getGroups(),
                          conv.getInputLayout(), conv.getFilterLayout(),
                          conv.getOutputLayout());
  }
};

} // namespace

SmallVector<Value> remat::emitHook(GradientHookOp hook, ValueRange gradients,
                                   DerivativeContext &context) {
  return emitRegion(hook.getBody(), gradients, context);
}

void remat::registerRematRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    attachRules<TagModel, ConstantRule<StopGradientOp>, StackModel,
                UnstackModel, ScatterModel, CustomRuleModel, GradientHookModel,
                ConstantRule<RandomOp>, ConvModel>(context);
  });
}
