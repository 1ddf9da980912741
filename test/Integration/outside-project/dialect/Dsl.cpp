//===- Dsl.cpp - a dialect that remat knows nothing of --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dsl.h"

#include "remat/AutoDiff/DerivativeRules.h"
#include "remat/Utils/Builders.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace dsl;
using namespace mlir;

#include "DslDialect.cpp.inc"

#define GET_OP_CLASSES
#include "DslOps.cpp.inc"

void DslDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "DslOps.cpp.inc"
      >();
}

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t getBytes(Value tensor) {
  RankedTensorType type = getTensorType(tensor);
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

static Value createScalar(OpBuilder &builder, Location loc, Type type,
                          double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

using Body = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// An operation on matrices, and on vectors with an element for each row.
static Value createOnRows(OpBuilder &builder, Location loc, ValueRange inputs,
                          Value init, Body body) {
  auto mapOf = [&](Value value) {
    return getTensorType(value).getRank() == 2
               ? builder.getMultiDimIdentityMap(2)
               : AffineMap::get(2, 0, builder.getAffineDimExpr(0));
  };
  SmallVector<AffineMap> maps = llvm::map_to_vector(inputs, mapOf);
  maps.push_back(mapOf(init));
  SmallVector<utils::IteratorType> iterators = {
      utils::IteratorType::parallel, getTensorType(init).getRank() == 2
                                         ? utils::IteratorType::parallel
                                         : utils::IteratorType::reduction};
  return linalg::GenericOp::create(
             builder, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               linalg::YieldOp::create(nested, loc, body(nested, loc, args));
             })
      .getResult(0);
}

static Value createEmpty(OpBuilder &builder, Location loc, Value like) {
  return tensor::EmptyOp::create(builder, loc, getTensorType(like).getShape(),
                                 getTensorType(like).getElementType());
}

/// For each row, the sum of a[i] * b[i].
static Value createRowSums(OpBuilder &builder, Location loc, Value a, Value b,
                           RankedTensorType type) {
  return createOnRows(
      builder, loc, {a, b}, remat::createZeros(builder, loc, type),
      [](OpBuilder &nested, Location loc, ValueRange args) {
        Value product = arith::MulFOp::create(nested, loc, args[0], args[1]);
        return arith::AddFOp::create(nested, loc, args[2], product);
      });
}

//===----------------------------------------------------------------------===//
// dsl.scaled_add
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
ScaledAddOp::decomposeOperation(OpBuilder &builder) {
  double alpha = getAlpha().convertToDouble();
  Value sum = remat::createElementwise(
      builder, getLoc(), {getX(), getY()}, getTensorType(getResult()),
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value scale = createScalar(nested, loc, args[0].getType(), alpha);
        Value scaled = arith::MulFOp::create(nested, loc, scale, args[0]);
        return arith::AddFOp::create(nested, loc, scaled, args[1]);
      });
  return SmallVector<Value>{sum};
}

//===----------------------------------------------------------------------===//
// dsl.gelu
//===----------------------------------------------------------------------===//

static constexpr double sqrtTwoOverPi = 0.7978845608028654, cubic = 0.044715;

FailureOr<SmallVector<Value>> GeluOp::decomposeInKernel(OpBuilder &builder) {
  Value result = remat::createElementwise(
      builder, getLoc(), getX(), getTensorType(getX()),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value x = args[0];
        auto scalar = [&](double value) {
          return createScalar(nested, loc, x.getType(), value);
        };
        auto mul = [&](Value a, Value b) -> Value {
          return arith::MulFOp::create(nested, loc, a, b);
        };
        auto add = [&](Value a, Value b) -> Value {
          return arith::AddFOp::create(nested, loc, a, b);
        };
        Value inner = mul(mul(scalar(sqrtTwoOverPi), x),
                          add(scalar(1), mul(scalar(cubic), mul(x, x))));
        Value tanh = math::TanhOp::create(nested, loc, inner);
        return mul(mul(scalar(0.5), x), add(scalar(1), tanh));
      });
  return SmallVector<Value>{result};
}

std::optional<remat::OpCost> GeluOp::getKernelCost() {
  return remat::OpCost{/*flops=*/30 * getTensorType(getX()).getNumElements(),
                       /*contractionFlops=*/0, getBytes(getX()),
                       getBytes(getX())};
}

remat::Recomputability GeluOp::getRecomputability() {
  return remat::Recomputability::Cheap;
}

