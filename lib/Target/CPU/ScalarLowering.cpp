//===- ScalarLowering.cpp - loops and scalars to the LLVM dialect ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's conversions in the order that emitted kernels need. Functions of
// f32 become polynomials that LLVM vectorizes (error about 1e-7 relative);
// those of f64 stay calls of libm.
//
//===----------------------------------------------------------------------===//

#include "ScalarLowering.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

/// Functions that have a polynomial of sufficient accuracy. Not rsqrt, whose
/// approximation is an estimate, nor atan (error 2e-6), nor pow, which would go
/// through log.
static bool hasPolynomial(StringRef name) {
  static const StringRef names[] = {
      math::TanhOp::getOperationName(),  math::ExpOp::getOperationName(),
      math::ErfOp::getOperationName(),   math::ErfcOp::getOperationName(),
      math::LogOp::getOperationName(),   math::Log2Op::getOperationName(),
      math::Log1pOp::getOperationName(), math::ExpM1Op::getOperationName(),
      math::SinOp::getOperationName(),   math::CosOp::getOperationName()};
  return llvm::is_contained(names, name);
}

/// At least `min` and then at most `max`. Upstream's expansion takes the
/// bounds for each other.
static LogicalResult expandClamp(math::ClampFOp op, PatternRewriter &rewriter) {
  Value low = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                        op.getMin());
  rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, low, op.getMax());
  return success();
}

/// A power whose exponent is computed: by the C library, in f64, which has all
/// exponents of 32 bits. LLVM has code for constant ones only, and calls a
/// function of compiler-rt for others.
static LogicalResult expandPower(math::FPowIOp op, PatternRewriter &rewriter) {
  if (matchPattern(op.getRhs(), m_Constant()))
    return failure();
  Location loc = op.getLoc();
  Type type = op.getType(), wide = rewriter.getF64Type();
  Value base = op.getLhs();
  if (type != wide)
    base = arith::ExtFOp::create(rewriter, loc, wide, base);
  Value exponent = arith::SIToFPOp::create(rewriter, loc, wide, op.getRhs());
  Value power = math::PowFOp::create(rewriter, loc, base, exponent);
  if (type != wide)
    power = arith::TruncFOp::create(rewriter, loc, type, power);
  rewriter.replaceOp(op, power);
  return success();
}

/// In a kernel that is not for a copy.
static LogicalResult lowerCopyNumber(CopyNumberOp op,
                                     PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op,
                                                 rewriter.getI32IntegerAttr(0));
  return success();
}

static LogicalResult lowerMath(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  // Not all of arith-expand: LLVM vectorizes maximumf as it is.
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  patterns.add(expandClamp);
  patterns.add(expandPower);
  patterns.add(lowerCopyNumber);
  populateMathF32ExpansionPatterns(patterns, hasPolynomial);
  populateMathPolynomialApproximationPatterns(patterns, hasPolynomial);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Upstream's extension of functions to f32 allows a result that is rounded and
/// read in f32 again to stay as it is. Then it would matter which operations
/// share a kernel.
static void keepRounding(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto truncation = dyn_cast<arith::TruncFOp>(op))
      truncation.setFastmath(arith::FastMathFlags::none);
    else if (auto extension = dyn_cast<arith::ExtFOp>(op))
      extension.setFastmath(arith::FastMathFlags::none);
  });
}

LogicalResult remat::cpu::lowerScalars(ModuleOp module) {
  PassManager first(module.getContext());
  first.addPass(createConvertComplexToStandardPass());
  first.addNestedPass<func::FuncOp>(math::createMathExtendToSupportedTypes());
  if (failed(first.run(module)))
    return failure();
  keepRounding(module);
  if (failed(lowerMath(module)))
    return failure();
  PassManager manager(module.getContext());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(funcOptions));
  manager.addPass(createConvertComplexToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCSEPass());
  return manager.run(module);
}
