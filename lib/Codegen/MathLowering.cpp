//===- MathLowering.cpp - functions of floats as arithmetic ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/MathLowering.h"

#include "MathExpansions.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

/// Functions that have a polynomial of sufficient accuracy upstream. Not rsqrt,
/// whose approximation is an estimate, nor atan (error 2e-6), nor pow, which
/// would go through log, nor sin and cos, whose arguments are reduced in f32.
static bool hasPolynomial(StringRef name) {
  static const StringRef names[] = {
      math::TanhOp::getOperationName(),  math::ExpOp::getOperationName(),
      math::ErfOp::getOperationName(),   math::ErfcOp::getOperationName(),
      math::LogOp::getOperationName(),   math::Log2Op::getOperationName(),
      math::Log1pOp::getOperationName(), math::ExpM1Op::getOperationName()};
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

/// Whether the absolute value of `number` is in such a relation to `limit`.
static Value compareSize(OpBuilder &builder, Location loc,
                         arith::CmpFPredicate relation, Value number,
                         const APFloat &limit) {
  Value size = math::AbsFOp::create(builder, loc, number);
  Value bound = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(number.getType(), limit));
  return arith::CmpFOp::create(builder, loc, relation, size, bound);
}

static LogicalResult expandIsInf(math::IsInfOp op, PatternRewriter &rewriter) {
  Value number = op.getOperand();
  auto type = cast<FloatType>(number.getType());
  rewriter.replaceOp(
      op, compareSize(rewriter, op.getLoc(), arith::CmpFPredicate::OEQ, number,
                      APFloat::getInf(type.getFloatSemantics())));
  return success();
}

static LogicalResult expandIsNormal(math::IsNormalOp op,
                                    PatternRewriter &rewriter) {
  Value number = op.getOperand();
  auto type = cast<FloatType>(number.getType());
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  Value isLarge =
      compareSize(rewriter, op.getLoc(), arith::CmpFPredicate::OGE, number,
                  APFloat::getSmallestNormalized(semantics));
  Value isFinite = compareSize(rewriter, op.getLoc(), arith::CmpFPredicate::OLT,
                               number, APFloat::getInf(semantics));
  rewriter.replaceOpWithNewOp<arith::AndIOp>(op, isLarge, isFinite);
  return success();
}

/// Any value is one that a program leaves open, such as of a shift by more bits
/// than there are.
static LogicalResult choosePoison(ub::PoisonOp op, PatternRewriter &rewriter) {
  TypedAttr zero = rewriter.getZeroAttr(op.getType());
  if (!zero)
    return failure();
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, zero);
  return success();
}

/// In a kernel that is not for a copy.
static LogicalResult lowerCopyNumber(CopyNumberOp op,
                                     PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op,
                                                 rewriter.getI32IntegerAttr(0));
  return success();
}

static LogicalResult
expandFunctions(Operation *module,
                function_ref<void(RewritePatternSet &)> populate) {
  MLIRContext *context = module->getContext();
  RewritePatternSet patterns(context);
  if (populate)
    populate(patterns);
  // Not all of arith-expand: LLVM vectorizes maximumf as it is.
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  patterns.add(expandClamp);
  patterns.add(expandPower);
  patterns.add(expandIsInf);
  patterns.add(expandIsNormal);
  patterns.add(choosePoison);
  patterns.add(lowerCopyNumber);
  codegen::populateTrigonometricExpansionPatterns(patterns);
  codegen::populateInverseTrigonometricExpansionPatterns(patterns);
  codegen::populateExponentialExpansionPatterns(patterns);
  codegen::populateHyperbolicExpansionPatterns(patterns);
  codegen::populatePowerExpansionPatterns(patterns);
  codegen::populateRemainderExpansionPatterns(patterns);
  codegen::populateDoubleExpansionPatterns(patterns);
  codegen::populateSmallArgumentExpansionPatterns(patterns);
  populateMathF32ExpansionPatterns(patterns, hasPolynomial);
  populateMathPolynomialApproximationPatterns(patterns, hasPolynomial);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Upstream's extension of functions to f32 allows a result that is rounded and
/// read in f32 again to stay as it is. Then it would matter which operations
/// share a kernel.
static void keepRounding(Operation *module) {
  module->walk([](Operation *op) {
    if (auto truncation = dyn_cast<arith::TruncFOp>(op))
      truncation.setFastmath(arith::FastMathFlags::none);
    else if (auto extension = dyn_cast<arith::ExtFOp>(op))
      extension.setFastmath(arith::FastMathFlags::none);
  });
}

/// A number, or a part of a complex one, that is known.
static std::optional<APFloat> getKnown(Value value) {
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number;
  auto getPart = [](auto part, unsigned index) -> std::optional<APFloat> {
    if (!part)
      return std::nullopt;
    auto constant =
        part.getComplex().template getDefiningOp<complex::ConstantOp>();
    if (!constant)
      return std::nullopt;
    return cast<FloatAttr>(constant.getValue()[index]).getValue();
  };
  if (auto found = getPart(value.getDefiningOp<complex::ReOp>(), 0))
    return found;
  return getPart(value.getDefiningOp<complex::ImOp>(), 1);
}

/// The angle of a zero that is a constant: upstream folds it to nan.
static void foldAnglesOfZero(Operation *module) {
  module->walk([](math::Atan2Op op) {
    std::optional<APFloat> y = getKnown(op.getLhs()), x = getKnown(op.getRhs());
    if (!y || !x || !y->isZero() || !x->isZero())
      return;
    double angle = x->isNegative() ? llvm::numbers::pi : 0;
    OpBuilder builder(op);
    Value known = arith::ConstantOp::create(
        builder, op.getLoc(),
        builder.getFloatAttr(op.getType(), y->isNegative() ? -angle : angle));
    op.replaceAllUsesWith(known);
    op.erase();
  });
}

/// LLVM has no value for a float that is no integer of the type, such as nan.
/// Expansions of functions convert their argument all the same, and multiply
/// the result by nan. Where the argument is a constant, nothing would be
/// stored. Any value will do.
static void fixConversions(Operation *module) {
  module->walk([](Operation *op) {
    if (!isa<arith::FPToSIOp, arith::FPToUIOp>(op))
      return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    Value fixed = LLVM::FreezeOp::create(builder, op->getLoc(), result);
    result.replaceAllUsesExcept(fixed, fixed.getDefiningOp());
  });
}

LogicalResult
remat::codegen::lowerMath(Operation *module,
                          function_ref<void(RewritePatternSet &)> populate) {
  extendLogarithmsNearZero(module);
  expandComplex(module);
  PassManager manager(module->getContext(), module->getName().getStringRef());
  // Calls of functions that the module is yet to get.
  manager.enableVerifier(false);
  manager.addPass(createConvertComplexToStandardPass());
  manager.addPass(math::createMathExtendToSupportedTypes());
  if (failed(manager.run(module)))
    return failure();
  keepRounding(module);
  scaleSubnormalLogarithms(module);
  foldAnglesOfZero(module);
  if (failed(expandFunctions(module, populate)))
    return failure();
  fixConversions(module);
  return success();
}
