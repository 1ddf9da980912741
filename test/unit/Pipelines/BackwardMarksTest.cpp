//===- BackwardMarksTest.cpp - phases of what rewrites make ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/BackwardMarks.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace remat;

namespace {
/// exp(log(x)) becomes sqrt(x), and log(x) abs(sqrt(x)): the square root
/// replaces both.
struct ReplaceTwo : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    auto log = op.getOperand().getDefiningOp<math::LogOp>();
    if (!log)
      return failure();
    rewriter.setInsertionPoint(log);
    Value sqrt = math::SqrtOp::create(rewriter, log.getLoc(), log.getOperand());
    Value abs = math::AbsFOp::create(rewriter, log.getLoc(), sqrt);
    rewriter.replaceOp(op, sqrt);
    rewriter.replaceOp(log, abs);
    return success();
  }
};

/// tanh(x) becomes tanh(ceil(x)), in place.
struct ModifyRoot : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getOperand().getDefiningOp<math::CeilOp>())
      return failure();
    Value ceil = math::CeilOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, ceil); });
    return success();
  }
};

/// sin(x) becomes x * 2.
struct MakeConstant : OpRewritePattern<math::SinOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SinOp op,
                                PatternRewriter &rewriter) const override {
    Value two = arith::ConstantOp::create(rewriter, op.getLoc(),
                                          rewriter.getF32FloatAttr(2.0));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getOperand(), two);
    return success();
  }
};

/// How patterns are applied: the walk does not tell when one begins.
enum class Driver { Greedy, Walk };

class BackwardMarks : public testing::TestWithParam<Driver> {
protected:
  BackwardMarks() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, RematDialect>();
  }

  /// The operations, without constants of no phase, after rewriting `body`,
  /// with a star for each level of a mark.
  std::string rewrite(StringRef body) {
    auto module = parseSourceString<ModuleOp>(
        ("func.func @f(%x: f32) -> (f32, f32) {\n" + body + "}").str(),
        &context);
    if (!module)
      return "cannot be parsed";
    RewritePatternSet patterns(&context);
    patterns.add<ReplaceTwo, ModifyRoot, MakeConstant>(&context);
    BackwardMarkListener marks;
    if (GetParam() == Driver::Greedy)
      (void)applyPatternsGreedily(*module, std::move(patterns),
                                  GreedyRewriteConfig().setListener(&marks));
    else
      walkAndApplyPatterns(*module, std::move(patterns), &marks);
    std::string text;
    auto function = *module->getOps<func::FuncOp>().begin();
    for (Operation &op : function.front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>() || isBackward(&op))
        text += (op.getName().stripDialect() +
                 std::string(getBackwardLevel(&op), '*') + " ")
                    .str();
    return text;
  }

  MLIRContext context;
};
} // namespace

TEST_P(BackwardMarks, WhatReplacesSeveralHasTheLowestLevel) {
  EXPECT_EQ(rewrite("%0 = math.log %x {remat.backward = 2 : i64} : f32\n"
                    "%1 = math.exp %0 {remat.backward} : f32\n"
                    "return %0, %1 : f32, f32\n"),
            "sqrt* absf** ");
}

TEST_P(BackwardMarks, WhatReplacesBackwardOperationsIsBackward) {
  EXPECT_EQ(rewrite("%0 = math.log %x {remat.backward} : f32\n"
                    "%1 = math.exp %0 {remat.backward} : f32\n"
                    "return %0, %1 : f32, f32\n"),
            "sqrt* absf* ");
}

TEST_P(BackwardMarks, WhatReplacesAForwardOperationIsForward) {
  EXPECT_EQ(rewrite("%0 = math.log %x : f32\n"
                    "%1 = math.exp %0 {remat.backward} : f32\n"
                    "return %0, %1 : f32, f32\n"),
            "sqrt absf ");
  EXPECT_EQ(rewrite("%0 = math.log %x : f32\n"
                    "%1 = math.exp %0 : f32\n"
                    "return %0, %1 : f32, f32\n"),
            "sqrt absf ");
}

TEST_P(BackwardMarks, ConstantsHaveNoPhase) {
  EXPECT_EQ(rewrite("%0 = math.sin %x {remat.backward} : f32\n"
                    "return %0, %0 : f32, f32\n"),
            "mulf* ");
}

TEST_P(BackwardMarks, RewritesAreToldApart) {
  EXPECT_EQ(rewrite("%0 = math.sin %x : f32\n"
                    "%1 = math.sin %0 {remat.backward} : f32\n"
                    "return %0, %1 : f32, f32\n"),
            "mulf mulf* ");
}

TEST_P(BackwardMarks, WhatOnlyTheRootReadsIsOfItsPhase) {
  // The walk does not tell which operation a pattern is applied to.
  if (GetParam() == Driver::Walk)
    return;
  EXPECT_EQ(rewrite("%0 = math.tanh %x : f32\n"
                    "%1 = math.tanh %0 {remat.backward} : f32\n"
                    "return %0, %1 : f32, f32\n"),
            "ceil tanh ceil* tanh* ");
}

INSTANTIATE_TEST_SUITE_P(Drivers, BackwardMarks,
                         testing::Values(Driver::Greedy, Driver::Walk));