namespace {
struct GeluRule : remat::UnaryRule<GeluRule, GeluOp> {
  static remat::Expr dx(const remat::Expr &g, const remat::Expr &x,
                        const remat::Expr &) {
    remat::Expr t =
        (sqrtTwoOverPi * x * (1.0 + cubic * x * x)).apply<math::TanhOp>();
    remat::Expr inner = sqrtTwoOverPi * (1.0 + (3.0 * cubic) * x * x);
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// dsl.normalize
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
NormalizeOp::decomposeOperation(OpBuilder &builder) {
  Location loc = getLoc();
  RankedTensorType type = getTensorType(getX()),
                   rowType = getTensorType(getRms());
  Value squares = createRowSums(builder, loc, getX(), getX(), rowType);
  Value rms = remat::createElementwise(
      builder, loc, squares, rowType,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value length =
            createScalar(nested, loc, args[0].getType(), type.getDimSize(1));
        Value mean = arith::DivFOp::create(nested, loc, args[0], length);
        return math::SqrtOp::create(nested, loc, mean);
      });
  Value result = createOnRows(
      builder, loc, {getX(), rms}, createEmpty(builder, loc, getX()),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::DivFOp::create(nested, loc, args[0], args[1]);
      });
  return SmallVector<Value>{result, rms};
}

int64_t NormalizeOp::getWorkspaceBytes() { return 5000; }

/// dx = (g - y * mean(g * y)) / rms, and y / n for each unit of rms.
LogicalResult NormalizeOp::emitVJP(remat::ReverseContext &context) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Value g = context.cotangent(getResult()), gRms = context.cotangent(getRms());
  RankedTensorType type = getTensorType(getX());
  double length = type.getDimSize(1);
  if (g) {
    Value y = context.primal(getResult()), rms = context.primal(getRms());
    Value sums = createRowSums(builder, loc, g, y, getTensorType(getRms()));
    context.accumulate(
        getX(),
        createOnRows(
            builder, loc, {g, y, sums, rms}, createEmpty(builder, loc, getX()),
            [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
              Value scale =
                  createScalar(nested, loc, args[0].getType(), length);
              Value mean = arith::DivFOp::create(nested, loc, args[2], scale);
              Value part = arith::MulFOp::create(nested, loc, args[1], mean);
              Value rest = arith::SubFOp::create(nested, loc, args[0], part);
              return arith::DivFOp::create(nested, loc, rest, args[3]);
            }));
  }
  if (gRms)
    context.accumulate(
        getX(),
        createOnRows(
            builder, loc, {context.primal(getResult()), gRms},
            createEmpty(builder, loc, getX()),
            [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
              Value scale =
                  createScalar(nested, loc, args[0].getType(), length);
              Value part = arith::DivFOp::create(nested, loc, args[0], scale);
              return arith::MulFOp::create(nested, loc, part, args[1]);
            }));
  return success();
}

//===----------------------------------------------------------------------===//
// dsl.dropout
//===----------------------------------------------------------------------===//

/// The mask is 2 or 0, by a bit of a hash of the element's place and the seed.
FailureOr<SmallVector<Value>> DropoutOp::decomposeInKernel(OpBuilder &builder) {
  uint64_t seed = getSeed();
  Value mask = remat::createElementwise(
      builder, getLoc(), {}, getTensorType(getX()),
      [&](OpBuilder &nested, Location loc, ValueRange) -> Value {
        Type i64 = nested.getI64Type();
        auto integer = [&](uint64_t value) -> Value {
          return arith::ConstantOp::create(
              nested, loc,
              nested.getIntegerAttr(i64, static_cast<int64_t>(value)));
        };
        Value hash = integer(seed);
        for (int64_t dim = 0; dim < getTensorType(getX()).getRank(); ++dim) {
          Value index = linalg::IndexOp::create(nested, loc, dim);
          Value number = arith::IndexCastOp::create(nested, loc, i64, index);
          hash = arith::AddIOp::create(nested, loc, hash, number);
          hash = arith::MulIOp::create(nested, loc, hash,
                                       integer(0x9e3779b97f4a7c15u));
          hash = arith::XOrIOp::create(
              nested, loc, hash,
              arith::ShRUIOp::create(nested, loc, hash, integer(29)));
        }
        Value bit =
            arith::TruncIOp::create(nested, loc, nested.getI1Type(), hash);
        Type type = getTensorType(getX()).getElementType();
        return arith::SelectOp::create(nested, loc, bit,
                                       createScalar(nested, loc, type, 2),
                                       createScalar(nested, loc, type, 0));
      });
  // Elementwise on tensors is fine, too.
  Value result = arith::MulFOp::create(builder, getLoc(), getX(), mask);
  return SmallVector<Value>{result, mask};
}

remat::Recomputability DropoutOp::getRecomputability() {
  return remat::Recomputability::Random;
}

LogicalResult DropoutOp::emitVJP(remat::ReverseContext &context) {
  if (Value g = context.cotangent(getResult()))
    context.accumulate(
        getX(), arith::MulFOp::create(context.getBuilder(), context.getLoc(), g,
                                      context.primal(getMask())));
  return success();
}

//===----------------------------------------------------------------------===//
// linalg.softmax, which cannot be changed
//===----------------------------------------------------------------------===//

namespace {
struct SoftmaxKernel
    : remat::KernelOpInterface::ExternalModel<SoftmaxKernel,
                                              linalg::SoftmaxOp> {};

/// dx = y * (g - sum(g * y)), of which the derivative needs y alone.
struct SoftmaxRule : remat::DerivativeRule<SoftmaxRule, linalg::SoftmaxOp> {
  LogicalResult emitVJP(Operation *op, remat::ReverseContext &context) const {
    Value result = op->getResult(0);
    Value g = context.cotangent(result);
    if (!g)
      return success();
    OpBuilder &builder = context.getBuilder();
    Location loc = context.getLoc();
    Value y = context.primal(result);
    RankedTensorType type = getTensorType(y);
    Value sums = createRowSums(
        builder, loc, g, y,
        RankedTensorType::get(type.getDimSize(0), type.getElementType()));
    context.accumulate(
        op->getOperand(0),
        createOnRows(
            builder, loc, {g, y, sums}, createEmpty(builder, loc, y),
            [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
              Value rest = arith::SubFOp::create(nested, loc, args[0], args[2]);
              return arith::MulFOp::create(nested, loc, args[1], rest);
            }));
    return success();
  }
};
} // namespace

void dsl::registerDialect(DialectRegistry &registry) {
  registry.insert<DslDialect>();
  registry.addExtension(+[](MLIRContext *context, DslDialect *) {
    remat::attachRules<GeluRule>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::SoftmaxOp::attachInterface<SoftmaxKernel>(*context);
    remat::attachRules<SoftmaxRule>(context);
  });
}
