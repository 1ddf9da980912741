//===- LinalgRules.cpp - derivatives of linalg operations -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include "Emit.h"
#include "Rules.h"
#include "remat/AutoDiff/AutoDiff.h"

using namespace mlir;
using namespace remat;

namespace {

/// Every structured operation: a contraction or the general rule.
template <typename OpT>
struct StructuredModel : DerivativeRule<StructuredModel<OpT>, OpT> {
  bool resultVaries(Operation *op, OpResult result,
                    const Activity &activity) const {
    return structuredResultVaries(cast<linalg::LinalgOp>(op), result, activity);
  }
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (!hasContractRule(structured))
      return emitStructuredVJP(structured, context);
    emitContractVJP(structured, context);
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (!hasContractRule(structured))
      return emitStructuredJVP(structured, context);
    emitContractJVP(structured, context);
    return success();
  }
};

Value createTranspose(DerivativeContext &context, Value tensor,
                      RankedTensorType type, ArrayRef<int64_t> permutation) {
  OpBuilder &builder = context.getBuilder();
  Value empty = tensor::EmptyOp::create(builder, context.getLoc(),
                                        type.getShape(), type.getElementType());
  return linalg::TransposeOp::create(builder, context.getLoc(), tensor, empty,
                                     permutation)
      ->getResult(0);
}

/// A transpose goes back by the inverse permutation.
struct TransposeModel : DerivativeRule<TransposeModel, linalg::TransposeOp> {
  LogicalResult emitVJP(Operation *op, ReverseContext &context) const {
    auto transpose = cast<linalg::TransposeOp>(op);
    Value input = transpose.getInput();
    if (Value cotangent = context.cotangent(op->getResult(0)))
      context.accumulate(
          input,
          createTranspose(context, cotangent,
                          cast<RankedTensorType>(input.getType()),
                          invertPermutationVector(transpose.getPermutation())));
    return success();
  }
  LogicalResult emitJVP(Operation *op, ForwardContext &context) const {
    auto transpose = cast<linalg::TransposeOp>(op);
    Value result = op->getResult(0);
    if (Value tangent = context.tangent(transpose.getInput()))
      context.addTangent(
          result, createTranspose(context, tangent,
                                  cast<RankedTensorType>(result.getType()),
                                  transpose.getPermutation()));
    return success();
  }
};

} // namespace

template <typename... Ops>
static void attachStructured(MLIRContext *context) {
  attachRules<StructuredModel<Ops>...>(context);
}

void remat::registerLinalgRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachRules<TransposeModel>(context);
    attachStructured<
        linalg::AbsOp, linalg::AddOp, linalg::BatchMatmulOp,
        linalg::BatchMatvecOp, linalg::BatchReduceMatmulOp,
        linalg::BatchVecmatOp, linalg::BroadcastOp, linalg::CeilOp,
        linalg::ContractOp, linalg::Conv1DNcwFcwOp, linalg::Conv1DNwcWcfOp,
        linalg::Conv1DOp, linalg::Conv2DNchwFchwOp, linalg::Conv2DNgchwFgchwOp,
        linalg::Conv2DNgchwGfchwOp, linalg::Conv2DNhwcFhwcOp,
        linalg::Conv2DNhwcHwcfOp, linalg::Conv2DNhwgcGfhwcOp, linalg::Conv2DOp,
        linalg::Conv3DNcdhwFcdhwOp, linalg::Conv3DNdhwcDhwcfOp,
        linalg::Conv3DOp, linalg::CopyOp, linalg::DepthwiseConv1DNcwCwOp,
        linalg::DepthwiseConv1DNwcWcOp, linalg::DepthwiseConv1DNwcWcmOp,
        linalg::DepthwiseConv2DNchwChwOp, linalg::DepthwiseConv2DNhwcHwcOp,
        linalg::DepthwiseConv2DNhwcHwcmOp, linalg::DepthwiseConv3DNcdhwCdhwOp,
        linalg::DepthwiseConv3DNdhwcDhwcOp, linalg::DepthwiseConv3DNdhwcDhwcmOp,
        linalg::DivOp, linalg::DotOp, linalg::ElementwiseOp, linalg::ErfOp,
        linalg::ExpOp, linalg::FillOp, linalg::FloorOp, linalg::GenericOp,
        linalg::LogOp, linalg::MapOp, linalg::MatmulOp, linalg::MatvecOp,
        linalg::MaxOp, linalg::MinOp, linalg::Mmt4DOp, linalg::BatchMmt4DOp,
        linalg::MulOp, linalg::NegFOp, linalg::PoolingNchwMaxOp,
        linalg::PoolingNchwSumOp, linalg::PoolingNcwMaxOp,
        linalg::PoolingNcwSumOp, linalg::PoolingNdhwcMaxOp,
        linalg::PoolingNdhwcMinOp, linalg::PoolingNdhwcSumOp,
        linalg::PoolingNhwcMaxOp, linalg::PoolingNhwcMinOp,
        linalg::PoolingNhwcSumOp, linalg::PoolingNwcMaxOp,
        linalg::PoolingNwcMinOp, linalg::PoolingNwcSumOp, linalg::PowFOp,
        linalg::ReciprocalOp, linalg::ReduceOp, linalg::RoundOp,
        linalg::RsqrtOp, linalg::SelectOp, linalg::SqrtOp, linalg::SquareOp,
        linalg::SubOp, linalg::TanhOp, linalg::VecmatOp>(context);
  });
}

void remat::registerAutoDiffModels(DialectRegistry &registry) {
  registerScalarRules(registry);
  registerComplexRules(registry);
  registerLinalgRules(registry);
  registerTensorRules(registry);
  registerRematRules(registry);
  registerLoopRule(registry);
}
