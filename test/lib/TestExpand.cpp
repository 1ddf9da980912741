//===- TestExpand.cpp - remat's computations as upstream operations -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test pass that expands remat.scatter, remat.conv and remat.check_index
// into loops over tensors, so that the upstream pipeline can run what
// differentiation emits. Slow and plain on purpose: it is the reference.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

#include "TestPasses.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

/// Loops over `sizes` that carry one tensor.
static Value
buildLoops(OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes,
           Value init,
           function_ref<Value(OpBuilder &, Location, ValueRange, Value)> body) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> lower(sizes.size(), zero), steps(sizes.size(), one), upper;
  for (int64_t size : sizes)
    upper.push_back(arith::ConstantIndexOp::create(builder, loc, size));
  if (sizes.empty())
    return body(builder, loc, {}, init);
  return scf::buildLoopNest(builder, loc, lower, upper, steps, init,
                            [&](OpBuilder &nested, Location loc,
                                ValueRange point,
                                ValueRange carried) -> scf::ValueVector {
                              return {body(nested, loc, point, carried[0])};
                            })
      .results[0];
}

static void expandScatter(ScatterOp op) {
  OpBuilder builder(op);
  Value result = buildLoops(
      builder, op.getLoc(), op.getSizes(), op.getInit(),
      [&](OpBuilder &nested, Location loc, ValueRange point, Value carried) {
        IRMapping mapping;
        mapping.map(op.getPointArguments(), point);
        for (auto [input, map, argument] :
             llvm::zip(op.getInputs(), op.getIndexingMapsArray(),
                       op.getElementArguments())) {
          SmallVector<Value> indices;
          for (AffineExpr expr : map.getResults())
            indices.push_back(
                affine::expandAffineExpr(nested, loc, expr, point, {}));
          mapping.map(argument,
                      tensor::ExtractOp::create(nested, loc, input, indices));
        }
        for (Operation &inner : op.getBody().front().without_terminator())
          nested.clone(inner, mapping);
        auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
        SmallVector<Value> indices;
        for (Value index : yield.getValues().drop_back())
          indices.push_back(mapping.lookupOrDefault(index));
        Value update = mapping.lookupOrDefault(yield.getValues().back());
        Value old = tensor::ExtractOp::create(nested, loc, carried, indices);
        Value sum = arith::AddFOp::create(nested, loc, old, update);
        return tensor::InsertOp::create(nested, loc, sum, carried, indices)
            .getResult();
      });
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

/// The indices of a factor: logical dimensions to those of the tensor.
static SmallVector<Value> layOut(ArrayRef<Value> logical,
                                 ArrayRef<int64_t> layout) {
  SmallVector<Value> indices(logical.size());
  for (auto [value, dim] : llvm::zip(logical, layout))
    indices[dim] = value;
  return indices;
}

/// Visits all terms of the trilinear form and adds the product of two factors
/// to the third.
static void expandConv(ConvOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto logicalSize = [](RankedTensorType type, ArrayRef<int64_t> layout,
                        int64_t dim) { return type.getDimSize(layout[dim]); };
  RankedTensorType input = op.getInputType(), filter = op.getFilterType(),
                   output = op.getOutputType();
  unsigned rank = op.getSpatialRank();
  int64_t groups = op.getGroups();
  int64_t features = logicalSize(filter, op.getFilterLayout(), 0) /
                     std::max<int64_t>(groups, 1);
  int64_t channels = logicalSize(filter, op.getFilterLayout(), 1);
  // Batch, group, output feature, input feature, output position, tap.
  SmallVector<int64_t> sizes = {logicalSize(output, op.getOutputLayout(), 0),
                                groups, features, channels};
  for (unsigned dim = 0; dim < rank; ++dim)
    sizes.push_back(logicalSize(output, op.getOutputLayout(), dim + 2));
  for (unsigned dim = 0; dim < rank; ++dim)
    sizes.push_back(logicalSize(filter, op.getFilterLayout(), dim + 2));

  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto body = [&](OpBuilder &nested, Location loc, ValueRange point,
                  Value carried) -> Value {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(nested, loc, value);
    };
    auto affine = [&](Value a, int64_t factor, Value b) -> Value {
      Value scaled = arith::MulIOp::create(nested, loc, a, constant(factor));
      return arith::AddIOp::create(nested, loc, scaled, b);
    };
    SmallVector<Value> x = {point[0], affine(point[1], channels, point[3])};
    SmallVector<Value> w = {affine(point[1], features, point[2]), point[3]};
    SmallVector<Value> y = {point[0], w[0]};
    Value inside = arith::ConstantIntOp::create(nested, loc, 1, 1);
    for (unsigned dim = 0; dim < rank; ++dim) {
      Value o = point[4 + dim], k = point[4 + rank + dim];
      Value position =
          affine(o, op.getStrides()[dim], constant(-op.getPadding()[2 * dim]));
      position = affine(k, op.getDilations()[dim], position);
      int64_t size = logicalSize(input, op.getInputLayout(), dim + 2);
      Value low = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::sge,
                                        position, constant(0));
      Value high = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt,
                                         position, constant(size));
      inside = arith::AndIOp::create(nested, loc, inside, low);
      inside = arith::AndIOp::create(nested, loc, inside, high);
      x.push_back(position);
      w.push_back(k);
      y.push_back(o);
    }
    SmallVector<Value> xs = layOut(x, op.getInputLayout());
    SmallVector<Value> ws = layOut(w, op.getFilterLayout());
    SmallVector<Value> ys = layOut(y, op.getOutputLayout());
    auto indices = [&](unsigned factor) {
      switch (op.getKind()) {
      case ConvKind::Forward:
        return std::array{xs, ws, ys}[factor];
      case ConvKind::InputGrad:
        return std::array{ys, ws, xs}[factor];
      case ConvKind::FilterGrad:
        return std::array{xs, ys, ws}[factor];
      }
      llvm_unreachable("unknown convolution kind");
    };
    return scf::IfOp::create(
               nested, loc, inside,
               [&](OpBuilder &then, Location loc) {
                 Value a = tensor::ExtractOp::create(then, loc, op.getLhs(),
                                                     indices(0));
                 Value b = tensor::ExtractOp::create(then, loc, op.getRhs(),
                                                     indices(1));
                 Value old =
                     tensor::ExtractOp::create(then, loc, carried, indices(2));
                 Value product = arith::MulFOp::create(then, loc, a, b);
                 Value sum = arith::AddFOp::create(then, loc, old, product);
                 Value result = tensor::InsertOp::create(then, loc, sum,
                                                         carried, indices(2));
                 scf::YieldOp::create(then, loc, result);
               },
               [&](OpBuilder &otherwise, Location loc) {
                 scf::YieldOp::create(otherwise, loc, carried);
               })
        .getResult(0);
  };
  Value result = buildLoops(builder, loc, sizes, zeros, body);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct TestExpandPass : PassWrapper<TestExpandPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestExpandPass)

  StringRef getArgument() const final { return "test-remat-expand"; }
  StringRef getDescription() const final {
    return "expand scatter, convolution and index checks into loops";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      op->removeAttr(RematDialect::backwardAttrName);
      if (auto check = dyn_cast<CheckIndexOp>(op)) {
        check.getResult().replaceAllUsesWith(check.getIndex());
        check.erase();
      } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
        expandScatter(scatter);
      } else if (auto conv = dyn_cast<ConvOp>(op)) {
        expandConv(conv);
      } else if (isa<TagOp, StopGradientOp>(op)) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
      }
    });
  }
};
} // namespace

void remat::test::registerTestExpandPass() {
  PassRegistration<TestExpandPass>();
}
