//===- RematRules.cpp - derivatives of remat's operations -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace remat;

namespace {

struct TagModel : DifferentiableOpInterface::ExternalModel<TagModel, TagOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    context.accumulate(op->getOperand(0), context.cotangent(op->getResult(0)));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    context.addTangent(op->getResult(0), context.tangent(op->getOperand(0)));
    return success();
  }
};

struct StopGradientModel
    : DifferentiableOpInterface::ExternalModel<StopGradientModel,
                                               StopGradientOp> {
  bool blocksDerivative(Operation *) const { return true; }
  LogicalResult emitVJP(Operation *, ReverseContext &) const {
    return success();
  }
  LogicalResult emitJVP(Operation *, ForwardContext &) const {
    return success();
  }
};

struct ScatterModel
    : DifferentiableOpInterface::ExternalModel<ScatterModel, ScatterOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    return emitStructuredVJP(cast<ScatterOp>(op), context);
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    return emitStructuredJVP(cast<ScatterOp>(op), context);
  }
};

/// The derivative of the trilinear form by one factor, given the two others.
struct ConvModel : DifferentiableOpInterface::ExternalModel<ConvModel, ConvOp> {
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

void remat::registerRematRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RematDialect *) {
    TagOp::attachInterface<TagModel>(*context);
    StopGradientOp::attachInterface<StopGradientModel>(*context);
    ScatterOp::attachInterface<ScatterModel>(*context);
    ConvOp::attachInterface<ConvModel>(*context);
  });
}
